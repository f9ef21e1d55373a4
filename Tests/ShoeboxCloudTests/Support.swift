import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld

@testable import ShoeboxCloud

/// A mount in memory: what is published is seen at once. Tests reach into it as somebody with the mount could.
final class MemoryMount: Mount {
    private let files = Mutex<[MountPath: [UInt8]]>([:])

    var all: [MountPath: [UInt8]] { files.withLock { $0 } }

    subscript(_ path: MountPath) -> [UInt8]? {
        get { files.withLock { $0[path] } }
        set { files.withLock { $0[path] = newValue } }
    }

    func list(_ directory: MountPath) throws(FileError) -> [String] {
        let depth = directory.components.count
        let names = all.keys.filter { $0.components.count > depth && $0.components.starts(with: directory.components) }
            .map { $0.components[depth] }
        return Array(Set(names))
    }

    /// Reads until one fails, with an error that passes; nil for none.
    private let goodReads = Mutex<Int?>(nil)

    /// Has one read fail after so many that don't; nil for none.
    func failRead(after count: Int?) { goodReads.withLock { $0 = count } }
    /// Whether the read that is to fail has not come yet.
    var hasFailureLeft: Bool { goodReads.withLock { $0 != nil } }

    func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        let fails = goodReads.withLock { left in
            guard let count = left else { return false }
            left = count > 0 ? count - 1 : nil
            return count == 0
        }
        if fails { throw FileError(code: .inputOutput, operation: "read", path: path.description) }
        guard let bytes = self[path] else { throw FileError(code: .absent, operation: "read", path: path.description) }
        guard offset < UInt64(bytes.count) else { return [] }
        return Array(bytes[Int(offset)...].prefix(maxBytes))
    }

    func publish(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) {
        guard self[path] == nil else { throw FileError(code: .exists, operation: "publish", path: path.description) }
        self[path] = bytes
    }

    func publish(_ path: MountPath, writing body: ((_ chunk: [UInt8]) throws -> Void) throws -> Void) throws {
        var bytes: [UInt8] = []
        try body { bytes += $0 }
        try publish(path, bytes)
    }

    func append(_ path: MountPath, _ bytes: [UInt8]) throws(FileError) { self[path] = (self[path] ?? []) + bytes }
    func remove(_ path: MountPath) throws(FileError) { self[path] = nil }
    func makeDirectory(_ path: MountPath) throws(FileError) {}
    func synchronize() throws(FileError) {}
}

/// The seeded numbers of all tests, with bytes that golden values were made from.
struct Seeded: RandomNumberGenerator {
    private var generator: SeededGenerator
    init(_ seed: UInt64) { generator = SeededGenerator(seed: seed) }
    mutating func next() -> UInt64 { generator.next() }
    mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}

/// A source of bytes that a test shares among calls.
final class Source {
    var generator: Seeded
    init(_ seed: UInt64) { generator = Seeded(seed) }
    func bytes(_ count: Int) -> [UInt8] { generator.bytes(count) }
}

/// A file in memory.
final class MemoryFile: ReadableFile {
    var bytes: [UInt8]
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    func stamp() throws(FileError) -> FileStamp {
        FileStamp(size: UInt64(bytes.count), modifiedNanoseconds: 0, inode: 1)
    }
    func read(at offset: UInt64, maxBytes: Int) throws(FileError) -> [UInt8] {
        offset < UInt64(bytes.count) ? Array(bytes[Int(offset)...].prefix(maxBytes)) : []
    }
}

/// Ann, who owns a zone, Bob, who may write in it, and Mallory, who has full access to the mount.
struct Cast {
    let mount = MemoryMount()
    let source: Source
    let accounts: AccountDirectory
    let ann: Identity
    let bob: Identity
    let mallory: Identity
    let folder: ZoneFolder
    let annRing: ZoneKeyring
    let first: VerifiedControl

    init(seed: UInt64 = 1, isSealed: Bool = true) throws {
        let source = Source(seed)
        self.source = source
        func make(_ label: String) throws -> Identity {
            try Identity.create(label: label, nowMilliseconds: 1, randomBytes: source.bytes).identity
        }
        (ann, bob, mallory) = (try make("ann"), try make("bob"), try make("mallory"))
        accounts = AccountDirectory(mount: mount)
        for identity in [ann, bob, mallory] { try accounts.publish(identity) }
        let control = Control(
            kind: .share, title: "Lake", owner: ann.account, ownerLabel: "ann", isSealed: isSealed,
            participants: [
                bob.account: Participant(account: bob.account, label: "bob", permission: .readWrite, status: .accepted)
            ])
        (folder, annRing, first) = try ZoneFolder.create(
            control, identity: ann, mount: mount, accounts: accounts, nowMilliseconds: 2, randomBytes: source.bytes)
    }

    /// A change by somebody.
    func change(_ who: Identity, _ counter: UInt64, _ caption: String = "lake") -> Change {
        Change(
            record: RecordName(UInt128(counter) + 1), type: .photo, dot: Dot(replica: who.replica, counter: counter),
            timestamp: HybridTimestamp(wallMilliseconds: counter, counter: 0, replica: who.replica),
            author: who.account, action: .set([.caption: .text(caption)]))
    }

    /// A segment of one change, published; its position and bytes.
    @discardableResult
    func push(
        _ who: Identity, after previous: Position, ring: ZoneKeyring? = nil, caption: String = "lake"
    ) throws -> (position: Position, bytes: [UInt8], path: MountPath) {
        let (bytes, position) = try SegmentCoder.encode(
            [SegmentTransaction(id: 7, changes: [change(who, previous.sequence + 1, caption)])], zone: folder.zone,
            after: previous, isSealed: true, keyring: ring ?? annRing, identity: who, randomBytes: source.bytes)
        try folder.publishSegment(bytes, at: position, replica: who.replica)
        return (position, bytes, folder.segmentPath(who.replica, position))
    }

    /// A chain of segments.
    func chain(_ who: Identity, _ count: Int) throws -> [(position: Position, bytes: [UInt8], path: MountPath)] {
        var result: [(position: Position, bytes: [UInt8], path: MountPath)] = []
        for _ in 0..<count { result.append(try push(who, after: result.last?.position ?? .start)) }
        return result
    }

    /// A head that was verified, at a position.
    func head(_ who: Identity, at last: Position, floor: UInt64 = 1) -> HeadRecord {
        HeadRecord(
            replica: who.replica, account: who.account, device: who.device, serial: 1,
            content: HeadContent(last: last, floor: floor, wallMilliseconds: 3))
    }

    /// What a reader makes of Ann's chain.
    func read(_ who: Identity, after: Position = .start, to last: Position) throws -> SegmentPage {
        try folder.readSegments(
            of: who.replica, after: after, upTo: head(who, at: last), isSealed: true, keyring: annRing)
    }
}

extension SegmentPage.End {
    /// The case, without what it carries.
    var name: String {
        switch self {
        case .complete: "complete"
        case .more: "more"
        case .notYet: "notYet"
        case .missingKey: "missingKey"
        case .expired: "expired"
        case .damaged: "damaged"
        case .fork: "fork"
        case .rolledBack: "rolledBack"
        }
    }
}

/// The code of the error that a call throws; nil if it throws none, or one of another type.
func code(_ body: () throws -> Void) -> CloudError.Code? {
    do {
        try body()
        return nil
    } catch {
        return (error as? CloudError)?.code
    }
}
