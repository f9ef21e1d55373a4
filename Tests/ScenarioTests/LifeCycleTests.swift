import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// A share's whole life, seen by everybody: after each step, who sees the photos and whose edits count.
@Suite struct LifeCycleTests {
    /// Who looks: the owner on two devices, somebody whose rights change, somebody who may always only read while
    /// invited, somebody who comes by the public link, and somebody who was never asked and has no link.
    enum Person: String, CaseIterable { case alice, laptop, bob, carol, dave, erin }

    /// What somebody has of the share: nothing, the photos, or the photos and the right to edit them.
    enum Has: String { case nothing, photos, edits }

    enum Step: String, CaseIterable {
        case create, invite, accept, promote, demote, promoteAgain, remove, inviteAgain, acceptAgain, leave, comeBack,
            makePublic, joinByLink, makePrivate, stop
        case shareAgain, acceptAnew
    }

    /// How each step is made.
    enum Way: String, CaseIterable {
        /// With everybody's daemon running.
        case together
        /// While nobody else's daemon runs.
        case alone
        /// The owner's steps on the second device.
        case laptop
        /// First with the mount away, then with it; and the process starts anew in between.
        case mountAway
    }

    /// What everybody has after each step: the table.
    private static func table(after step: Step) -> [Person: Has] {
        func row(_ bob: Has, _ carol: Has, dave: Has = .nothing) -> [Person: Has] {
            [.alice: .edits, .laptop: .edits, .bob: bob, .carol: carol, .dave: dave, .erin: .nothing]
        }
        return switch step {
        case .create, .invite, .stop, .shareAgain: row(.nothing, .nothing)
        case .accept, .demote: row(.photos, .photos)
        case .promote, .promoteAgain, .acceptAgain, .comeBack, .acceptAnew: row(.edits, .photos)
        case .makePublic, .makePrivate: row(.edits, .photos)
        case .joinByLink: row(.edits, .photos, dave: .photos)
        case .remove, .inviteAgain, .leave: row(.nothing, .photos)
        }
    }

    private final class Stage {
        var village: Village
        var people: [Person: Replica] = [:]
        var link = ""
        var publicLink = ""
        var probes: Set<String> = []
        let way: Way

        init(_ way: Way) throws {
            self.way = way
            village = try Village(labels: ["alice", "bob", "carol", "dave", "erin"])
            people = [
                .alice: village.replicas[0], .bob: village.replicas[1], .carol: village.replicas[2],
                .dave: village.replicas[3], .erin: village.replicas[4],
            ]
            let alice = village.replicas[0]
            try alice.machine.library.write("Summer/a.jpg", "aaa")
            try alice.machine.library.write("Summer/deep/b.jpg", "bbb")
            try alice.machine.library.write("Private/c.jpg", "ccc")
            people[.laptop] = try village.addDevice(of: alice, name: "laptop")
            try #require(try village.settle())
        }

        func replica(_ person: Person) throws -> Replica { try #require(people[person]) }
        var owner: Person { way == .laptop ? .laptop : .alice }

        /// Who makes a step.
        func actors(_ step: Step) -> [Person] {
            switch step {
            case .accept, .acceptAnew: [.bob, .carol]
            case .acceptAgain, .leave, .comeBack: [.bob]
            case .joinByLink: [.dave]
            default: [owner]
            }
        }

        /// What an actor does.
        func perform(_ step: Step, _ actor: Person) throws -> [Reply] {
            let replica = try replica(actor)
            func create() -> Reply {
                let reply = replica.request(
                    .shareCreate(
                        paths: [replica.path("Summer")], title: "Summer", publicPermission: "none", isSealed: true))
                if let made = reply.values["link"] { link = made }
                return reply
            }
            func invite(_ name: String, _ permission: String) -> Reply {
                replica.request(.invite(share: "Summer", accounts: [name], permission: permission))
            }
            func permit(_ permission: String) -> Reply {
                replica.request(.permission(share: "Summer", account: "bob", permission: permission))
            }
            func open(_ permission: String) -> Reply {
                let reply = replica.request(.setPublic(share: "Summer", permission: permission, renews: false))
                if permission != "none", let made = reply.values["link"] { publicLink = made }
                return reply
            }
            return switch step {
            case .create: [create()]
            case .invite: [invite("bob", "readOnly"), invite("carol", "readOnly")]
            case .accept, .acceptAgain, .comeBack, .acceptAnew: [replica.request(.accept(link: link))]
            case .promote, .promoteAgain: [permit("readWrite")]
            case .demote: [permit("readOnly")]
            case .remove: [replica.request(.uninvite(share: "Summer", accounts: ["bob"]))]
            case .inviteAgain: [invite("bob", "readWrite")]
            case .leave: [replica.request(.leave(share: "Summer", keepCopy: false))]
            case .makePublic: [open("readOnly")]
            case .joinByLink: [replica.request(.accept(link: publicLink))]
            case .makePrivate: [open("none")]
            case .stop: [replica.request(.stop(share: "Summer"))]
            case .shareAgain: [create(), invite("bob", "readWrite"), invite("carol", "readOnly")]
            }
        }

        /// Everybody's rounds until nothing happens.
        func settle(_ comment: Comment) throws { try #require(try village.settle(rounds: 90), comment) }

        /// The photos that somebody is shown of the share, by their content, and nothing that is no photo of it.
        func shown(_ person: Person) throws -> [String] {
            let replica = try replica(person)
            let isOwner = person == .alice || person == .laptop
            return replica.tree(isOwner ? .library : .shared)
                .filter { isOwner ? $0.key.hasPrefix("Summer/") : true }.values.sorted()
        }

        func tags(_ person: Person) throws -> Set<String> {
            let isOwner = person == .alice || person == .laptop
            let path = isOwner ? "Summer/a.jpg" : "alice/Summer/a.jpg"
            return Set(try replica(person).sidecar(path, isOwner ? .library : .shared)?.fields.tags ?? [])
        }

        /// Checks the table: who is shown what, and whose edit counts for whom.
        func check(_ table: [Person: Has], _ comment: Comment, number: Int) throws {
            for person in Person.allCases {
                let whole = table[person] == .nothing ? [] : ["aaa", "bbb"]
                #expect(try shown(person) == whole, "\(comment): \(person)")
            }
            for person in Person.allCases {
                let isOwner = person == .alice || person == .laptop
                let replica = try replica(person)
                let path = isOwner ? replica.path("Summer/a.jpg") : replica.path("alice/Summer/a.jpg", .shared)
                let tag = "\(person)\(number)"
                let reply = replica.request(.tag(path: path, titles: [tag], isMember: true))
                let wanted: Int32 = table[person] == .edits ? 0 : table[person] == .photos ? 12 : 10
                #expect(reply.code == wanted, "\(comment): \(person): \(reply)")
                if reply.code != 0 { #expect(!reply.lines.isEmpty && reply.remedy?.isEmpty == false) }
                if wanted == 0 { probes.insert(tag) }
            }
            try settle(comment)
            for person in Person.allCases where table[person] != .nothing {
                #expect(try tags(person) == probes, "\(comment): \(person)")
            }
            // Nobody's own photos were touched, and nobody has seen what was never shared.
            #expect(try replica(.alice).tree(.library)["Private/c.jpg"] == "ccc", comment)
            for person in [Person.bob, .carol, .dave, .erin] {
                #expect(try replica(person).tree(.library).isEmpty, "\(comment): \(person)")
            }
        }
    }

    @Test(arguments: Way.allCases)
    func `in each step of a share's life everybody has what the table says, and a step made twice is made once`(
        way: Way
    ) throws {
        let stage = try Stage(way)
        var before = Dictionary(uniqueKeysWithValues: Person.allCases.map { ($0, Has.nothing) })
        before[.alice] = .edits
        before[.laptop] = .edits
        var number = 0
        for step in Step.allCases {
            let comment: Comment = "\(way): after \(step)"
            for actor in stage.actors(step) {
                let replica = try stage.replica(actor)
                if way == .mountAway {
                    replica.machine.mount.attach(.missing)
                    let replies = try stage.perform(step, actor)
                    for reply in replies where reply.code != 0 {
                        #expect(!reply.lines.isEmpty && reply.remedy?.isEmpty == false, "\(comment): \(reply)")
                    }
                    if replies.contains(where: { $0.code != 0 }) {
                        // Nothing of it shows, here or anywhere.
                        try stage.village.pass(3)
                        for person in Person.allCases where stage.actors(step).count == 1 {
                            let whole = before[person] == .nothing ? [] : ["aaa", "bbb"]
                            #expect(try stage.shown(person) == whole, "\(comment), mount away: \(person)")
                        }
                    }
                    try replica.restart()
                    replica.machine.mount.mount()
                }
                let replies = try stage.perform(step, actor)
                // What was made without the mount is made; said again it is no news, or refused with a reason.
                if way != .mountAway { #expect(replies.allSatisfy { $0.code == 0 }, "\(comment): \(replies)") }
                if way != .alone { try stage.settle(comment) }
                let again = try stage.perform(step, actor)
                for reply in again where reply.code != 0 {
                    #expect(!reply.lines.isEmpty && reply.remedy?.isEmpty == false, "\(comment), twice: \(reply)")
                }
                if step != .create, step != .shareAgain, step != .stop {
                    #expect(again.allSatisfy { $0.code == 0 }, "\(comment), twice: \(again)")
                }
            }
            try stage.settle(comment)
            before = Self.table(after: step)
            number += 1
            try stage.check(before, comment, number: number)
        }
        // That a share ended is said until it is taken note of.
        for person in [Person.bob, .carol, .dave] {
            let replica = try stage.replica(person)
            #expect(replica.problems.map(\.code) == ["ended"], "\(way): \(person): \(replica.problems.map(\.key))")
            let old = try #require(replica.problems.first?.zone)
            #expect(replica.request(.leave(share: old.description, keepCopy: false)).code == 0)
        }
        for person in Person.allCases {
            let problems = try stage.replica(person).problems
            #expect(problems.isEmpty, "\(way): \(person): \(problems.map(\.message))")
        }
    }
}
