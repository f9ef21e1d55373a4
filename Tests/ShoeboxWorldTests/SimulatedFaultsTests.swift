import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Every effect of `SimulatedFaults` bites, at the call it was set for.
@Suite struct SimulatedFaultsTests {
    let machine = SimulatedWorld(seed: 1).addMachine("ann")

    @Test func `calls are counted and logged over all parts, with what came of them`() throws {
        let world = machine.world
        try world.library.makeDirectory(try path("d"))
        _ = try world.shared.list(.root)
        try world.mount.append(try mountPath("h"), [1])
        #expect(code { _ = try world.library.list(try path("none")) } == .absent)
        #expect(
            machine.faults.log.map(\.description) == [
                "0 library makeDirectory d", "1 shared list : 0", "2 mount append h", "3 library list none: absent",
            ])
        #expect(machine.faults.operationCount == 4)
    }

    @Test func `a failing call does nothing, one that fails after has happened`() throws {
        let files = machine.library.files
        machine.faults.set(.fail(.inputOutput), at: 0)
        machine.faults.set(.failAfter(.timedOut), after: 1)
        #expect(code { try files.makeDirectory(try path("a")) } == .inputOutput)
        #expect(code { try files.makeDirectory(try path("b")) } == .timedOut)
        #expect(try files.list(.root).map(\.name.description) == ["b"])
    }

    @Test(arguments: [(SimulatedFaults.Effect.crash, 0), (.crashAfter, 3), (.crashTorn(keeping: 2), 2)])
    func `a crash leaves nothing, all or a part, and stays until the restart`(
        effect: SimulatedFaults.Effect, expected: Int
    ) throws {
        let file = try machine.library.files.create(try path("a"))
        machine.faults.set(effect, after: 0)
        #expect(code { try file.write([1, 2, 3]) } == .simulatedCrash)
        #expect(try machine.library.read("a").count == expected)
        #expect(code { _ = try machine.mount.list(.root) } == .simulatedCrash)
        #expect(machine.faults.isCrashed)
        machine.restart()
        #expect(try machine.mount.list(.root).isEmpty)
        #expect(machine.faults.crashCount == 1)
    }

    @Test func `a torn append leaves a prefix`() throws {
        let head = try mountPath("h")
        try machine.mount.append(head, [1])
        machine.faults.set(.torn(keeping: 2, .inputOutput), after: 0)
        #expect(code { try machine.mount.append(head, [2, 3, 4]) } == .inputOutput)
        #expect(machine.mount.storage.rawRead(head) == [1, 2, 3])
    }

    @Test func `a rule sees each call, a hook runs before its own`() throws {
        let seen = Mutex<[String]>([])
        machine.faults.run(at: 1) {
            seen.withLock { $0.append("hook at \(machine.library.tree().count)") }
            try? machine.library.write("b", "by the user")
        }
        machine.faults.setRule { $0.name == "list" ? .fail(.denied) : nil }
        _ = try machine.library.files.create(try path("a"))
        #expect(try machine.library.files.entry(at: try path("b")) != nil)
        #expect(code { _ = try machine.library.files.list(.root) } == .denied)
        machine.faults.clear()
        #expect(try machine.library.files.list(.root).count == 2)
        #expect(seen.withLock { $0 } == ["hook at 1"])
    }

    @Test func `failing each call in turn ends when the scenario needs no more`() throws {
        var number = 0
        while true {
            let machine = SimulatedWorld(seed: 1).addMachine("ann")
            machine.faults.set(.crash, at: number)
            let failed = code {
                try machine.library.files.makeDirectory(try path("d"))
                try machine.mount.publish(try mountPath("a"), [1])
            }
            guard failed != nil else { break }
            machine.restart()
            #expect(machine.mount.storage.rawRead(try mountPath("a")) == nil)
            number += 1
        }
        // makeDirectory; publish, write, rename.
        #expect(number == 4)
    }

    @Test func `a power cut changes the boot, a kill does not`() throws {
        let boot = machine.bootID
        machine.kill()
        machine.restart()
        #expect(machine.bootID == boot)
        machine.clock.trueTime.advance(milliseconds: 500)
        #expect(machine.world.uptimeMilliseconds() == 500)
        machine.powerCut(.losingEverything)
        #expect(code { _ = try machine.library.files.list(.root) } == .simulatedCrash)
        machine.restart()
        #expect(machine.bootID != boot)
        #expect(machine.world.uptimeMilliseconds() == 0)
    }

    @Test func `clocks of machines differ and step, uptimes do not`() {
        let world = SimulatedWorld(seed: 1)
        let (ann, bob) = (world.addMachine("ann"), world.addMachine("bob", skewMilliseconds: -3_000))
        #expect(ann.world.nowMilliseconds() - bob.world.nowMilliseconds() == 3_000)
        bob.clock.step(milliseconds: 10_000)
        world.clock.advance(milliseconds: 5)
        #expect(bob.world.nowMilliseconds() - ann.world.nowMilliseconds() == 7_000)
        #expect(bob.world.uptimeMilliseconds() == 5)
        bob.clock.setSkew(milliseconds: .min)
        #expect(bob.world.nowMilliseconds() == 0)
    }

    @Test func `random bytes follow the seed and the machine's name`() {
        func bytes(_ seed: UInt64, _ name: String) -> [UInt8] {
            SimulatedWorld(seed: seed).addMachine(name).world.randomBytes(16)
        }
        #expect(bytes(1, "ann") == bytes(1, "ann"))
        #expect(bytes(1, "ann") != bytes(2, "ann"))
        #expect(bytes(1, "ann") != bytes(1, "bob"))
        let world = machine.world
        #expect(world.randomBytes(16) != world.randomBytes(16))
    }
}
