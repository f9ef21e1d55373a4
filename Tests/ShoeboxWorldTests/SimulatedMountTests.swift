import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Every knob of the simulated mount bites.
@Suite struct SimulatedMountTests {
    let world = SimulatedWorld(seed: 3)
    let ann: SimulatedMount
    let bob: SimulatedMount

    init() {
        ann = world.addMachine("ann").mount
        bob = world.addMachine("bob").mount
    }

    private func read(_ mount: SimulatedMount, _ name: String) throws -> [UInt8] {
        try mount.read(try mountPath(name), from: 0, maxBytes: 1_000)
    }

    @Test func `listings are late in both directions, but not for the writer`() throws {
        bob.behaviour.listingDelayMilliseconds = 1_000...1_000
        try ann.publish(try mountPath("d/a"), [1])
        #expect(code { _ = try bob.list(try mountPath("d")) } == .absent)
        #expect(try ann.list(try mountPath("d")) == ["a"])
        world.clock.advance(milliseconds: 1_000)
        #expect(try bob.list(try mountPath("d")) == ["a"])
        try ann.remove(try mountPath("d/a"))
        try ann.publish(try mountPath("d/b"), [2])
        #expect(try bob.list(try mountPath("d")) == ["a"])
        #expect(code { _ = try read(bob, "d/a") } == .absent)
        #expect(try read(bob, "d/b") == [2])
        world.clock.advance(milliseconds: 1_000)
        #expect(try bob.list(try mountPath("d")) == ["b"])
        bob.behaviour.listingDelayMilliseconds = 0...50_000
        // What was shown once is not taken back.
        for _ in 0..<20 { #expect(try bob.list(try mountPath("d")) == ["b"]) }
    }

    @Test func `a name asked for too early stays absent until its time or a listing`() throws {
        bob.behaviour.negativeLookupMilliseconds = 30_000
        #expect(code { _ = try read(bob, "a") } == .absent)
        try ann.publish(try mountPath("a"), [1])
        try ann.publish(try mountPath("b"), [2])
        #expect(code { _ = try read(bob, "a") } == .absent)
        #expect(try read(bob, "b") == [2])
        #expect(try bob.list(.root) == ["a", "b"])
        #expect(try read(bob, "a") == [1])

        #expect(code { _ = try read(bob, "zones/z/head") } == .absent)
        try ann.publish(try mountPath("zones/z/head"), [3])
        world.clock.advance(milliseconds: 29_999)
        #expect(code { _ = try read(bob, "zones/z/head") } == .absent)
        world.clock.advance(milliseconds: 1)
        #expect(try read(bob, "zones/z/head") == [3])
    }

    @Test func `a segment may show while its asset does not`() throws {
        bob.behaviour.visibilityDelayMilliseconds = [try mountPath("assets"): 5_000]
        try ann.publish(try mountPath("assets/ab/1"), [1])
        try ann.publish(try mountPath("zones/z/log/1"), [2])
        #expect(try read(bob, "zones/z/log/1") == [2])
        #expect(code { _ = try read(bob, "assets/ab/1") } == .absent)
        #expect(try read(ann, "assets/ab/1") == [1])
        world.clock.advance(milliseconds: 5_000)
        #expect(try read(bob, "assets/ab/1") == [1])
    }

    @Test func `a grown file is fresh, or late by as much as is told`() throws {
        let head = try mountPath("head")
        try ann.append(head, [1])
        #expect(try read(bob, "head") == [1])
        bob.behaviour.appendDelayMilliseconds = 1_000
        world.clock.advance(milliseconds: 1_000)
        try ann.append(head, [2])
        #expect(try read(bob, "head") == [1])
        #expect(try read(ann, "head") == [1, 2])
        world.clock.advance(milliseconds: 1_000)
        #expect(try read(bob, "head") == [1, 2])
    }

    @Test func `an empty or foreign directory is noticed by who knew the container`() throws {
        try ann.publish(try mountPath("a"), [1])
        let other = SimulatedMountStorage(clock: world.clock)
        ann.attach(.other(other))
        #expect(code { _ = try ann.list(.root) } == .offline)
        ann.reopen()
        #expect(try ann.list(.root) == [])
        ann.mount()
        #expect(code { _ = try ann.list(.root) } == .offline)
        ann.reopen()
        #expect(try read(ann, "a") == [1])
        other.rawWrite(try mountPath("container.json"), [9])
        ann.attach(.other(other))
        #expect(try ann.list(.root) == ["container.json"])
    }

    @Test func `a full storage takes nothing whole`() throws {
        world.storage.setCapacity(bytes: 3)
        try ann.publish(try mountPath("a"), [1, 2])
        #expect(code { try ann.publish(try mountPath("b"), [1, 2]) } == .full)
        #expect(world.storage.rawList(.root) == ["a"])
        #expect(code { try ann.append(try mountPath("h"), [1, 2]) } == .full)
        #expect(world.storage.rawRead(try mountPath("h")) == [1])
    }

    @Test func `a publish may have happened though it failed`() throws {
        // publish, write, rename
        ann.faults.set(.failAfter(.inputOutput), at: 2)
        #expect(code { try ann.publish(try mountPath("a"), [1]) } == .inputOutput)
        #expect(try read(bob, "a") == [1])
        ann.faults.set(.fail(.timedOut), after: 2)
        #expect(code { try ann.publish(try mountPath("b"), [1]) } == .timedOut)
        #expect(code { _ = try read(bob, "b") } == .absent)
    }

    @Test func `a writer that dies leaves a temporary file that no listing shows`() throws {
        ann.faults.set(.crashTorn(keeping: 1), at: 1)
        #expect(code { try ann.publish(try mountPath("a"), [1, 2]) } == .simulatedCrash)
        #expect(world.storage.rawList(.root) == [".tmp-ann-1"])
        #expect(world.storage.tree() == [".tmp-ann-1": [1]])
        #expect(try bob.list(.root) == [])
    }

    @Test(
        arguments: [(.vanishing, nil), (.emptying, []), (.tearing, [1, 2])]
            as [(
                SimulatedMountStorage.ServerLoss, [UInt8]?
            )])
    func `a crash of the server takes what was not synchronised`(
        loss: SimulatedMountStorage.ServerLoss, left: [UInt8]?
    ) throws {
        try ann.publish(try mountPath("kept"), [1])
        try ann.synchronize()
        try ann.publish(try mountPath("lost"), [1, 2, 3, 4])
        try ann.append(try mountPath("head"), [5])
        try bob.synchronize()
        world.storage.crashServer(loss)
        #expect(world.storage.rawRead(try mountPath("kept")) == [1])
        #expect(world.storage.rawRead(try mountPath("lost")) == left)
        #expect(world.storage.rawRead(try mountPath("head")) == [5])
    }

    @Test func `a restored storage has forgotten what came after`() throws {
        try ann.publish(try mountPath("a"), [1])
        let backup = world.storage.snapshot()
        try ann.publish(try mountPath("b"), [2])
        try ann.remove(try mountPath("a"))
        world.storage.restore(backup)
        #expect(world.storage.tree() == ["a": [1]])
        #expect(try bob.list(.root) == ["a"])
        try ann.publish(try mountPath("b"), [2])
        #expect(world.storage.violations.isEmpty)
    }

    @Test func `raw hands do anything`() throws {
        let storage = world.storage
        storage.rawWrite(try mountPath("d/a"), [1])
        try ann.append(try mountPath("d/b"), [1])
        storage.rawWrite(try mountPath("d/b"), [7, 8])
        #expect(try read(bob, "d/b") == [7, 8])
        #expect(storage.rawRename(try mountPath("d/a"), to: try mountPath("d/b")))
        #expect(!storage.rawRename(try mountPath("d/a"), to: try mountPath("d/b")))
        #expect(storage.rawList(try mountPath("d")) == ["b"])
        #expect(try read(bob, "d/b") == [1])
        storage.rawRemove(try mountPath("d"))
        #expect(code { _ = try bob.list(try mountPath("d")) } == .absent)
        #expect(storage.rawList(.root) == [])
    }

    @Test func `broken rules are reported by name`() throws {
        let (a, h) = (try mountPath("a"), try mountPath("h"))
        try ann.publish(a, [1])
        try ann.append(h, [1])
        #expect(code { try bob.publish(a, [1]) } == .exists)
        #expect(world.storage.violations.isEmpty)
        #expect(code { try bob.publish(a, [2]) } == .exists)
        try bob.append(h, [2])
        try bob.remove(a)
        try ann.publish(a, [1])
        bob.behaviour.reportsUnknownNames = true
        #expect(code { _ = try read(bob, "never") } == .absent)
        let rules = world.storage.violations.map(\.rule)
        #expect(rules == [.publishedOver, .appendedToForeign, .removedForeign, .reusedName, .askedForUnknown])
        #expect(world.storage.violations.first?.description == "bob broke publishedOver at 'a'")
    }
}
