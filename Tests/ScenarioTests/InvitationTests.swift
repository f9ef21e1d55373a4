import Shoebox
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// Alice with a share, and others in the same container.
private struct Circle {
    var village: Village
    var alice: Replica
    var bob: Replica
    var carol: Replica
    var zone: ZoneID
    var link: String

    init(publicPermission: String = "none", isSealed: Bool = true) throws {
        village = try Village(seed: 3, labels: ["alice", "bob", "carol"])
        (alice, bob, carol) = (village.replicas[0], village.replicas[1], village.replicas[2])
        try alice.machine.library.write("Summer/a.jpg", "aaa")
        try #require(try village.settle())
        let made = alice.request(
            .shareCreate(
                paths: [alice.path("Summer")], title: "Summer", publicPermission: publicPermission, isSealed: isSealed))
        try #require(made.code == 0, "\(made)")
        link = made.values["link"] ?? ""
        zone = try #require(ZoneID(hex: made.values["id"] ?? ""))
        try meet()
    }

    func meet() throws {
        for _ in 0..<4 {
            for replica in village.replicas { try replica.round() }
            village.world.clock.advance(milliseconds: 10_500)
        }
        try village.pass(6)
    }

    func must(_ replica: Replica, _ request: Request, code: Int32 = 0, _ location: SourceLocation = #_sourceLocation)
        throws
        -> Reply
    {
        let reply = replica.request(request)
        #expect(reply.code == code, "\(reply)", sourceLocation: location)
        return reply
    }

    func control(_ replica: Replica) throws -> Control {
        try ControlCoder.decode(Array(try #require(try replica.store.read { db in try db.zone(zone) }).control))
    }

    func sees(_ replica: Replica, _ name: String = "a.jpg") -> Bool {
        replica.tree(.shared).keys.contains("alice/Summer/\(name)")
    }

    func status(of replica: Replica) throws -> ParticipantStatus? {
        try control(alice).participants[replica.identity.account]?.status
    }

    func letters(_ replica: Replica, _ kind: String) throws -> [LetterRow] {
        try replica.store.read { db in try db.letters(kind) }
    }
}

struct InvitationTests {
    @Test func `an invitation reaches the inbox, is listed, and is accepted by its title`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        let letter = try #require(try circle.letters(circle.bob, "invitation").first)
        #expect(letter.title == "Summer" && letter.state == .pending && letter.label == "alice")
        #expect(try circle.letters(circle.carol, "invitation").isEmpty)
        #expect(try circle.status(of: circle.bob) == .pending)
        let accepted = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]))
        #expect(accepted.values["path"] == "shared/alice/Summer")
        try circle.meet()
        #expect(circle.sees(circle.bob))
        #expect(try circle.status(of: circle.bob) == .accepted)
        #expect(try circle.letters(circle.bob, "invitation").map(\.state) == [.accepted])
        _ = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]), code: 10)
        _ = try circle.must(circle.bob, .accept(link: circle.link))
    }

    @Test func `a declined invitation is seen by the owner, and can be given again`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        _ = try circle.must(circle.bob, .decline(names: ["Summer"]))
        try circle.meet()
        let person = try #require(try circle.control(circle.alice).participants[circle.bob.identity.account])
        #expect(person.status == .removed && person.hasDeclined && person.statusText == "declined")
        #expect(!circle.sees(circle.bob))
        _ = try circle.must(circle.bob, .accept(link: circle.link), code: 12)
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readWrite"))
        try circle.meet()
        _ = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]))
        try circle.meet()
        #expect(circle.sees(circle.bob))
    }

    @Test func `an invitation that was taken back is no longer listed, and can't be accepted`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        _ = try circle.must(circle.alice, .uninvite(share: "Summer", accounts: ["bob"]))
        _ = try circle.must(circle.bob, .accept(link: circle.link), code: 12)
        try circle.meet()
        #expect(try circle.letters(circle.bob, "invitation").map(\.state) == [.withdrawn])
        _ = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]), code: 10)
    }

    @Test(arguments: [false, true])
    func `a letter whose bytes were damaged is named by verify, as are those that are none`(isFilled: Bool) throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        #expect(try circle.bob.engine.verify().faults.isEmpty)
        let inbox = "accounts/\(circle.bob.identity.account)/inbox"
        let letter = try #require(try circle.village.mountFiles(inbox + "/").first)
        let mount = SimulatedMount(client: "mallory", storage: circle.village.world.storage)
        if isFilled {
            for number in 0..<300 as Range<UInt64> {
                let junk = bigEndian(number)
                try mount.publish(try "\(inbox)/\(letter.last.prefix(33))\(sha256(junk))".mountPath, junk)
            }
            let faults = try circle.bob.engine.verify().faults
            #expect(faults.map(\.code) == Array(repeating: "letter", count: 6))
            #expect(faults.last?.path == inbox && faults.last?.message.contains("295 more") == true, "\(faults)")
        } else {
            var bytes = try mount.read(letter, from: 0, maxBytes: 100_000)
            bytes[bytes.count / 2] ^= 1
            try mount.remove(letter)
            try mount.publish(letter, bytes)
            let faults = try circle.bob.engine.verify().faults
            #expect(faults.map(\.code) == ["letter"] && faults.first?.path == letter.description, "\(faults)")
        }
        // Nobody else's.
        #expect(try circle.alice.engine.verify().faults.isEmpty)
    }

    @Test func `a letter that was read is whole for verify though the device that wrote it has been retired since`()
        throws
    {
        var circle = try Circle()
        let second = try circle.village.addDevice(of: circle.alice, name: "alice2")
        try circle.meet()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        _ = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]))
        try circle.meet()
        _ = try circle.must(second, .deviceRetire(name: "alice"))
        try circle.meet()
        #expect(try circle.bob.engine.verify().faults.filter { $0.code == "letter" }.isEmpty)
    }

    @Test func `letters that strangers plant, copy or forge are passed over, and real ones still arrive`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        for _ in 0..<2 { try circle.alice.round() }
        let mount = SimulatedMount(client: "mallory", storage: circle.village.world.storage)
        let bobs = "accounts/\(circle.bob.identity.account)/inbox/"
        let carols = "accounts/\(circle.carol.identity.account)/inbox/"
        let real = try #require(try circle.village.mountFiles(bobs).first)
        let bytes = try mount.read(real, from: 0, maxBytes: 100_000)
        // Sent on to somebody else, under a wrong name, cut, and random bytes under right names.
        try mount.publish(try "\(carols)\(real.last)".mountPath, bytes)
        try mount.publish(try "\(bobs)\(real.last.prefix(33))\(sha256([1]))".mountPath, bytes)
        let cut = Array(bytes.dropLast(9))
        try mount.publish(try "\(bobs)\(real.last.prefix(33))\(sha256(cut))".mountPath, cut)
        for number in 0..<300 as Range<UInt64> {
            let junk = bigEndian(number)
            try mount.publish(try "\(bobs)\(real.last.prefix(33))\(sha256(junk))".mountPath, junk)
        }
        try mount.publish(try "\(bobs)no-letter".mountPath, [1])
        for _ in 0..<4 { try circle.meet() }
        #expect(try circle.letters(circle.bob, "invitation").count == 1)
        #expect(try circle.letters(circle.carol, "invitation").isEmpty)
        _ = try circle.must(circle.bob, .acceptInvitations(names: ["Summer"]))
    }

    @Test func `who is not invited may ask, and is admitted or refused by the owner`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.bob, .accept(link: circle.link), code: 12)
        _ = try circle.must(circle.bob, .ask(link: circle.link), code: 3)
        _ = try circle.must(circle.carol, .ask(link: circle.link), code: 3)
        try circle.meet()
        #expect(try circle.letters(circle.alice, "request").count == 2)
        #expect(!circle.sees(circle.bob))
        _ = try circle.must(
            circle.alice, .answerRequests(share: "Summer", accounts: ["bob"], permission: "readWrite"))
        _ = try circle.must(circle.alice, .answerRequests(share: "Summer", accounts: ["carol"], permission: nil))
        try circle.meet()
        try circle.meet()
        #expect(circle.sees(circle.bob), "taken up by itself, as it was asked for")
        #expect(!circle.sees(circle.carol))
        // Who was refused is told, and has nothing to do about it; asking again takes the note away.
        let told = circle.carol.problems.filter { $0.code == "denied" }
        #expect(told.count == 1 && told.allSatisfy { $0.isInformation && $0.message.contains("alice") })
        #expect(try circle.control(circle.alice).participants[circle.bob.identity.account]?.permission == .readWrite)
        _ = try circle.must(
            circle.alice, .answerRequests(share: "Summer", accounts: ["carol"], permission: nil), code: 10)
    }

    @Test func `who is refused is told so, whenever the process dies`() throws {
        var (write, hasDied) = (0, true)
        while hasDied {
            let village = try Village(labels: ["alice", "bob"], storesMayDie: true)
            let (alice, bob) = (village.replicas[0], village.replicas[1])
            try alice.machine.library.write("Summer/a.jpg", "aaa")
            try #require(try village.settle())
            let made = alice.request(
                .shareCreate(paths: [alice.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
            try #require(bob.request(.ask(link: made.values["link"] ?? "")).code == 3)
            try alice.round()
            let refused = alice.request(.answerRequests(share: "Summer", accounts: ["bob"], permission: nil))
            try #require(refused.code == 0)
            village.world.clock.advance(milliseconds: 10_500)
            hasDied = try bob.die(beforeWrite: write) { try bob.round() }
            village.world.clock.advance(milliseconds: 10_500)
            try #require(try village.settle())
            #expect(bob.problems.map(\.code) == ["denied"], "died before write \(write)")
            write += 1
        }
        #expect(write > 3)
    }
}

struct PinTests {
    @Test func `another account under a known name is refused until it is named by its fingerprint`() throws {
        var circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        let shown = try circle.must(circle.alice, .verifyAccount(name: "bob", isCompared: false))
        #expect(shown.values["isCompared"] == "false")
        #expect(shown.values["fingerprint"] == circle.bob.identity.account.fingerprint)
        let compared = try circle.must(circle.alice, .verifyAccount(name: "bob", isCompared: true))
        #expect(compared.values["isCompared"] == "true")
        // Bob's account disappears, and another one of his name is there.
        let bobs = "accounts/\(circle.bob.identity.account)/"
        let mount = SimulatedMount(client: "mallory", storage: circle.village.world.storage)
        for path in try circle.village.mountFiles(bobs) { try mount.remove(path) }
        let machine = circle.village.world.addMachine("mallory")
        let (mallory, _) = try Identity.create(
            label: "bob", deviceLabel: "m", nowMilliseconds: 5, randomBytes: machine.world.randomBytes)
        let other = try Replica(machine: machine, label: "bob", identity: mallory)
        try other.setUp()
        circle.village.replicas = [circle.alice, circle.carol, other]
        try circle.alice.restart()
        let refused = try circle.must(
            circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"), code: 12)
        #expect(refused.lines[0].contains(circle.bob.identity.account.fingerprint))
        #expect(refused.lines[0].contains(mallory.account.fingerprint))
        #expect(try circle.control(circle.alice).participants[mallory.account] == nil)
        _ = try circle.must(
            circle.alice,
            .invite(share: "Summer", accounts: ["bob#\(mallory.account.fingerprint)"], permission: "readOnly"))
        #expect(try circle.control(circle.alice).participants[mallory.account] != nil)
    }

    @Test func `who hides that an account has retired a device gets nobody invited by its old keys`() throws {
        var circle = try Circle()
        let phone = try circle.village.addDevice(of: circle.bob, name: "phone")
        try circle.meet()
        _ = try circle.must(circle.bob, .deviceRetire(name: "phone"))
        _ = try circle.must(circle.alice, .verifyAccount(name: "bob", isCompared: false))
        let newest = try #require(try circle.bob.identity.accountEntry()).newestStatement
        let mount = SimulatedMount(client: "mallory", storage: circle.village.world.storage)
        try mount.remove(
            try "accounts/\(circle.bob.identity.account)/\(numberedName(newest.sequence, newest.hash))".mountPath)
        try circle.alice.restart()
        let refused = try circle.must(
            circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"), code: 12)
        #expect(refused.lines[0].contains("older state"))
        // Any device of Bob's in good standing heals it.
        try circle.bob.restart()
        try circle.bob.round()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        _ = phone
    }
}

struct PublicLinkTests {
    @Test(arguments: [true, false])
    func `whoever has a public link joins while the owner is away, and reads and writes as it says`(isSealed: Bool)
        throws
    {
        let circle = try Circle(publicPermission: "readWrite", isSealed: isSealed)
        #expect(circle.link.contains("/join/"))
        // Only Bob and Carol run.
        let accepted = try circle.must(circle.bob, .accept(link: circle.link))
        #expect(accepted.values["path"] == "shared/alice/Summer")
        _ = try circle.must(circle.carol, .accept(link: circle.link))
        for _ in 0..<6 {
            for replica in [circle.bob, circle.carol] { try replica.round() }
            circle.village.world.clock.advance(milliseconds: 5_500)
        }
        #expect(circle.sees(circle.bob) && circle.sees(circle.carol))
        try circle.bob.machine.shared.write("alice/Summer/bobs.jpg", "bobs")
        for _ in 0..<6 {
            for replica in [circle.bob, circle.carol] { try replica.round() }
            circle.village.world.clock.advance(milliseconds: 5_500)
        }
        #expect(circle.sees(circle.carol, "bobs.jpg"), "what joined people write counts for each other")
        try circle.meet()
        #expect(circle.alice.tree(.library)["Summer/bobs.jpg"] == "bobs")
        let person = try #require(try circle.control(circle.alice).participants[circle.bob.identity.account])
        #expect(person.isPublic && person.status == .accepted && person.permission == .readWrite)
    }

    @Test(arguments: [true, false])
    func `whose invitation was waiting when a share became public may come by its link, who was put out may not`(
        isPutOut: Bool
    ) throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        #expect(try circle.letters(circle.bob, "invitation").map(\.state) == [.pending])
        if isPutOut { _ = try circle.must(circle.alice, .uninvite(share: "Summer", accounts: ["bob"])) }
        let opened = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "readOnly", renews: false))
        let link = try #require(opened.values["link"])
        try circle.meet()
        #expect(try circle.letters(circle.bob, "invitation").map(\.state) == [.withdrawn])
        _ = try circle.must(circle.bob, .accept(link: link), code: isPutOut ? 12 : 0)
        try circle.meet()
        #expect(circle.sees(circle.bob) == !isPutOut)
        guard !isPutOut else { return }
        // Who came by the link goes when that is closed.
        _ = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "none", renews: false))
        try circle.alice.machine.library.write("Summer/later.jpg", "later")
        try circle.meet()
        #expect(!circle.sees(circle.bob, "later.jpg"))
    }

    @Test(arguments: [true, false])
    func `made private, who came by the link loses access and who was invited stays`(isSealed: Bool) throws {
        let circle = try Circle(isSealed: isSealed)
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        _ = try circle.must(circle.bob, .accept(link: circle.link))
        try circle.meet()
        let opened = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "readOnly", renews: false))
        let link = try #require(opened.values["link"])
        _ = try circle.must(
            circle.alice, .invite(share: "Summer", accounts: ["carol"], permission: "readOnly"), code: 12)
        _ = try circle.must(circle.carol, .accept(link: link))
        try circle.meet()
        #expect(circle.sees(circle.bob) && circle.sees(circle.carol))
        let closed = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "none", renews: false))
        #expect(closed.values["lostAccess"] == "carol")
        try circle.alice.machine.library.write("Summer/later.jpg", "later")
        try circle.meet()
        #expect(circle.sees(circle.bob, "later.jpg"))
        #expect(!circle.sees(circle.carol) && !circle.sees(circle.carol, "later.jpg"))
        _ = try circle.must(circle.carol, .accept(link: link), code: 12)
        // Public again: there is a new link, and it lets Carol in again.
        let again = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "readOnly", renews: false))
        #expect(again.values["link"] != link)
        _ = try circle.must(circle.carol, .accept(link: link), code: 12)
        _ = try circle.must(circle.carol, .accept(link: try #require(again.values["link"])))
        try circle.meet()
        #expect(circle.sees(circle.carol, "later.jpg"))
    }

    @Test func `made public, invitations that wait are dropped`() throws {
        let circle = try Circle()
        _ = try circle.must(circle.alice, .invite(share: "Summer", accounts: ["bob"], permission: "readOnly"))
        try circle.meet()
        let opened = try circle.must(circle.alice, .setPublic(share: "Summer", permission: "readOnly", renews: false))
        #expect(opened.values["lostAccess"] == "bob")
        try circle.meet()
        #expect(try circle.status(of: circle.bob) == .removed)
        #expect(try circle.letters(circle.bob, "invitation").map(\.state) == [.withdrawn])
    }

    @Test func `a public share lets nobody in without its link, whatever they publish`() throws {
        let circle = try Circle(publicPermission: "readWrite", isSealed: false)
        // Bob knows the zone, not the secret.
        let bare = String(circle.link.prefix { $0 != "#" }) + "#" + circle.alice.identity.account.fingerprint
        _ = try circle.must(circle.bob, .accept(link: bare), code: 12)
        let forger = try Forger(circle.bob, zone: circle.zone, in: circle.village, stranger: true)
        forger.isSealed = false
        try forger.send([try forger.photo("planted.jpg", "planted")])
        // A statement signed by a key that is not the link's.
        let wrong = try JoinLinkKeys(secret: [UInt8](repeating: 7, count: 32))
        try forger.folder.publishJoin(wrong, identity: circle.bob.identity, nowMilliseconds: 9)
        // Carol's statement under Bob's name is not his.
        _ = try circle.must(circle.carol, .accept(link: circle.link))
        for _ in 0..<3 { try circle.carol.round() }
        let mount = forger.mount
        let hers = try #require(
            try circle.village.mountFiles("zones/\(circle.zone)/joins/").first {
                $0.last.hasPrefix("\(circle.carol.identity.replica)")
            })
        let bytes = try mount.read(hers, from: 0, maxBytes: 10_000)
        try mount.publish(
            try "zones/\(circle.zone)/joins/\(circle.bob.identity.replica)-\(sha256(bytes))".mountPath, bytes)
        try circle.meet()
        #expect(circle.alice.tree(.library)["Summer/planted.jpg"] == nil)
        #expect(try circle.control(circle.alice).participants[circle.bob.identity.account] == nil)
        #expect(try circle.status(of: circle.carol) == .accepted)
    }

    @Test func `a link with a count admits so many, and one with an expiry nobody after it`() throws {
        let circle = try Circle()
        let counted = try circle.must(
            circle.alice,
            .makeLink(share: "Summer", permission: "contribute", expiresMilliseconds: 0, count: 1, asks: false))
        let link = try #require(counted.values["link"])
        #expect(link.contains("/ask/"))
        _ = try circle.must(circle.bob, .accept(link: link), code: 3)
        try circle.meet()
        try circle.meet()
        #expect(circle.sees(circle.bob))
        #expect(try circle.control(circle.alice).participants[circle.bob.identity.account]?.permission == .contribute)
        _ = try circle.must(circle.carol, .accept(link: link), code: 3)
        try circle.meet()
        try circle.meet()
        #expect(!circle.sees(circle.carol))
        let soon = circle.alice.machine.world.nowMilliseconds() + 1_000
        let timed = try circle.must(
            circle.alice,
            .makeLink(share: "Summer", permission: "readOnly", expiresMilliseconds: soon, count: 0, asks: false))
        circle.village.world.clock.advance(milliseconds: 60_000)
        _ = try circle.must(circle.carol, .accept(link: try #require(timed.values["link"])), code: 3)
        try circle.meet()
        try circle.meet()
        #expect(!circle.sees(circle.carol))
        #expect(try circle.control(circle.alice).participants[circle.carol.identity.account] == nil)
    }

    @Test func `a link that asks lists who uses it, and a person decides`() throws {
        let circle = try Circle()
        let made = try circle.must(
            circle.alice,
            .makeLink(share: "Summer", permission: "readWrite", expiresMilliseconds: 0, count: 0, asks: true))
        _ = try circle.must(circle.bob, .accept(link: try #require(made.values["link"])), code: 3)
        try circle.meet()
        #expect(!circle.sees(circle.bob))
        _ = try circle.must(circle.alice, .answerRequests(share: "Summer", accounts: ["bob"], permission: ""))
        try circle.meet()
        try circle.meet()
        #expect(circle.sees(circle.bob))
        #expect(try circle.control(circle.alice).participants[circle.bob.identity.account]?.permission == .readWrite)
    }

    @Test func `who left a share and accepts it by its name is told what lets them come back`() throws {
        let party = try Party(bob: "readWrite")
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        // The invitation itself was not used yet.
        #expect(party.bob.request(.acceptInvitations(names: ["Summer"])).code == 0)
        #expect(try party.village.settle())
        #expect(party.bob.request(.leave(share: "Summer", keepCopy: false)).code == 0)
        let refused = party.bob.request(.acceptInvitations(names: ["Summer"]))
        #expect(refused.code == ExitCode.notFound && "\(refused)".contains("you left that share"), "\(refused)")
        #expect(party.bob.request(.accept(link: party.link)).code == 0)
        #expect(try party.village.settle())
        party.expectShown()
    }

    @Test func `who leaves a share on one device is told on the other one that it was they who left`() throws {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"], others: ["bob"])
        let bob = village.replicas[1]
        try bob.machine.library.write("Sea/s.jpg", "sss")
        try #require(try village.settle())
        let made = bob.request(
            .shareCreate(paths: [bob.path("Sea")], title: "Sea", publicPermission: "none", isSealed: true))
        #expect(bob.request(.invite(share: "Sea", accounts: ["alice"], permission: "readWrite")).code == 0)
        #expect(alice.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        #expect(second.tree(.shared) == ["bob/Sea/s.jpg": "sss"])
        #expect(alice.request(.leave(share: "Sea", keepCopy: false)).code == 0)
        try #require(try village.settle())
        #expect(second.tree(.shared).isEmpty)
        let said = second.problems.filter { $0.code == "ended" }.map(\.message)
        #expect(said.count == 1 && said[0].contains("was left by you on another device"), "\(said)")
    }
}
