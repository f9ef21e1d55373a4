import ShoeboxFormat
public import ShoeboxModel
import SwiftProtobuf

/// Changes that become visible together, or a part of them.
public struct SegmentTransaction: Hashable, Sendable {
    /// The same in every part of one transaction; random.
    public var id: UInt128
    /// Whether this is the last part: readers merge the parts when they have it.
    public var isLast: Bool
    /// The changes, in the order they were made; in a snapshot by record.
    public var changes: [Change]
    /// In a snapshot, for each change the number of the segment that it was first published in; else empty.
    public var sequences: [UInt64]
    /// A transaction from its parts.
    public init(id: UInt128, isLast: Bool = true, changes: [Change], sequences: [UInt64] = []) {
        self.id = id
        self.isLast = isLast
        self.changes = changes
        self.sequences = sequences
    }
}

/// A segment read from a chain: every check that needs no control is passed. Whether its account may write at all, and
/// whether its number counts, is for the caller: `Control.counts(account, replica, sequence:)`.
public struct Segment: Hashable, Sendable {
    /// Its number and hash.
    public var position: Position
    /// The one before.
    public var previous: Position
    /// Whose chain.
    public var replica: ReplicaID
    /// The account that signed.
    public var account: AccountID
    /// The device that signed.
    public var device: DeviceID
    /// The epoch it was sealed in; nil in a plain zone.
    public var epoch: EpochID?
    /// The number of the snapshot's first part, if this is a part of a snapshot: it repeats what counts of all segments
    /// before that number; 0 for a segment with news.
    public var snapshotFirst: UInt64 = 0
    /// What it holds.
    public var transactions: [SegmentTransaction]
}

/// The rule by which a batch of transactions becomes segments. Pure.
public enum SegmentBuilder {
    /// The most changes in a segment.
    public static let changesMax = 400
    /// The most bytes of changes in a segment, unless one change alone is larger.
    public static let changeBytesMax = 2_097_152

    /// Splits transactions into the contents of segments, in order. A transaction that doesn't fit is cut into parts,
    /// of which only the last has `isLast` as it was; empty transactions are kept only if they are the last part.
    public static func split(
        _ transactions: [SegmentTransaction], changesMax: Int = changesMax
    ) -> [[SegmentTransaction]] {
        var result: [[SegmentTransaction]] = []
        var current: [SegmentTransaction] = []
        var (count, bytes) = (0, 0)
        func close() {
            if !current.isEmpty { result.append(current) }
            (current, count, bytes) = ([], 0, 0)
        }
        for transaction in transactions {
            let sizes = transaction.changes.map { ChangeCoder.encode($0).count + 8 }
            let fits =
                count + sizes.count <= changesMax && bytes + sizes.reduce(0, +) <= changeBytesMax
            if !fits { close() }
            var part = SegmentTransaction(id: transaction.id, isLast: false, changes: [])
            for (index, size) in sizes.enumerated() {
                if count >= changesMax || (count > 0 && bytes + size > changeBytesMax) {
                    if !part.changes.isEmpty { current.append(part) }
                    part.changes = []
                    part.sequences = []
                    close()
                }
                part.changes.append(transaction.changes[index])
                if index < transaction.sequences.count { part.sequences.append(transaction.sequences[index]) }
                count += 1
                bytes += size
            }
            part.isLast = transaction.isLast
            if !part.changes.isEmpty || part.isLast { current.append(part) }
        }
        close()
        return result
    }
}
