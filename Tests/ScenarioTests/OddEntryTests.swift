import Shoebox
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Whoever can reach the container can put anything there: a directory, a pipe or a link in the place of a file, a file in
/// the place of a directory. It is passed over, as bytes of no sense are.
@Suite struct OddEntryTests {
    enum Place: CaseIterable {
        case statement, account, zone, control, head, log, letters
    }

    private static let digest = String(repeating: "a", count: 64)

    /// Where something odd is put, and whether it is a directory.
    private func path(_ place: Place, _ party: Party) throws -> (path: MountPath, isDirectory: Bool) {
        let text =
            switch place {
            case .statement: "accounts/\(party.alice.identity.account)/0000000000000009-\(Self.digest)"
            case .account: "accounts/\(Self.digest)"
            case .zone: "zones/\(Self.digest)"
            case .control: "zones/\(party.zone)/control/0000000000000099-\(Self.digest)"
            case .head: "zones/\(party.zone)/heads/\(Self.digest.prefix(32)).0"
            case .log: "zones/\(party.zone)/log/\(Self.digest.prefix(32))"
            case .letters: "letters/\(Self.digest)"
            }
        let path = try #require(MountPath(text.split(separator: "/").map(String.init)))
        return (path, [.statement, .control, .head].contains(place))
    }

    @Test(arguments: Place.allCases)
    func `an entry of another kind than it should be stops nothing`(place: Place) throws {
        let party = try Party(bob: "readWrite", others: ["dan"])
        let (path, isDirectory) = try path(place, party)
        party.village.world.storage.rawWrite(isDirectory ? try #require(path.appending("x")) : path, [1, 2, 3])
        for replica in party.village.replicas { try replica.restart() }
        try party.alice.machine.library.write("Summer/new.jpg", "new")
        try party.bob.machine.shared.write("alice/Summer/bobs.jpg", "bobs")
        #expect(try party.village.settle())
        party.expectShown(Party.content.merging(["new.jpg": "new", "bobs.jpg": "bobs"]) { $1 })
        let dan = try #require(party.village.replicas.last)
        let invited = party.alice.request(.invite(share: "Summer", accounts: ["dan"], permission: "readOnly"))
        #expect(invited.code == 0, "\(invited)")
        let accepted = dan.request(.accept(link: party.link))
        #expect(accepted.code == 0, "\(accepted)")
        #expect(try party.village.settle())
        #expect(dan.tree(.shared).values.sorted() == ["aaa", "bbb", "bobs", "new"])
        for replica in party.village.replicas {
            #expect(!replica.problems.contains { $0.code == "containerOffline" }, "\(replica.problems.map(\.message))")
        }
    }
}
