import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A replica that keeps a set of all files ever seen under one name each, in the container and in each library: enough
/// to try the simulation out. Its defects are chosen.
private final class UnionReplica: SimulatedReplica {
    enum Defect: Hashable { case none, neverApplies, losesFiles, publishesOver, neverQuiet, tellsAll }

    let machine: SimulatedMachine
    let defect: Defect
    var known: Set<[UInt8]> = []

    init(_ machine: SimulatedMachine, _ defect: Defect) {
        self.machine = machine
        self.defect = defect
    }

    func syncRound() throws -> Bool {
        let world = machine.world
        var changed = defect == .neverQuiet
        if defect == .losesFiles, let path = RelativePath("IMG_1.jpg"), try world.library.entry(at: path) != nil {
            try world.library.removeFile(path)
        }
        if defect == .publishesOver, let path = MountPath("head") {
            do { try world.mount.publish(path, Array(machine.name.utf8)) } catch {}
        }
        // An empty directory may be in the container's place.
        guard let marker = MountPath("marker"), try !world.mount.read(marker, from: 0, maxBytes: 1).isEmpty else {
            return changed
        }
        // What is found is published under its own bytes' name; what is published is known.
        for (_, bytes) in machine.library.tree(without: ".") {
            guard let path = MountPath("all/\(name(bytes))") else { continue }
            guard machine.mount.storage.rawRead(path) == nil else { continue }
            do {
                try world.mount.publish(path, bytes)
            } catch {
                guard error.code == .exists else { throw error }
            }
            changed = true
        }
        try world.mount.synchronize()
        guard defect != .neverApplies else { return changed }
        for (path, bytes) in machine.mount.storage.tree() where path.hasPrefix("all/") && !path.contains(".tmp-") {
            if known.insert(bytes).inserted { changed = true }
        }
        return changed
    }

    /// What lies in the folder `Lake` of a library is shared.
    var sharing: SimulationSharing {
        var result = SimulationSharing()
        result.places["library/Lake"] = .init(shares: ["lake"], record: "lake")
        return result
    }
    func told(isPublished: Bool) -> [String: Set<[UInt8]>] {
        let shared = machine.library.tree().filter { $0.key.hasPrefix("Lake/") }.values
        let told = defect == .tellsAll ? known : Set(shared)
        let captions = told.compactMap { bytes -> [UInt8]? in
            guard case .string(let text)? = (try? JSONText.parse(bytes))?.object?["caption"] else { return nil }
            return Array(text.utf8)
        }
        return ["lake": told.union(captions)]
    }

    func crash() { known = [] }
    func restart() throws {}
    func findContent(_ entry: SimulationLedger.Entry) -> Bool {
        known.contains { $0 == entry.bytes || (entry.kind != .content && contains($0, entry.bytes)) }
    }
    var trees: [String: [String: [UInt8]]] {
        ["all": Dictionary(known.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })]
    }

    private func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
        guard bytes.count >= word.count else { return false }
        return (0...bytes.count - word.count).contains { bytes[$0..<$0 + word.count].elementsEqual(word) }
    }

    private func name(_ bytes: [UInt8]) -> String {
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}

@Suite struct SimulationTests {
    private func setup(_ defect: UnionReplica.Defect = .none) -> SimulationSetup {
        SimulationSetup(
            machines: ["ann", "bob", "cyd"], healingRoundsMax: 10, makeReplica: { UnionReplica($0, defect) },
            prepare: { simulation in
                guard let marker = MountPath("marker") else { return }
                try simulation.machine(0).world.mount.publish(marker, Array("container".utf8))
                try simulation.machine(0).world.mount.synchronize()
            })
    }

    @Test(arguments: 0..<30 as Range<UInt64>)
    func `a replica that keeps everything passes`(seed: UInt64) {
        let script = SimulationScript(seed: seed, machines: 3, steps: 60)
        #expect(Simulation.failures(of: script, setup: setup()) == [])
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `the same seed gives the same run`(seed: UInt64) throws {
        func run() throws -> ([String: [UInt8]], [SimulationLedger.Entry], [String]) {
            let simulation = try Simulation(seed: seed, setup: setup())
            simulation.run(SimulationScript(seed: seed, machines: 3, steps: 80).steps)
            let machine = simulation.machine(0)
            return (machine.library.tree(), simulation.ledger.entries, machine.faults.log.map(\.name))
        }
        let (first, second) = (try run(), try run())
        #expect(first.0 == second.0)
        #expect(first.1 == second.1)
        #expect(first.2.filter { $0 != "publish" } == second.2.filter { $0 != "publish" })
        #expect(
            SimulationScript(seed: seed, machines: 3, steps: 80) != SimulationScript(seed: 99, machines: 3, steps: 80))
    }

    @Test func `replicas that differ are named with what differs`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([.user(machine: 0, root: .library, .write(folder: 0, name: 0, bytes: 4)), .sync(machine: 0)])
        simulation.check()
        #expect(simulation.failures.contains("all: bob differs from ann:"))
        simulation.heal()
    }

    @Test func `an overwritten content that nobody was shown is lost, and said to be`() throws {
        // bob's engine removes ann's photo from her library without having taken it.
        let simulation = try Simulation(seed: 1, setup: setup(.neverApplies))
        simulation.run([.user(machine: 0, root: .library, .write(folder: 0, name: 1, bytes: 4))])
        #expect(simulation.lostEntries.isEmpty)
        try simulation.machine(0).library.delete("IMG_1.jpg")
        #expect(simulation.lostEntries.map(\.path.description) == ["IMG_1.jpg"])
        simulation.check()
        #expect(simulation.failures.count == 1)
    }

    @Test func `what a user deletes is waived, what is moved or copied is not`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        func user(_ act: SimulationStep.Act) { simulation.run([.user(machine: 0, root: .library, act)]) }
        user(.write(folder: 0, name: 1, bytes: 4))
        user(.caption(file: 0))
        user(.tag(file: 0))
        user(.makeFolder(in: 0, name: 0))
        user(.move(file: 0, folder: 1))
        #expect(simulation.ledger.required.map(\.kind) == [.content, .caption, .tag])
        #expect(Set(simulation.machine(0).library.tree().keys) == ["Lake/IMG_1.jpg", "IMG_1.jpg.json"])
        user(.copy(file: 0, name: 2))
        user(.delete(file: 0))
        #expect(simulation.ledger.required.count == 3)
        user(.overwrite(file: 0, .replacing, bytes: 9))
        #expect(simulation.ledger.required.map(\.kind) == [.caption, .tag, .content])
        #expect(simulation.ledger.entries.first?.waivedInStep != nil)
    }

    @Test(arguments: [UnionReplica.Defect.none, .tellsAll])
    private func `what is told in a share and never lay there is named; what was moved there is not`(
        defect: UnionReplica.Defect
    ) throws {
        let simulation = try Simulation(seed: 1, setup: setup(defect))
        func user(_ act: SimulationStep.Act) { simulation.run([.user(machine: 0, root: .library, act)]) }
        user(.makeFolder(in: 0, name: 0))
        user(.write(folder: 0, name: 1, bytes: 4))
        user(.caption(file: 0))
        simulation.run([.sync(machine: 0)])
        user(.caption(file: 0))
        user(.overwriteMoved(file: 0, folder: 1, .replacing, isBefore: true, bytes: 9))
        simulation.run([.sync(machine: 0)])
        #expect(simulation.machine(0).library.tree().keys.sorted() == ["Lake/IMG_1.jpg", "Lake/IMG_1.jpg.json"])
        simulation.check()
        let told = simulation.failures.filter { $0.hasPrefix("told in share lake") }
        #expect(told.count == (defect == .tellsAll ? 2 : 0), "\(simulation.failures)")
        for (kind, step) in [("content", 1), ("caption", 2)] where defect == .tellsAll {
            #expect(told.contains { $0.contains(": \(kind) ") && $0.contains("in step \(step) ") }, "\(told)")
        }
    }

    @Test func `an open file counts when it is closed`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([.user(machine: 0, root: .library, .beginWriting(folder: 0, name: 1, bytes: 4))])
        #expect(simulation.ledger.entries.isEmpty)
        #expect(simulation.machine(0).library.files.hasWriter(try path("IMG_1.jpg")))
        simulation.run([.user(machine: 0, root: .library, .endWriting)])
        #expect(simulation.ledger.entries.map(\.bytes) == [try simulation.machine(0).library.read("IMG_1.jpg")])
    }

    @Test func `a broken sidecar keeps its words`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([
            .user(machine: 0, root: .library, .write(folder: 0, name: 1, bytes: 4)),
            .user(machine: 0, root: .library, .caption(file: 0)),
            .user(machine: 0, root: .library, .breakSidecar(file: 0)),
        ])
        let text = try simulation.machine(0).library.text("IMG_1.jpg.json")
        #expect(throws: JSONTextError.self) { try JSONText.parse(text) }
        #expect(simulation.ledger.required.count == 2)
        #expect(simulation.lostEntries.isEmpty)
    }

    @Test func `a user can act in the middle of a round`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([
            .user(machine: 0, root: .library, .write(folder: 0, name: 1, bytes: 4)),
            .userDuring(machine: 0, afterCalls: 1, root: .library, .write(folder: 0, name: 2, bytes: 4)),
        ])
        #expect(simulation.ledger.entries.count == 1)
        simulation.run([.sync(machine: 0)])
        #expect(simulation.ledger.entries.count == 2)
    }

    @Test func `a replica that never comes to rest fails`() {
        let script = SimulationScript(seed: 1, machines: 3, steps: 3, profile: .calm)
        let failures = Simulation.failures(of: script, setup: setup(.neverQuiet))
        #expect(failures == ["after 10 rounds of healing something is still pending"])
    }

    @Test func `a crash at a call is followed by a restart`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([
            .user(machine: 0, root: .library, .write(folder: 0, name: 1, bytes: 4)),
            .fault(machine: 0, .call(after: 1, .crash)), .sync(machine: 0),
        ])
        #expect(simulation.machine(0).faults.isCrashed)
        simulation.run([.sync(machine: 0)])
        #expect(!simulation.machine(0).faults.isCrashed)
        #expect(simulation.world.storage.tree().keys.contains { !$0.contains(".tmp-") })
    }

    @Test func `an engine that loses files is found, and the script shrunk to why`() throws {
        let found = (0..<20 as Range<UInt64>).first { seed in
            let script = SimulationScript(seed: seed, machines: 3, steps: 40)
            return !Simulation.failures(of: script, setup: setup(.losesFiles)).isEmpty
        }
        let script = SimulationScript(seed: try #require(found), machines: 3, steps: 40)
        let failures = Simulation.shrunkFailures(of: script, setup: setup(.losesFiles))
        #expect(failures.first?.hasPrefix("lost: content") == true)
        let lines = try #require(failures.last).split(separator: "\n")
        #expect(lines.prefix(2) == ["with SimulationScript(", "    seed: \(script.seed),"])
        #expect(lines.count <= 7)
    }

    @Test func `a step is printed as the Swift that makes it`() {
        let steps: [(SimulationStep, String)] = [
            (
                .user(machine: 0, root: .shared, .overwrite(file: 3, .replacing, bytes: 9)),
                ".user(machine: 0, root: .shared, .overwrite(file: 3, .replacing, bytes: 9))"
            ),
            (
                .fault(machine: 2, .next("rename", .failAfter(.inputOutput))),
                ".fault(machine: 2, .next(\"rename\", .failAfter(FileError.Code(rawValue: \"inputOutput\"))))"
            ),
            (.fault(machine: 1, .room(.library, bytes: 4)), ".fault(machine: 1, .room(.library, bytes: Optional(4)))"),
            (
                .command(machine: 1, root: .library, .invite(share: 1, account: 2, .readOnly)),
                ".command(machine: 1, root: .library, .invite(share: 1, account: 2, .readOnly))"
            ),
        ]
        for (step, text) in steps { #expect(step.swiftText == text) }
    }

    @Test func `an engine that breaks the mount's contract is found, unless that is allowed`() {
        let script = SimulationScript(seed: 1, machines: 2, steps: 0)
        var setup = setup(.publishesOver)
        #expect(
            Simulation.failures(of: script, setup: setup).first == "contract: bob broke publishedOver at 'head'")
        setup.allowedViolations = [.publishedOver]
        #expect(Simulation.failures(of: script, setup: setup) == [])
    }

    @Test func `settling stops when all is quiet, or says that it never is`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        simulation.run([.user(machine: 0, root: .library, .write(folder: 0, name: 1, bytes: 4))])
        try simulation.settle()
        #expect(simulation.replicas.allSatisfy { $0.trees["all"]?.count == 1 })
        let restless = try Simulation(seed: 1, setup: setup(.neverQuiet))
        #expect(throws: SimulationUnsettled.self) { try restless.settle() }
    }

    @Test func `a backup of the storage comes back`() throws {
        let simulation = try Simulation(seed: 1, setup: setup())
        let write = { SimulationStep.user(machine: 0, root: .library, .write(folder: 0, name: $0, bytes: 4)) }
        func count() -> Int { simulation.world.storage.tree().keys.count { $0.hasPrefix("all/") } }
        simulation.run([.restoreStorage, write(1), .sync(machine: 0), .backUpStorage, write(2), .sync(machine: 0)])
        #expect(count() == 2)
        simulation.run([.restoreStorage])
        #expect(count() == 1)
        simulation.heal()
        simulation.check()
        #expect(simulation.failures == [])
        #expect(count() == 2)
    }

    @Test func `shrinking finds the two steps that matter`() {
        let culprits: [SimulationStep] = [.fault(machine: 1, .kill), .fault(machine: 2, .unmountContainer)]
        var script = SimulationScript(seed: 5, machines: 3, steps: 60, profile: .calm)
        script.steps.insert(culprits[0], at: 17)
        script.steps.insert(culprits[1], at: 44)
        script.steps = shrink(script.steps) { candidate in culprits.allSatisfy(candidate.contains) }
        #expect(script.steps == culprits)
        #expect(
            script.description == """
                SimulationScript(
                    seed: 5,
                    steps: [
                        .fault(machine: 1, .kill),
                        .fault(machine: 2, .unmountContainer),
                    ])
                """)
    }

    @Test func `tree differences name what is missing, unexpected and other`() {
        let actual: [String: [UInt8]] = ["a": [0], "b": Array("two".utf8), "c": Array("same".utf8)]
        let lines = treeDifference(actual, ["b": "zwei", "c": "same", "d": "new"])
        #expect(lines == ["+ a: 00", "~ b: expected \"zwei\", found \"two\"", "- d: \"new\""])
        #expect(treeDifference(actual, actual) == [])
        #expect(describeBytes(Array("lake".utf8), limit: 2) == "\"la\"… (4 bytes)")
    }
}
