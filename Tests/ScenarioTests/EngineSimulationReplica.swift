import Crypto
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld

@testable import Shoebox

/// The whole engine under simulation: rounds, crashes and restarts of one replica, and what can be found in its state.
final class EngineReplica: SimulatedReplica {
    let replica: Replica
    var machine: SimulatedMachine { replica.machine }

    init(_ replica: Replica) { self.replica = replica }

    func syncRound() throws -> Bool {
        let outcome = try replica.round()
        return outcome.didSomething || outcome.lookAgain != nil || outcome.isContainerOffline
            || !outcome.offlineRoots.isEmpty || !replica.isQuiet
    }

    func crash() {}

    func restart() throws { try replica.restart() }

    // MARK: What users wrote

    func findContent(_ entry: SimulationLedger.Entry) -> Bool {
        let changes = (try? replica.store.read { db in try db.history(after: 0, limit: .max) }) ?? []
        if entry.kind == .content {
            let hash = Digest32(bytes: Array(SHA256.hash(data: entry.bytes)))
            return changes.lazy.flatMap { Self.values($0.change) }.compactMap(\.asset)
                .contains { $0.contentHash == hash && isInContainer($0, entry.bytes) }
        }
        let word = String(decoding: entry.bytes, as: UTF8.self)
        return changes.contains { stored in
            Self.values(stored.change).contains { $0.text == word }
        }
    }

    private static func values(_ change: Change) -> [Value] {
        guard case .set(let fields) = change.action else { return [] }
        return Array(fields.values)
    }

    private func isInContainer(_ asset: AssetReference, _ bytes: [UInt8]) -> Bool {
        guard asset.location != nil else { return false }
        var found: [UInt8] = []
        do { try AssetStore(mount: machine.world.mount).download(asset) { found += $0 } } catch { return false }
        return found == bytes
    }

    // MARK: Trees

    /// The library and the shared folder of the account, and each share as this side shows it.
    var trees: [String: [String: [UInt8]]] {
        var result: [String: [String: [UInt8]]] = [:]
        for root in RootKind.allCases {
            let tree = tree(root)
            result["\(root == .library ? "library" : "shared folder") of \(replica.label)"] = tree
            for zone in replica.engine.zones.values where zone.row.kind == .share && zone.row.root == root {
                let mount = RecordID(zone: zone.id, name: .zoneRoot)
                guard
                    let path = try? replica.store.read({ db in
                        try db.basePath(of: mount, top: [replica.engine.top(root)])
                    })
                else { continue }
                let prefix = "\(path)/"
                let inside = tree.filter { $0.key.hasPrefix(prefix) }
                result["share \(zone.control.title)"] = Dictionary(
                    uniqueKeysWithValues: inside.map { (String($0.key.dropFirst(prefix.count)), $0.value) })
            }
        }
        return result
    }

    /// The user's files of a root, each photo with what is known of it.
    private func tree(_ root: RootKind) -> [String: [UInt8]] {
        let disk = root == .library ? machine.library : machine.shared
        var result: [String: [UInt8]] = [:]
        for (path, bytes) in disk.tree() where !path.hasPrefix(".shoebox/") && !path.contains(".tags/") {
            if path.hasSuffix(".json") { continue }
            result[path] = bytes + Array(details(path, root).utf8)
        }
        return result
    }

    private func details(_ text: String, _ root: RootKind) -> String {
        guard let path = RelativePath(text) else { return " (no path)" }
        let engine = replica.engine
        let found: PhotoDetails? = try? replica.store.read { db in
            guard let id = try db.base(at: path, root: root, top: engine.top(root)) else { return nil }
            return try engine.details(of: id, db)
        }
        guard let found else { return " (not known)" }
        var result = found.isEmpty ? "" : " caption: \(found.caption) tags: \(found.tags.joined(separator: ","))"
        let disk = root == .library ? machine.library : machine.shared
        var hasSidecar = false
        for name in path.last.map(SidecarName.candidates) ?? [] {
            guard let bytes = try? disk.read(path.parent.appending(name)) else { continue }
            hasSidecar = true
            // A broken one is the user's to mend.
            guard case .document(let document) = SidecarDocument.read(bytes) else { break }
            let says = document.fields
            if says.caption ?? "" != found.caption || Set(says.tags ?? []) != Set(found.tags) {
                result += " (its sidecar says caption: \(says.caption ?? "") tags: \(says.tags ?? []))"
            }
            break
        }
        if !hasSidecar, !found.isEmpty { result += " (no sidecar)" }
        return result
    }
}
