import Foundation
import Shoebox
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox
@testable import ShoeboxCloud

/// Alice with a share that is public and announced, and two others in the same container.
private struct Plaza {
    var village: Village
    var alice: Replica
    var bob: Replica
    var carol: Replica
    var zone: ZoneID
    var link: String

    init(announces: Bool = true, isSealed: Bool = true) throws {
        village = try Village(seed: 5, labels: ["alice", "bob", "carol"])
        (alice, bob, carol) = (village.replicas[0], village.replicas[1], village.replicas[2])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: isSealed))
        try #require(made.code == 0, "\(made)")
        zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
        let opened = alice.request(
            .setPublic(share: "Summer", permission: "readOnly", renews: false, announces: announces))
        try #require(opened.code == 0, "\(opened)")
        link = try #require(opened.values["link"])
        try village.meet()
    }

    /// Somebody who makes an account now.
    mutating func newcomer(_ label: String) throws -> Replica {
        let machine = village.world.addMachine(label)
        let (identity, _) = try Identity.create(
            label: label, deviceLabel: label, nowMilliseconds: machine.world.nowMilliseconds(),
            randomBytes: machine.world.randomBytes)
        let replica = try Replica(machine: machine, label: label, identity: identity)
        try replica.setUp()
        village.replicas.append(replica)
        return replica
    }

    /// What `accept --list` shows.
    func listed(_ replica: Replica) throws -> [InvitationListing.Entry] {
        try InvitationListing(reading: replica.engine).invitations
    }

    func announcements(_ replica: Replica) throws -> [LetterRow] {
        try replica.store.read { db in try db.letters("announced") }
    }

    func sees(_ replica: Replica) -> Bool { replica.tree(.shared)["alice/Summer/a.jpg"] == "aaa" }

    func setPublic(_ permission: String, renews: Bool = false, announces: Bool = false) throws -> Reply {
        let reply = alice.request(
            .setPublic(share: "Summer", permission: permission, renews: renews, announces: announces))
        #expect(reply.code == 0, "\(reply)")
        return reply
    }
}

@Suite struct PublicAreaTests {
    @Test(arguments: [true, false])
    func
        `every account of the container sees an announced public share and may join it by its title, also one that comes later`(
            isSealed: Bool
        ) throws
    {
        var plaza = try Plaza(isSealed: isSealed)
        let dave = try plaza.newcomer("dave")
        // What was sent is known after a restart, too.
        try plaza.alice.restart()
        for _ in 0..<3 { try plaza.village.meet() }
        for replica in [plaza.bob, plaza.carol, dave] {
            let listed = try plaza.listed(replica)
            #expect(listed.map(\.title) == ["Summer"] && listed.allSatisfy(\.isAnnouncement), "\(replica.label)")
            #expect(listed.map(\.label) == ["alice"] && listed.map(\.permission) == [.readOnly])
            #expect(!plaza.sees(replica), "nobody is put into it")
            #expect(try plaza.announcements(replica).count == 1, "told once")
        }
        #expect(try plaza.listed(plaza.alice).isEmpty)
        for replica in [plaza.bob, dave] {
            let accepted = replica.request(.acceptInvitations(names: ["Summer"]))
            #expect(accepted.code == 0, "\(accepted)")
            #expect(accepted.values["path"] == "shared/alice/Summer")
        }
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(plaza.sees(plaza.bob) && plaza.sees(dave) && !plaza.sees(plaza.carol))
        #expect(try plaza.listed(plaza.bob).isEmpty)
        #expect(try plaza.announcements(plaza.bob).map(\.state) == [.accepted])
        // Declined, it is hidden, and its owner has lost nobody.
        #expect(plaza.carol.request(.decline(names: ["Summer"])).code == 0)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.carol).isEmpty)
        #expect(try plaza.alice.store.read { db in try db.letters("declined") }.isEmpty)
        #expect(plaza.carol.request(.acceptInvitations(names: ["Summer"])).code == 10)
        #expect(plaza.carol.request(.accept(link: plaza.link)).code == 0)
    }

    @Test func `a public share that is not announced is told to nobody`() throws {
        let plaza = try Plaza(announces: false)
        try plaza.village.meet()
        #expect(try plaza.announcements(plaza.bob).isEmpty && plaza.announcements(plaza.carol).isEmpty)
        // It may be announced later, as it is.
        let told = try plaza.setPublic("readOnly", announces: true)
        #expect(told.values["announced"] == "true" && told.values["link"] == plaza.link)
        try plaza.village.meet()
        #expect(try plaza.listed(plaza.bob).count == 1)
        let refused = plaza.alice.request(
            .setPublic(share: "Summer", permission: "none", renews: false, announces: true))
        #expect(refused.code == 64 && refused.remedy != nil)
    }

    @Test func `all-pending joins no announced share`() throws {
        let plaza = try Plaza()
        #expect(try plaza.listed(plaza.bob).count == 1)
        let reply = plaza.bob.request(.acceptAllPending)
        #expect(reply.code == 0 && reply.values["id"] == nil, "\(reply)")
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(!plaza.sees(plaza.bob))
        #expect(try plaza.listed(plaza.bob).count == 1)
    }

    @Test func `a share that became private is announced no more, and joining it is refused`() throws {
        var plaza = try Plaza()
        #expect(plaza.carol.request(.acceptInvitations(names: ["Summer"])).code == 0)
        try plaza.village.meet()
        #expect(plaza.sees(plaza.carol))
        _ = try plaza.setPublic("none")
        try plaza.alice.round()
        // Bob has not read yet that it is withdrawn.
        #expect(try plaza.listed(plaza.bob).count == 1)
        #expect(plaza.bob.request(.accept(link: try plaza.announcements(plaza.bob)[0].link)).code == 12)
        let dave = try plaza.newcomer("dave")
        for _ in 0..<3 { try plaza.village.meet() }
        for replica in [plaza.bob, plaza.carol, dave] {
            #expect(try plaza.listed(replica).isEmpty, "\(replica.label)")
            #expect(replica.request(.acceptInvitations(names: ["Summer"])).code == 10)
            #expect(!plaza.sees(replica))
        }
        #expect(try plaza.announcements(dave).isEmpty, "who comes later hears nothing of it")
        #expect(try plaza.announcements(plaza.bob).map(\.state) == [.withdrawn])
        // Public again, and not announced: nobody is told of the new link.
        _ = try plaza.setPublic("readOnly")
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.bob).isEmpty)
    }

    @Test func `a stopped share is announced no more`() throws {
        let plaza = try Plaza()
        #expect(try plaza.listed(plaza.bob).count == 1)
        #expect(plaza.alice.request(.stop(share: "Summer")).code == 0)
        for _ in 0..<3 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.bob).isEmpty && plaza.listed(plaza.carol).isEmpty)
    }

    @Test func `a new link ends what was announced, or is announced in its place`() throws {
        let plaza = try Plaza()
        // Both letters are read at once, in whatever order.
        let renewed = try plaza.setPublic("readOnly", renews: true, announces: true)
        let link = try #require(renewed.values["link"])
        #expect(link != plaza.link)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.bob).count == 1)
        #expect(try plaza.announcements(plaza.bob).filter { $0.state == .pending }.map(\.link) == [link])
        // What one may do has changed: told anew, with the same link.
        _ = try plaza.setPublic("readWrite")
        try plaza.village.meet()
        #expect(try plaza.listed(plaza.bob).map(\.permission) == [.readWrite])
        #expect(plaza.bob.request(.acceptInvitations(names: ["Summer"])).code == 0)
        try plaza.village.meet()
        #expect(plaza.sees(plaza.bob))
        _ = try plaza.setPublic("readWrite", renews: true)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.carol).isEmpty)
        #expect(plaza.carol.request(.acceptInvitations(names: ["Summer"])).code == 10)
    }

    @Test func `a share that was handed over is announced no more by who owned it, and may be by the new owner`() throws
    {
        let plaza = try Plaza()
        #expect(plaza.bob.request(.acceptInvitations(names: ["Summer"])).code == 0)
        for _ in 0..<2 { try plaza.village.meet() }
        let offered = plaza.alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite"))
        #expect(offered.code == 0, "\(offered)")
        try plaza.village.meet()
        #expect(plaza.bob.request(.transferAnswer(share: "Summer", accepts: true)).code == 0)
        for _ in 0..<4 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.carol).isEmpty)
        let told = plaza.bob.request(
            .setPublic(share: "Summer", permission: "readOnly", renews: false, announces: true))
        #expect(told.code == 0, "\(told)")
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(plaza.carol).map(\.label) == ["bob"])
        #expect(plaza.carol.request(.acceptInvitations(names: ["Summer"])).code == 0)
    }

    @Test func `an announcement by somebody who is not the share's owner is nothing`() throws {
        let plaza = try Plaza(announces: false)
        let (bob, carol) = (plaza.bob, plaza.carol)
        let real = try ShareLink(parsing: plaza.link)
        let key = try #require(try real.keys).joinKey
        func forge(_ link: ShareLink, joinKey: Digest32) throws {
            var letter = Letter(
                kind: .announced, zone: plaza.zone, title: "Summer", permission: .readWrite, joinKey: joinKey)
            letter.link = link.description
            try bob.engine.send(letter, to: carol.identity.account)
        }
        // With the owner's own link; with one that names Bob; with a secret that is none of the share's; without one.
        try forge(real, joinKey: key)
        var his = real
        his.ownerFingerprint = bob.identity.account.fingerprint
        try forge(his, joinKey: key)
        let secret = [UInt8](repeating: 7, count: 32)
        his.secret = .join(secret)
        try forge(his, joinKey: try JoinLinkKeys(secret: secret).joinKey)
        his.secret = nil
        try forge(his, joinKey: key)
        for _ in 0..<3 { try plaza.village.meet() }
        #expect(try plaza.listed(carol).isEmpty)
        #expect(carol.request(.acceptInvitations(names: ["Summer"])).code == 10)
        let read = try carol.store.read { db in try db.letterHashes() }
        #expect(read.count == 4, "all were read, and are not read again")
        // The owner's still arrives, and nobody else takes it back.
        _ = try plaza.setPublic("readOnly", announces: true)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(carol).map(\.label) == ["alice"])
        try bob.engine.send(Letter(kind: .withdrawn, zone: plaza.zone, joinKey: key), to: carol.identity.account)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(carol).map(\.label) == ["alice"])
        #expect(carol.request(.acceptInvitations(names: ["Summer"])).code == 0)
    }

    @Test func `of one sender only so many announcements wait`() throws {
        let plaza = try Plaza(announces: false)
        let bob = plaza.bob
        try bob.store.write { db in
            for number in 0..<UInt64(bob.engine.announcementsKeptMax) {
                let hash = sha256(bigEndian(number))
                let row = LetterRow(
                    hash: hash, kind: "announced", state: .pending, zone: ZoneID(hash),
                    account: plaza.alice.identity.account, label: "alice", title: "\(number)", permission: .readOnly,
                    joinKey: hash)
                try db.setLetter(row, nowMilliseconds: 1)
            }
        }
        _ = try plaza.setPublic("readOnly", announces: true)
        for _ in 0..<2 { try plaza.village.meet() }
        #expect(try plaza.listed(bob).count == bob.engine.announcementsKeptMax)
        #expect(try plaza.announcements(bob).filter { $0.zone == plaza.zone }.map(\.state) == [.void])
        #expect(try plaza.listed(plaza.carol).count == 1)
    }
}

/// The same by the built executable.
@Suite(.serialized)
struct PublicAreaCommandTests {
    @Test func `a public share is announced, listed and joined by commands alone`() throws {
        let place = try CommandPlace()
        let alice = try place.person("alice")
        try alice.drop("one", at: alice.library + "/Fair/one.jpg")
        try alice.must("sync")
        try alice.must("share", "create", "library/Fair", "--title", "Fair")
        try alice.must("share", "public", "Fair", "readOnly", "--announce", "--yes")
        try alice.must("sync")
        #expect(try alice.run(["share", "public", "Fair", "none", "--announce", "--yes"]).code == 64)
        let bob = try place.person("bob")
        try bob.must("sync")
        try alice.must("sync")
        try bob.must("sync")
        let listed = try bob.must("accept", "--list", "--json").json["invitations"]?.array
        #expect(listed?.count == 1)
        #expect(listed?.first?.object?["public"]?.bool == true)
        #expect(try bob.must("accept", "--list").output.contains("public"))
        #expect(try bob.status()["invitations"]?.array?.count == 1)
        try bob.must("accept", "Fair")
        try bob.must("sync")
        #expect(FileManager.default.fileExists(atPath: bob.shared + "/alice/Fair/one.jpg"))
    }
}
