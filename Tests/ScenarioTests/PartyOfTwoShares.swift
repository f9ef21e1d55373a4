import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

extension Party {
    /// Who shares what: Alice shares `Summer` with Bob and Carol, and `Other` with Carol and Dan.
    static func twoShares(seed: UInt64 = 1) throws -> (Party, dan: Replica) {
        let party = try Party(bob: "readWrite", seed: seed, others: ["dan"])
        let (alice, village) = (party.alice, party.village)
        try alice.machine.library.write("Other/o.jpg", "ooo")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Other")], title: "Other", publicPermission: "none", isSealed: true))
        let dan = village.replicas[3]
        for other in [party.carol, dan] {
            try #require(
                alice.request(.invite(share: "Other", accounts: [other.label], permission: "readWrite")).code == 0)
            try #require(other.request(.accept(link: made.values["link"] ?? "")).code == 0)
        }
        try #require(try village.settle())
        return (party, dan)
    }

    /// The sizes of all contents that somebody was told of.
    static func sizes(knownTo replica: Replica) throws -> Set<UInt64> {
        let stored = try replica.store.read { db in try db.history(after: 0, limit: .max) }
        return Set(
            stored.flatMap { stored -> [UInt64] in
                guard case .set(let fields) = stored.change.action else { return [] }
                return fields.values.compactMap { $0.asset?.size }
            })
    }
}
