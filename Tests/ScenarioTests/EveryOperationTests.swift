import Foundation
import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Whatever operation fails or is the last before death, the deed ends as if nothing had happened.
@Suite struct EveryOperationTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// Every way in which each operation can fail; `make simulate THOROUGH=1` tries all of them.
    private static let isThorough = environment["SHOEBOX_THOROUGH"] != nil

    /// Else so many of a deed, those that change something more often than those that only look; half as many for a daemon
    /// that goes on.
    private static let samples = 8

    /// After how many operations of a process that was started again one of them fails, at most.
    private static let recoveryMax = 151

    /// All deeds, or those that `SHOEBOX_DEEDS` names.
    private static let deeds: [Deed] = {
        guard let names = environment["SHOEBOX_DEEDS"] else { return Deed.allCases }
        return names.split(separator: ",").compactMap { Deed(rawValue: String($0)) }
    }()

    @Test(arguments: deeds)
    func `whichever operation fails, it ends as if none had`(deed: Deed) throws {
        try tryAll(deed, isWatched: false)
    }

    /// Looking at everything, as after a start, heals much: a daemon that goes on looks only where its watcher saw something.
    @Test(arguments: deeds)
    func `whichever look fails once, a daemon that goes on needs no look at everything`(deed: Deed) throws {
        try tryAll(deed, isWatched: true)
    }

    private func tryAll(_ deed: Deed, isWatched: Bool) throws {
        let stage = try Stage(deed)
        stage.isWatched = isWatched
        // Once without: what it comes to, and what operations there are.
        let (operations, expected, kept) = try uneventful(stage)
        var cases = operations.enumerated().flatMap { number, operation in
            Mishap.kinds(of: operation).map { (number: number, mishap: $0, operation: operation) }
        }
        if isWatched {
            cases.removeAll { !["library", "shared"].contains($0.operation.part) || !Deed.isLook($0.operation.name) }
        }
        if let only = Self.environment["SHOEBOX_OPERATION"].flatMap({ Int($0) }) {
            cases.removeAll { $0.number != only }
        } else if isWatched, !Self.isThorough {
            cases = some(Self.samples / 2, of: cases, deed)
        } else if !Self.isThorough {
            let looks = cases.filter { Deed.isLook($0.operation.name) }
            let changes = cases.filter { !Deed.isLook($0.operation.name) }
            // What is stored in two steps by mistake shows only if the process dies at the one between them.
            let steps = deed == .copiedState ? changes.filter { $0.operation.part == "store" } : []
            cases =
                some(Self.samples / 4, of: looks, deed) + some(Self.samples * 3 / 4, of: changes, deed) + steps
        }
        for (number, mishap, operation) in cases {
            var comment: Comment = "\(mishap) at operation \(number) of \(deed): \(operation)"
            // Up to what fails it is the very same run: what keys are wrapped with, too.
            try SeededWrapping.run(seed: 1) {
                try stage.reset()
                let machine = stage.victimMachine
                // What users have written is on the disk by the time that the power fails.
                machine.synchronize()
                machine.faults.set(mishap.effect, after: number)
                let reply = try stage.begin()
                if reply == nil { machine.synchronize() }
                stage.rounds()
                let hasDied = machine.faults.isCrashed
                if hasDied, let loss = mishap.loss(at: number) { machine.powerCut(loss) }
                machine.faults.clear()
                // What failed in a process that goes on is seen by its memory, or by the next process: by turns one of both.
                let isReopened = hasDied || !isWatched && number.isMultiple(of: 2)
                if isReopened { try stage.restartVictim() }
                if hasDied, mishap == .powerCut {
                    // Nor need what is done after it work at once: one operation of that fails, and the process goes on.
                    let pause = number * 7 % Self.recoveryMax
                    let later = machine.faults.operationCount + pause
                    machine.faults.set(.fail(.inputOutput), after: pause)
                    stage.rounds()
                    if let failed = machine.faults.log.first(where: { $0.number == later }) {
                        comment = "\(comment), then \(failed)"
                    }
                    machine.faults.clear()
                }
                guard try stage.settle() else {
                    Issue.record("\(comment) does not come to rest: \(stage.describe())")
                    return
                }
                if let reply, reply.code != 0 || hasDied, try !stage.isDone() {
                    _ = stage.command()
                    #expect(try stage.settle(), comment)
                }
                if !isReopened, !isWatched { try stage.restartVictim() }
                let found = try stage.outcome()
                let difference = treeDifference(found.mapValues { Array($0.utf8) }, expected)
                if !difference.isEmpty, Self.environment["SHOEBOX_NARRATE"] != nil {
                    print("NARRATION", comment, stage.describe(lines: 40))
                    for replica in stage.village.replicas {
                        replica.narrate = { print($0) }
                        EngineSimulationNarrator(replica).tell(replica.machine.name)
                        replica.narrate = nil
                    }
                }
                #expect(difference == [], "\(comment)")
                #expect(kept.subtracting(stage.kept()) == [], comment)
            }
        }
        if Self.environment["SHOEBOX_NARRATE"] != nil {
            print(deed, expected.sorted { $0.key < $1.key }, kept.sorted())
            for operation in operations { print(operation.number, operation.described) }
            print(stage.describe(lines: 80))
        }
        if Self.isThorough { print("\(deed): \(operations.count) operations, \(cases.count) runs") }
    }

    @Test func `the same deed done again is the same, call by call`() throws {
        let stage = try Stage(.moving)
        let first = try uneventful(stage)
        let second = try uneventful(stage)
        for (one, other) in zip(first.operations, second.operations) {
            try #require(one.described == other.described, "operation \(one.number)")
        }
        #expect(first.operations.count == second.operations.count)
        #expect(first.outcome == second.outcome)
    }

    /// Does it with nothing failing: each call that was made, what users see at the end, and the contents on disks.
    private func uneventful(
        _ stage: Stage
    ) throws -> (operations: [SimulatedFaults.Operation], outcome: [String: String], kept: Set<String>) {
        try SeededWrapping.run(seed: 1) { try run(stage) }
    }

    private func run(
        _ stage: Stage
    ) throws -> (operations: [SimulatedFaults.Operation], outcome: [String: String], kept: Set<String>) {
        try stage.reset()
        let faults = stage.victimMachine.faults
        let first = faults.operationCount
        if let reply = try stage.begin() { try #require(reply.code == 0, "\(stage.deed): \(reply)") }
        stage.rounds()
        let operations = faults.log.filter { $0.number >= first }
        try #require(operations.count == faults.operationCount - first, "the log is too short")
        try #require(try stage.settle(), "\(stage.deed) does not come to rest: \(stage.describe())")
        stage.resolved = stage.alice.sidecar("Summer/a.jpg", .library)?.fields.caption ?? ""
        return (operations, try stage.outcome(), stage.kept())
    }

    /// So many of a list, evenly spread; each deed begins elsewhere.
    private func some<T>(_ count: Int, of list: [T], _ deed: Deed) -> [T] {
        guard list.count > count, count > 0 else { return list }
        return (0..<count).map { list[($0 * list.count + deed.number % list.count) / count % list.count] }
    }
}

extension SimulatedFaults.Operation {
    /// Without its number and without those of temporary files.
    fileprivate var described: String {
        "\(part) \(name) \(path.split(separator: "/").filter { !$0.hasPrefix(".tmp-") }) \(result ?? "")"
    }
}

extension SimulatedMachine {
    /// Makes durable what is on the disks.
    fileprivate func synchronize() {
        for disk in [library, shared] { disk.synchronize() }
    }
}
