import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// What was deleted, moved out or replaced before its folder was shared is not shown to the people of the share by being
/// brought back.
@Suite struct SharedSinceTests {
    private static let secret = "nobody else's"

    /// Alice with two devices, and Bob, with whom nothing is shared yet.
    private func village(isDeep: Bool = false) throws -> (Village, alice: Replica, second: Replica, bob: Replica) {
        let (village, alice, second) = try Village.twoDevices(
            [
                isDeep ? "Trip/deep/c.jpg" : "Trip/secret.jpg": Self.secret, "Trip/b.jpg": "bbb",
                "Private/p.jpg": "ppp",
            ], others: ["bob"])
        return (village, alice, second, village.replicas[1])
    }

    private func settle(_ village: Village) throws {
        try #require(try village.settleDeletions())
    }

    private func share(_ alice: Replica, _ bob: Replica, _ village: Village, path: String = "Trip") throws {
        let made = alice.request(
            .shareCreate(paths: [alice.path(path)], title: "Sea", publicPermission: "none", isSealed: true))
        try #require(made.code == 0, "\(made)")
        try #require(alice.request(.invite(share: "Sea", accounts: ["bob"], permission: "readWrite")).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try settle(village)
        try #require(bob.tree(.shared)["alice/Sea/b.jpg"] == "bbb")
    }

    private func newest(_ replica: Replica, where isMeant: (Change) -> Bool) throws -> [Int64] {
        let found = try replica.store.read { db in try db.history(after: 0, limit: .max) }
            .filter { $0.change.author == replica.identity.account && isMeant($0.change) }
        return Set(found.map(\.token)).sorted(by: >)
    }

    /// Bob was told of nothing that has those bytes, whatever its name.
    private func expectNothingTold(to bob: Replica) throws {
        #expect(!bob.tree(.shared).values.contains { $0.hasPrefix(Self.secret) }, "\(bob.tree(.shared))")
        for stored in try bob.store.read({ db in try db.history(after: 0, limit: .max) }) {
            #expect(stored.change.content?.size != UInt64(Self.secret.utf8.count), "\(stored.change)")
        }
    }

    enum Way: CaseIterable { case undo, undoFolder, trash, trashFolder, restoreOnSecond }

    @Test(arguments: Way.allCases)
    func `what was deleted before its folder was shared comes back beside it`(way: Way) throws {
        let isDeep = way == .undoFolder || way == .trashFolder
        let (village, alice, second, bob) = try village(isDeep: isDeep)
        try alice.machine.library.delete(isDeep ? "Trip/deep" : "Trip/secret.jpg")
        try settle(village)
        let deletions = try newest(alice) { $0.action == .delete }
        try share(alice, bob, village)
        var replies: [Reply] = []
        switch way {
        case .undo, .undoFolder: for token in deletions { replies.append(alice.request(.undo(token: token))) }
        case .trash: replies.append(second.request(.restoreTrash(paths: [second.path("Trip/secret.jpg")])))
        case .trashFolder: replies.append(second.request(.restoreTrash(paths: [second.path("Trip")])))
        case .restoreOnSecond: replies.append(second.request(.restoreTrash(paths: [])))
        }
        #expect(replies.allSatisfy { $0.code == 0 }, "\(replies)")
        let said: [String] = replies.flatMap { $0.lines }
        #expect(said.contains { $0.contains("beside the folder 'Trip'") && $0.contains("'Sea'") }, "\(said)")
        try settle(village)
        try expectNothingTold(to: bob)
        for device in [alice, second] {
            let found = device.tree(.library).filter { $0.value.hasPrefix(Self.secret) && !$0.key.hasPrefix("Trip/") }
            #expect(found.count == 1, "\(device.tree(.library))")
            #expect(device.tree(.library)["Trip/b.jpg"] == "bbb")
        }
        #expect(alice.tree(.library) == second.tree(.library))
        // It is as private as anything else, and is shared by being moved there.
        let path = try #require(
            alice.tree(.library).first { $0.value.hasPrefix(Self.secret) && !$0.key.hasPrefix("Trip/") }?.key)
        try alice.machine.library.move(path, to: "Trip/shown.jpg")
        try settle(village)
        #expect(bob.tree(.shared)["alice/Sea/shown.jpg"]?.hasPrefix(Self.secret) == true)
    }

    @Test(arguments: [false, true])
    func `what was moved out of a folder before that was shared is not moved back into it by undo`(
        isFolder: Bool
    ) throws {
        let (village, alice, second, bob) = try village(isDeep: isFolder)
        let name = isFolder ? "deep" : "secret.jpg"
        try alice.machine.library.move("Trip/\(name)", to: "Private/\(name)")
        try settle(village)
        let moves = try newest(alice) { change in
            guard case .set(let fields) = change.action else { return false }
            return fields[.parent] != nil && change.type.hasPlace && !change.context.isEmpty
        }
        try #require(moves.count == 1)
        try share(alice, bob, village)
        let before = alice.tree(.library)
        for token in moves {
            let reply = alice.request(.undo(token: token))
            #expect(reply.code == ExitCode.failed, "\(reply)")
        }
        try settle(village)
        try expectNothingTold(to: bob)
        #expect(alice.tree(.library) == before && second.tree(.library) == before, "\(alice.tree(.library))")
    }

    /// The first of two contents went to the trash of the second device before the photo was shared under another name.
    private func retouched() throws -> (Village, alice: Replica, second: Replica, bob: Replica) {
        let (village, alice, second, bob) = try village()
        try #require(alice.request(.caption(path: alice.path("Trip/secret.jpg"), text: "secret words")).code == 0)
        try settle(village)
        try alice.machine.library.write("Trip/secret.jpg", "retouched")
        try settle(village)
        try alice.machine.library.move("Trip/secret.jpg", to: "Trip/beach.jpg")
        try settle(village)
        try #require(alice.request(.caption(path: alice.path("Trip/beach.jpg"), text: "")).code == 0)
        try settle(village)
        try share(alice, bob, village)
        return (village, alice, second, bob)
    }

    @Test(arguments: [["Trip"], []])
    func `what a photo was before it was shared stays in the trash when all of a folder is put back`(
        paths: [String]
    ) throws {
        let (village, _, second, bob) = try retouched()
        let reply = second.request(.restoreTrash(paths: paths.map { second.path($0) }))
        #expect(reply.code == ExitCode.failed, "\(reply)")
        #expect(
            reply.lines.contains { $0.contains("'library/Trip/secret.jpg'") && $0.contains("the share 'Sea'") },
            "\(reply)")
        #expect(reply.remedy?.contains("Name the file itself") == true, "\(reply)")
        try settle(village)
        try expectNothingTold(to: bob)
        #expect(bob.tree(.shared) == ["alice/Sea/b.jpg": "bbb", "alice/Sea/beach.jpg": "retouched"])
    }

    @Test func `a file that is named is put back into a share, and it is said who sees it`() throws {
        let (village, _, second, bob) = try retouched()
        let reply = second.request(.restoreTrash(paths: [second.path("Trip/secret.jpg")]))
        #expect(
            reply.code == 0 && reply.lines.contains { $0.contains("the share 'Sea': its people see it") }, "\(reply)")
        try settle(village)
        #expect(bob.tree(.shared)["alice/Sea/secret.jpg"] == Self.secret)
        #expect(bob.sidecar("alice/Sea/secret.jpg", .shared)?.fields.caption == nil)
    }

    @Test func `what is in the trash of a share that has ended does not go into another one of its name`() throws {
        let (village, alice, second, bob) = try village()
        try share(alice, bob, village)
        try bob.machine.shared.delete("alice/Sea/secret.jpg")
        try settle(village)
        try #require(alice.request(.stop(share: "Sea")).code == 0)
        try settle(village)
        try share(alice, bob, village)
        _ = second.request(.restoreTrash(paths: []))
        try settle(village)
        #expect(bob.tree(.shared)["alice/Sea/secret.jpg"] == nil, "\(bob.tree(.shared))")
    }
}
