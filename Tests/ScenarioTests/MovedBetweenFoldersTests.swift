import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

/// Photos that are moved between the own library and somebody else's share keep what is said of each of them apart, whatever
/// takes the names that they had.
@Suite struct MovedBetweenFoldersTests {
    enum Story: CaseIterable {
        /// A photo is moved out of the share, and a new one takes its name.
        case newAfterMovingOut
        /// A photo is moved into the share, and a new one takes its name in the library.
        case newAfterMovingIn
        /// A photo is moved into the share, and another one of the library is given its name.
        case renamedAfterMovingIn
        case swapped
        /// As the first two, and an editor saves what was moved before anybody looks.
        case savedAfterMovingOut
        case savedAfterMovingIn
        case swappedAndSaved
        /// As the second, into a folder that is renamed as soon as the photo is known in it.
        case folderRenamedAfterMovingIn
    }

    /// What is moved is moved with its sidecar, or without.
    private struct Mover {
        let library: SimulatedDisk
        let shared: SimulatedDisk
        let withSidecars: Bool

        func move(_ source: String, _ from: SimulatedDisk, _ target: String, _ to: SimulatedDisk) throws {
            for suffix in withSidecars ? ["", ".json"] : [""] {
                if from === to {
                    try from.move(source + suffix, to: target + suffix)
                } else {
                    try from.move(source + suffix, to: target + suffix, on: to)
                }
            }
        }
    }

    private struct Seen: Equatable {
        let bytes: String
        let caption: String?
        init(_ bytes: String, _ caption: String? = nil) { (self.bytes, self.caption) = (bytes, caption) }
    }

    private func seen(_ replica: Replica, _ root: RootKind) -> [String: Seen] {
        var result: [String: Seen] = [:]
        for (path, bytes) in replica.tree(root) {
            result[path] = Seen(bytes, replica.sidecar(path, root)?.fields.caption)
        }
        return result
    }

    private static let folder = "alice/One"

    /// What is in the share and in the library afterwards.
    ///
    /// - Parameter look: lets the engine look at what was done so far.
    private func play(
        _ story: Story, _ mover: Mover, look: () throws -> Void
    ) throws -> (share: [String: Seen], library: [String: Seen]) {
        let folder = Self.folder
        let (library, shared) = (mover.library, mover.shared)
        // The captions of what is moved by itself are those of another zone's record.
        let (theirs, mine) = mover.withSidecars ? ("theirs", "mine") : (nil, nil)
        switch story {
        case .newAfterMovingOut, .savedAfterMovingOut:
            try mover.move("\(folder)/a.jpg", shared, "o.jpg", library)
            if story == .savedAfterMovingOut { try library.write("o.jpg", "saved", saving: .replacing) }
            try shared.write("\(folder)/a.jpg", "new")
            let moved = Seen(story == .savedAfterMovingOut ? "saved" : "shared", theirs)
            return (
                ["a.jpg": Seen("new")],
                ["o.jpg": moved, "m.jpg": Seen("own", "mine"), "p.jpg": Seen("private", "secret")]
            )
        case .newAfterMovingIn, .savedAfterMovingIn:
            try mover.move("m.jpg", library, "\(folder)/in.jpg", shared)
            if story == .savedAfterMovingIn { try shared.write("\(folder)/in.jpg", "saved", saving: .replacing) }
            try library.write("m.jpg", "new")
            let moved = Seen(story == .savedAfterMovingIn ? "saved" : "own", mine)
            return (
                ["a.jpg": Seen("shared", "theirs"), "in.jpg": moved],
                ["m.jpg": Seen("new"), "p.jpg": Seen("private", "secret")]
            )
        case .folderRenamedAfterMovingIn:
            try mover.move("m.jpg", library, "\(folder)/d/in.jpg", shared)
            try look()
            try shared.move("\(folder)/d", to: "\(folder)/D")
            try library.write("m.jpg", "new")
            return (
                ["a.jpg": Seen("shared", "theirs"), "D/in.jpg": Seen("own", mine)],
                ["m.jpg": Seen("new"), "p.jpg": Seen("private", "secret")]
            )
        case .renamedAfterMovingIn:
            try mover.move("m.jpg", library, "\(folder)/in.jpg", shared)
            try mover.move("p.jpg", library, "m.jpg", library)
            return (
                ["a.jpg": Seen("shared", "theirs"), "in.jpg": Seen("own", mine)], ["m.jpg": Seen("private", "secret")]
            )
        case .swapped, .swappedAndSaved:
            try mover.move("\(folder)/a.jpg", shared, "aside.jpg", library)
            try mover.move("m.jpg", library, "\(folder)/a.jpg", shared)
            try mover.move("aside.jpg", library, "m.jpg", library)
            if story == .swappedAndSaved { try library.write("m.jpg", "saved", saving: .replacing) }
            let moved = Seen(story == .swappedAndSaved ? "saved" : "shared", theirs)
            return (["a.jpg": Seen("own", mine)], ["m.jpg": moved, "p.jpg": Seen("private", "secret")])
        }
    }

    private func share(
        with permission: String
    ) throws -> (village: Village, alice: Replica, second: Replica, bob: Replica) {
        let (village, alice, second) = try Village.twoDevices(["One/a.jpg": "shared"], others: ["bob"])
        let bob = village.replicas[1]
        try bob.machine.library.write("m.jpg", "own")
        try bob.machine.library.write("p.jpg", "private")
        try #require(try village.settle())
        try #require(alice.request(.caption(path: alice.path("One/a.jpg"), text: "theirs")).code == 0)
        try #require(bob.request(.caption(path: bob.path("m.jpg"), text: "mine")).code == 0)
        try #require(bob.request(.caption(path: bob.path("p.jpg"), text: "secret")).code == 0)
        let made = alice.request(
            .shareCreate(paths: [alice.path("One")], title: "One", publicPermission: "none", isSealed: true))
        try #require(alice.request(.invite(share: "One", accounts: ["bob"], permission: permission)).code == 0)
        try #require(bob.request(.accept(link: made.values["link"] ?? "")).code == 0)
        try #require(try village.settle())
        _ = (bob.machine.library.takeDirty(), bob.machine.shared.takeDirty())
        return (village, alice, second, bob)
    }

    @Test func `what a reader puts in the place of a shared photo is kept with all that is said of it`() throws {
        let (village, alice, _, bob) = try share(with: "readOnly")
        let (library, shared) = (bob.machine.library, bob.machine.shared)
        let mover = Mover(library: library, shared: shared, withSidecars: true)
        try mover.move("\(Self.folder)/a.jpg", shared, "o.jpg", library)
        try mover.move("m.jpg", library, "\(Self.folder)/a.jpg", shared)
        for milliseconds: UInt64 in [100, 1_000] {
            for _ in 0..<60 {
                for replica in village.replicas { try replica.round() }
                village.world.clock.advance(milliseconds: milliseconds)
            }
        }
        #expect(
            seen(bob, .library) == [
                "o.jpg": Seen("shared", "theirs"), "p.jpg": Seen("private", "secret"),
                "Private copies of One/a.jpg": Seen("own", "mine"),
            ])
        #expect(seen(bob, .shared) == ["\(Self.folder)/a.jpg": Seen("shared", "theirs")])
        #expect(seen(alice, .library) == ["One/a.jpg": Seen("shared", "theirs")])
    }

    @Test(arguments: Story.allCases, [(true, true), (true, false), (false, true), (false, false)])
    func `captions stay with their photos when these are moved into or out of somebody else's share`(
        story: Story, how: (withSidecars: Bool, isWatched: Bool)
    ) throws {
        // Of what was moved without its sidecar and saved, nothing tells where it came from.
        guard how.withSidecars || ![.savedAfterMovingOut, .savedAfterMovingIn, .swappedAndSaved].contains(story) else {
            return
        }
        let (village, alice, second, bob) = try share(with: "readWrite")
        let (library, shared) = (bob.machine.library, bob.machine.shared)
        let mover = Mover(library: library, shared: shared, withSidecars: how.withSidecars)
        func look() throws {
            try bob.round(
                how.isWatched ? .directories([.library: library.takeDirty(), .shared: shared.takeDirty()]) : .all)
            village.world.clock.advance(milliseconds: 150)
        }
        let wanted = try play(story, mover, look: look)
        for _ in 0..<60 { try look() }
        for _ in 0..<40 {
            for replica in village.replicas { try replica.round() }
            village.world.clock.advance(milliseconds: 1_500)
        }

        let share = Dictionary(uniqueKeysWithValues: wanted.share.map { ("\(Self.folder)/\($0.key)", $0.value) })
        #expect(seen(bob, .library) == wanted.library)
        #expect(seen(bob, .shared) == share)
        for replica in [alice, second] {
            #expect(
                seen(replica, .library)
                    == Dictionary(uniqueKeysWithValues: wanted.share.map { ("One/\($0.key)", $0.value) }))
        }
        #expect(bob.problems.map(\.message) == [])
    }
}
