import Foundation
import Shoebox
import ShoeboxFormat
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// Mutated files of every kind for every parser: nothing may trap, and nothing may take memory or time without bound.
///
/// The seeds are fixed; `make fuzz` runs more of them, under limits of memory and time. `Tests/Corpus/<parser>/` holds
/// files to start from, also all that ever broke something; more are made anew from a small container.
@Suite struct FuzzTests {
    /// One parser and what to begin with.
    struct Target: Sendable {
        var name: String
        var corpus: [[UInt8]]
        var parse: @Sendable ([UInt8]) -> Void
    }

    static let names = [
        "config", "sidecar", "tag", "root", "container", "link", "statement", "control", "segment", "head", "asset",
        "identity", "keyring", "inspect", "signedSegment", "signedControl", "signedStatement", "json",
        "signedHead", "signedHeader", "snapshot", "letter", "signedLetter", "join", "pairing", "lockedFile",
        "invitationFile", "trashInfo",
    ]

    private static var runs: Int { environment("SHOEBOX_FUZZ_RUNS") ?? 300 }
    private static var firstSeed: Int { environment("SHOEBOX_FUZZ_SEED") ?? 1 }
    private static func environment(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    @Test(arguments: names)
    func `no bytes make a parser trap`(name: String) throws {
        let target = try #require(try Self.target(name))
        try #require(!target.corpus.isEmpty)
        for bytes in target.corpus { target.parse(bytes) }
        for number in 0..<Self.runs {
            var random = SeededGenerator(seed: UInt64(Self.firstSeed &+ number), part: name)
            target.parse(Self.mutated(target.corpus, &random))
        }
    }

    // MARK: Mutations

    private static func mutated(_ corpus: [[UInt8]], _ random: inout SeededGenerator) -> [UInt8] {
        func below(_ count: Int) -> Int { count <= 0 ? 0 : Int(random.next() % UInt64(count)) }
        var bytes = corpus[below(corpus.count)]
        let interesting: [UInt8] = [0x00, 0x01, 0x7f, 0x80, 0xff, 0x22, 0x5c, 0x7b, 0x5b, 0x0a, 0x2f, 0x2e]
        for _ in 0...below(6) {
            let at = below(bytes.count + 1)
            let length = min(bytes.count - at, below(40))
            switch below(10) {
            case 0 where at < bytes.count: bytes[at] ^= 1 << UInt8(below(8))
            case 1 where at < bytes.count: bytes[at] = interesting[below(interesting.count)]
            case 2: bytes.removeSubrange(at..<at + length)
            case 3: bytes.insert(contentsOf: random.bytes(below(20)), at: at)
            case 4: bytes.insert(contentsOf: bytes[at..<at + length], at: at)
            case 5: bytes = Array(bytes.prefix(at))
            case 6:
                let other = corpus[below(corpus.count)]
                bytes = bytes.prefix(at) + other.suffix(below(other.count + 1))
            // A length that promises more than there is.
            case 7: bytes.insert(contentsOf: [0xff, 0xff, 0xff, 0xff, 0x07], at: at)
            case 8: bytes.insert(contentsOf: [UInt8](repeating: interesting[below(12)], count: below(3_000)), at: at)
            default: if at < bytes.count { bytes[at] = UInt8(truncatingIfNeeded: random.next()) }
            }
        }
        return bytes
    }

    // MARK: Parsers

    static func kept(_ name: String) -> [[UInt8]] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Corpus/\(name)")
        let files = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return files.sorted { $0.path < $1.path }.compactMap { try? Data(contentsOf: $0) }.map(Array.init)
    }

    static func target(_ name: String) throws -> Target? {
        var target: Target?
        switch name {
        case "config", "sidecar", "tag", "root", "container", "link", "json": target = textTarget(name)
        case "invitationFile", "trashInfo": target = try localTarget(name)
        case "signedHead", "signedHeader", "snapshot": target = try signedTarget(name, FuzzedShare())
        case "letter", "signedLetter", "join", "pairing", "lockedFile":
            target = try personTarget(name, FuzzedShare())
        default: target = try containerTarget(name)
        }
        target?.corpus += kept(name)
        return target
    }

    private static func textTarget(_ name: String) -> Target? {
        switch name {
        case "config":
            let environment = ConfigurationEnvironment.current()
            guard let file = AbsolutePath("/c/config.json") else { return nil }
            return Target(name: name, corpus: []) { bytes in
                _ = try? Configuration.parse(bytes, file: file, environment: environment)
            }
        case "sidecar": return Target(name: name, corpus: []) { _ = SidecarDocument.read($0) }
        case "tag": return Target(name: name, corpus: []) { _ = TagFile($0) }
        case "json":
            return Target(name: name, corpus: kept("config") + kept("sidecar")) { bytes in
                guard let value = try? JSONText.parse(bytes) else { return }
                _ = try? JSONText.parse(JSONText.encode(value))
            }
        case "root":
            let machine = SimulatedWorld(seed: 1).addMachine("fuzz")
            guard let path = RelativePath(".shoebox/root.json") else { return nil }
            return Target(name: name, corpus: []) { bytes in
                try? machine.library.write(path, bytes: bytes)
                _ = try? RootMarker.read(from: machine.library.files)
                if let token = RootToken(bytes) { _ = RootToken(token.encoded()) }
            }
        case "container":
            let world = SimulatedWorld(seed: 1)
            let machine = world.addMachine("fuzz")
            guard let path = MountPath("container.json") else { return nil }
            return Target(name: name, corpus: []) { bytes in
                world.storage.rawWrite(path, bytes)
                _ = try? Container.open(mount: machine.world.mount)
            }
        case "link":
            return Target(name: name, corpus: []) { _ = try? ShareLink(parsing: String(decoding: $0, as: UTF8.self)) }
        default: return nil
        }
    }

    private static func containerTarget(_ name: String) throws -> Target? {
        let share = try FuzzedShare()
        let (party, storage) = (share.party, share.storage)
        let (zone, identity, replica) = (share.zone, share.identity, share.identity.replica)
        let log = share.log
        let controls = share.files("zones/\(zone)/control/")
        // Letters lie there, too.
        let statements = share.files("accounts/").filter { (try? SignedFile.decode(.account, $0)) != nil }
        let privateControls = share.files("/control/")
        switch name {
        case "statement":
            return Target(name: name, corpus: statements) { bytes in
                guard let statement = try? AccountStatement(bytes) else { return }
                _ = AccountChain.evaluate(identity.account, [statement])
            }
        case "control":
            return Target(name: name, corpus: privateControls) { bytes in
                guard let file = try? ControlFile(bytes) else { return }
                var keyring = ZoneKeyring()
                try? file.unwrap(into: &keyring, identity: identity)
                _ = try? file.open(keyring: &keyring)
            }
        case "segment":
            return Target(name: name, corpus: log) { open($0, zone, replica) }
        case "head":
            return Target(name: name, corpus: share.files("/heads/")) { bytes in
                let (records, _) = HeadFormat.scan(bytes)
                for record in HeadFormat.newestFirst(records) {
                    _ = try? HeadRecord.decode(record, zone: zone, replica: replica)
                }
            }
        case "asset":
            guard let path = MountPath("assets/" + Self.location), let key = try assetKey(party) else { return nil }
            let mount = party.alice.machine.world.mount
            return Target(name: name, corpus: share.files("assets/")) { bytes in
                storage.rawWrite(path, bytes)
                for size in [3, 131_072, 1 << 40] as [UInt64] {
                    _ = try? AssetStore(mount: mount).verify(
                        AssetReference(contentHash: sha256([]), size: size, location: Self.location, key: key))
                }
            }
        case "identity":
            let made = try Identity.create(
                label: "fuzz", deviceLabel: "fuzz", nowMilliseconds: 1,
                randomBytes: party.alice.machine.world.randomBytes)
            let random = party.alice.machine.world.randomBytes
            return Target(name: name, corpus: [try identity.serialized(), made.recoveryFile]) { bytes in
                _ = try? Identity(serialized: bytes)
                _ = try? Identity.restored(
                    fromRecoveryFile: bytes, deviceLabel: "x", nowMilliseconds: 1, randomBytes: random)
            }
        case "keyring":
            let rings = try party.alice.store.read { db in try db.zones() }
            return Target(name: name, corpus: rings.map { Array($0.keyring) } + rings.map { Array($0.control) }) {
                bytes in
                _ = try? ZoneKeyring(serialized: bytes)
                _ = try? ControlCoder.decode(bytes)
            }
        case "inspect":
            return Target(name: name, corpus: Array(share.tree.sorted { $0.key < $1.key }.map(\.value))) {
                _ = try? inspect($0)
            }
        case "signedSegment":
            let bodies = try log.map { bytes -> [UInt8] in
                let file = try SignedFile.decode(.segment, bytes)
                let wire = try parse(WireSegmentHeader.self, file.header, "segment")
                return try Zlib.inflate(file.body, plainCount: wire.plainCount)
            }
            let header = try SignedFile.decode(.segment, try #require(log.first)).header
            return Target(name: name, corpus: bodies) { body in
                guard var wire = try? parse(WireSegmentHeader.self, header, "segment"),
                    let compressed = try? Zlib.deflate(body)
                else { return }
                // Every other one lies about how large it becomes.
                wire.plainCount = UInt64(body.count) + (body.first.map { $0 & 1 == 0 } == true ? 0 : 1 << 30)
                guard let signed = sign(wire, body: compressed, identity) else { return }
                open(signed, zone, replica)
            }
        case "signedControl", "signedStatement":
            let kind: SignedFile.Kind = name == "signedControl" ? .control : .account
            let originals = try (kind == .control ? controls : statements).map { try SignedFile.decode(kind, $0) }
            return Target(name: name, corpus: originals.map { kind == .control ? $0.body : $0.header }) { part in
                guard let original = originals.first else { return }
                let header = kind == .control ? original.header : part
                let body = kind == .control ? part : original.body
                guard
                    let bytes = try? SignedFile.encode(
                        kind, header: header, body: body, signingKey: identity.signingKey)
                else { return }
                if kind == .account {
                    _ = try? AccountStatement(bytes)
                } else if let file = try? ControlFile(bytes) {
                    var keyring = ZoneKeyring()
                    _ = try? file.open(keyring: &keyring)
                }
            }
        default: return nil
        }
    }

    private static let location =
        "ab/ab" + String(repeating: "0", count: 62) + "-" + String(repeating: "0", count: 32)

    /// The key of some asset, so that its first frames open.
    private static func assetKey(_ party: Party) throws -> [UInt8]? {
        try party.alice.store.read { db in
            try db.files(in: party.zone).lazy.compactMap { try? db.state(of: $0.id)?.content?.key }.first
        }
    }

    static func open(_ bytes: [UInt8], _ zone: ZoneID, _ replica: ReplicaID) {
        guard let file = try? SegmentFile(bytes, zone: zone, replica: replica),
            let segment = try? file.open(replica: replica, keyring: ZoneKeyring(), isSealed: false)
        else { return }
        let isSnapshot = segment.snapshotFirst > 0
        precondition(
            segment.transactions.allSatisfy { $0.sequences.count == (isSnapshot ? $0.changes.count : 0) },
            "a snapshot says of each change where it comes from")
        // What was let in must merge in any order, and be written again.
        let changes = segment.transactions.flatMap(\.changes)
        for change in changes { _ = ChangeCoder.encode(change) }
        _ = RecordState(changes)
        _ = RecordState(Array(changes.reversed()))
    }
}
