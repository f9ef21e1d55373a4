import Foundation
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

// What came of a deed.

extension Stage {
    /// Everything as users see it, once nothing is left to do, and what must not be left over.
    func outcome() throws -> [String: String] {
        var result: [String: String] = [:]
        for replica in village.replicas {
            let name = replica.machine.name
            for root in RootKind.allCases {
                for (path, text) in replica.tree(root) {
                    let caption = replica.sidecar(path, root)?.fields.caption ?? ""
                    let rating = replica.sidecar(path, root)?.fields.rating.map { " \($0)" } ?? ""
                    let tags = replica.sidecar(path, root)?.fields.tags?.sorted().joined(separator: ",") ?? ""
                    result["\(name) \(root) \(path)"] = "\(text) '\(caption)' \(tags)\(rating)"
                }
                let disk = root == .library ? replica.machine.library : replica.machine.shared
                for path in disk.tree().keys {
                    if path.contains(".tags/") { result["\(name) \(root) \(path)"] = "" }
                    if path.hasPrefix(".shoebox/tmp/") { result["\(name) \(root) left over"] = "" }
                }
                for (path, bytes) in disk.tree() where path.hasSuffix(".json") && !path.contains(".shoebox/") {
                    // One that says nothing any more may stay or go.
                    if case .document(let document) = SidecarDocument.read(bytes), document.fields.saysNothing {
                        continue
                    }
                    result["\(name) \(root) sidecars", default: ""] += "+"
                }
            }
            let shares = try replica.store.read { db in try db.zones() }.filter { $0.kind == .share }
            result["\(name)'s shares"] = try shares.map(describe).sorted().joined(separator: "; ")
            let waiting = try InvitationListing(reading: replica.engine)
            result["\(name) is asked"] = (waiting.invitations + waiting.requests).map { "\($0.label) \($0.title)" }
                .sorted().joined(separator: "; ")
            result["\(name)'s devices"] = (try replica.identity.accountEntry()?.devices ?? [:]).values
                .map { $0.label + ($0.isRetired ? " retired" : "") }.sorted().joined(separator: ", ")
            result["\(name) has compared"] = try replica.store.read { db in
                try village.replicas.map(\.identity).filter { identity in
                    try db.pins(label: identity.label, or: identity.account).contains { $0.compared > 0 }
                }.map(\.label)
            }.joined(separator: ", ")
            // A photo that two records stand for shows once, until somebody edits it.
            result["\(name)'s photos"] = try replica.store.read { db in
                let photos = try db.zones().flatMap { try db.records(of: .photo, in: $0.id) }
                return "\(photos.filter(\.isLive).count)"
            }
            let problems = Set(replica.problems.map(\.code)).subtracting(deed.uncertainProblems)
            result["\(name)'s problems"] = problems.sorted().joined(separator: ",")
            let faults = try replica.engine.verify().faults
            result["\(name)'s faults"] = Set(faults.map(\.code)).sorted().joined(separator: ",")
        }
        // The name of an asset that is taken is tried once, and another one is used.
        let broken = Set(
            village.world.storage.violations.filter { $0.rule != .publishedOver || !"\($0.path)".hasPrefix("assets/") }
                .map { "\($0.rule)" }
        ).sorted()
        result["rules of the mount that were broken"] = broken.joined(separator: ",")
        return result
    }

    /// A share as one replica knows it, without what is random.
    private func describe(_ row: ZoneRow) throws -> String {
        let control = try ControlCoder.decode(Array(row.control))
        let people = control.participants.values.map { person in
            "\(person.label) \(person.role) \(person.permission) \(person.status)"
                + (person.hasLeft ? " left" : "") + (person.hasDeclined ? " declined" : "")
        }
        let links = control.links.values.filter { !$0.isOff }.map { link in
            "\(link.permission) \(link.isRequest) \(link.countMax) \(link.needsApproval)"
        }
        return "\(control.title) of \(control.ownerLabel) \(row.state)\(row.isMine ? " mine" : "")"
            + "\(control.isStopped ? " stopped" : "") public: \(control.publicLink?.link.permission ?? .none) "
            + (people.sorted() + ["links:"] + links.sorted()).joined(separator: ", ")
            + (control.openOffer == nil ? "" : " offered")
    }

    /// The links of a replica's shares that hold.
    func links(_ replica: Replica) throws -> [JoinLink] {
        try replica.store.read { db in try db.zones() }.filter { $0.kind == .share }
            .flatMap { try ControlCoder.decode(Array($0.control)).links.values }.filter { !$0.isOff }
    }

    /// The contents that are on anybody's disks, in the trash too.
    func kept() -> Set<String> {
        var result: Set<String> = []
        for replica in village.replicas {
            for disk in [replica.machine.library, replica.machine.shared] {
                for (path, bytes) in disk.tree() where !path.hasSuffix(".json") && !path.contains(".tags/") {
                    result.insert(String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        return result
    }

    /// What everybody knows and says, for people who look into a failure.
    func describe(lines: Int = 12) -> String {
        village.replicas.map { replica in
            "\(replica.machine.name): \(replica.problems.map { "\($0.code) \($0.message)" }) quiet: \(replica.isQuiet)\n"
                + replica.logLines.suffix(lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

extension SidecarFields {
    /// Whether all it says is that there is nothing.
    fileprivate var saysNothing: Bool {
        (caption ?? "").isEmpty && (tags ?? []).isEmpty && (rating ?? 0) == 0 && custom.isEmpty
    }
}
