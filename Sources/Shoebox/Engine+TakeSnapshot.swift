import Foundation
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore

import class GRDB.Database

/// What is to be said of snapshots that were read.
struct SnapshotFindings {
    /// Records of which the snapshot says something else than its replica had published before.
    var differing: Set<RecordName> = []
    /// Whether a snapshot stands where segments were not read, and does not count.
    var isRefused = false
    /// Whether a snapshot was compared with what is known.
    var isCompared = false
}

/// What came of a part of a snapshot.
struct SnapshotTaken {
    /// Changes that were not known.
    var count = 0
    /// Those of them that do not count.
    var refused = 0
    /// Records of which something was not known.
    var touched: Set<RecordName> = []
    /// The timestamps of what counts and was not known.
    var timestamps: [HybridTimestamp] = []
}

extension Engine {
    /// Takes in a part of a snapshot; with the last one, all of them.
    ///
    /// A snapshot repeats what its replica had published. Who has read all that finds nothing new in it, and compares. For
    /// who has not, each change counts as far as the segment that it was first published in does, and as far as the
    /// snapshot itself does: nobody puts anything into the past after having lost the right to write.
    ///
    /// - Parameter start: how far the chain was applied before this segment.
    func takeSnapshot(
        _ segment: Segment, in zone: ZoneID, after start: Position, control: Control,
        history: inout FetchedHistory, findings: inout SnapshotFindings, _ db: Database
    ) throws -> SnapshotTaken {
        var taken = SnapshotTaken()
        let isCounted = control.counts(segment, at: segment.position.sequence) > .nothing
        for transaction in segment.transactions {
            let bundle = Data(transaction.id.bigEndianColumn)
            for (change, sequence) in zip(transaction.changes, transaction.sequences) {
                try db.stage(
                    bundle: bundle, zone: zone, replica: segment.replica, sequence: sequence, account: segment.account,
                    payload: Data(encodePart(change)))
            }
            guard transaction.isLast else { continue }
            guard isCounted else {
                // Who has read what it stands for needs nothing of it.
                if start.sequence < segment.snapshotFirst { findings.isRefused = true }
                try db.unstage(bundle: bundle, zone: zone, replica: segment.replica) { _ in }
                continue
            }
            var repeated = Repetition(segment: segment, zone: zone, control: control, history: history)
            try db.unstage(bundle: bundle, zone: zone, replica: segment.replica) { part in
                for change in try decodeParts(part.payload) {
                    try repeated.add(change, sequence: part.sequence, engine: self, &findings, &taken, db)
                }
            }
            try repeated.end(engine: self, &findings, &taken, db)
            history = repeated.history
        }
        return taken
    }

    /// Reports what is wrong with snapshots that were read.
    func name(_ findings: SnapshotFindings, in segment: Segment, zone: ZoneInfo) throws {
        let path = "zones/\(zone.id)/log/\(segment.replica)"
        let who = label(of: segment.account)
        if !findings.differing.isEmpty {
            try report(
                "snapshotDiffers", path: path, zone: zone.id,
                "\(who) has summed up what they published in '\(zone.control.title)' otherwise than they had published it: \(findings.differing.count) records differ.",
                "What you have stays as it is; people who come to the share from now on see the other version. Ask them to update shoebox; if you do not trust them, take them out of the share."
            )
        } else if findings.isCompared {
            try clearProblem("snapshotDiffers", path: path, zone: zone.id)
        }
        if findings.isRefused {
            try report(
                "snapshotRefused", path: path, zone: zone.id,
                "\(who) has summed up what they published in '\(zone.control.title)' after they had lost the right to write there; nothing of that counts.",
                "What counts of it comes from the owner's devices when these run. Everything else goes on.")
        }
    }
}

extension Control {
    /// How far a segment's account could write there at a number of its chain.
    func counts(_ segment: Segment, at sequence: UInt64) -> WriteScope {
        scope(segment.account, segment.replica, sequence: sequence, device: segment.device.digest)
    }
}

/// Goes through a snapshot record by record.
private struct Repetition {
    let segment: Segment
    let zone: ZoneID
    let control: Control
    private(set) var history: FetchedHistory
    /// The tokens by what is left of a transaction in a snapshot: the segment that ended it, and the time that all of it has.
    private var tokens: [Origin: Int64] = [:]
    private var group: [(change: Change, sequence: UInt64)] = []
    private var seen: Set<RecordName> = []

    private struct Origin: Hashable {
        var sequence: UInt64
        var wallMilliseconds: UInt64
    }

    init(segment: Segment, zone: ZoneID, control: Control, history: FetchedHistory) {
        self.segment = segment
        self.zone = zone
        self.control = control
        self.history = history
    }

    mutating func add(
        _ change: Change, sequence: UInt64, engine: Engine, _ findings: inout SnapshotFindings,
        _ taken: inout SnapshotTaken, _ db: Database
    ) throws {
        if let last = group.last, last.change.record != change.record {
            try take(engine: engine, &findings, &taken, db)
        }
        group.append((change, sequence))
    }

    /// After the last change: what is known of the replica and was not repeated at all differs, too.
    mutating func end(
        engine: Engine, _ findings: inout SnapshotFindings, _ taken: inout SnapshotTaken, _ db: Database
    ) throws {
        try take(engine: engine, &findings, &taken, db)
        findings.isCompared = true
        for name in try db.countedRecords(in: zone, by: segment.replica, before: segment.snapshotFirst)
        where !seen.contains(name) {
            try compare([], of: name, &findings, db)
        }
    }

    private func compare(_ changes: [Change], of name: RecordName, _ findings: inout SnapshotFindings, _ db: Database)
        throws
    {
        let isSame = try db.isRepeated(
            changes, of: RecordID(zone: zone, name: name), by: segment.replica, before: segment.snapshotFirst)
        if !isSame { findings.differing.insert(name) }
    }

    private mutating func take(
        engine: Engine, _ findings: inout SnapshotFindings, _ taken: inout SnapshotTaken, _ db: Database
    ) throws {
        defer { group = [] }
        guard let name = group.first?.change.record else { return }
        try compare(group.map(\.change), of: name, &findings, db)
        seen.insert(name)
        for (change, sequence) in group {
            let scope = min(
                control.counts(segment, at: sequence), control.counts(segment, at: segment.position.sequence))
            let mayCount =
                scope == .carried
                || scope > .nothing && !Database.isCarried(change, by: segment.replica, segment.account)
            let standing: ChangeStanding =
                !engine.isWellFormed(change, control: control) ? .malformed : mayCount ? .accepted : .refused
            let origin = Origin(sequence: sequence, wallMilliseconds: change.timestamp.wallMilliseconds)
            let opened = tokens[origin]
            let token = try opened ?? history.begin(db)
            guard
                try db.insert(
                    change, zone: zone, account: segment.account, sender: segment.replica, sequence: sequence,
                    standing: standing, token: token, scope: scope, via: segment.position.sequence)
            else {
                if opened == nil { history.takeBack(token) }
                continue
            }
            tokens[origin] = token
            taken.count += 1
            if !standing.counts { taken.refused += 1 }
            taken.touched.insert(name)
            if standing.counts { taken.timestamps.append(change.timestamp) }
        }
    }
}
