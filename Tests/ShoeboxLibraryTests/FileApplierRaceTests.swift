import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// A user saves a file of the same name just before any of the calls that put ours in its place.
struct FileApplierRaceTests {
    private let record = RecordID(zone: ZoneID(Digest32(high: 1, low: 1)), name: RecordName(7))

    @Test(arguments: [false, true], [SimulatedDisk.Saving.inPlace, .replacing])
    func `what a user saves while a file is put in place is kept, and never noted as ours`(
        replaces: Bool, saving: SimulatedDisk.Saving
    ) throws {
        var number = 0
        while try !savedBefore(call: number, replaces: replaces, saving: saving) { number += 1 }
        #expect(number > 5)
    }

    @Test(arguments: [false, true])
    func `a file that is in its place, though the call said no, is known to be there`(replaces: Bool) throws {
        var number = 0
        while try !placedThoughFailing(call: number, replaces: replaces) { number += 1 }
        #expect(number > 5)
    }

    /// False while there was such a call.
    private func placedThoughFailing(call number: Int, replaces: Bool) throws -> Bool {
        let faults = SimulatedFaults()
        let clock = SimulatedClock()
        let disk = SimulatedDisk(clock: SimulatedMachineClock(clock), faults: faults)
        try disk.makeDirectories(OwnPaths.directory)
        if replaces { try disk.write("a.jpg", "before") }
        let replaced = try disk.stamp("a.jpg")
        let applier = applier(disk)
        let first = faults.operationCount
        faults.set(.failAfter(.inputOutput), at: first + number)
        let outcome = applier.apply(
            .write(
                record, at: RelativePath([try #require(FileName("a.jpg"))]),
                contentHash: ContentHasher.hash(Array("ours".utf8)), replacing: replaced))
        guard faults.operationCount > first + number else { return true }
        let isOurs = disk.tree()["a.jpg"] == Array("ours".utf8)
        if case .done(let noted) = outcome {
            #expect(try isOurs && noted == disk.stamp("a.jpg"), "call \(number)")
        } else {
            #expect(!isOurs || isLookedAtOnly(faults, call: first + number), "call \(number): \(outcome)")
        }
        #expect(disk.tree().values.contains(Array("before".utf8)) == replaces, "call \(number)")
        return false
    }

    /// Whether the call that failed only looked at what was in its place by then: nothing can be said of it now.
    private func isLookedAtOnly(_ faults: SimulatedFaults, call number: Int) -> Bool {
        faults.log.contains { $0.number == number && $0.name == "entry" }
    }

    @Test func `a move that was done, though the call said no, is done`() throws {
        let faults = SimulatedFaults()
        let disk = SimulatedDisk(clock: SimulatedMachineClock(SimulatedClock()), faults: faults)
        try disk.write("a.jpg", "ours")
        let applier = applier(disk)
        faults.set(.failAfter(.inputOutput), next: "rename")
        let (from, to) = (try #require(RelativePath("a.jpg")), try #require(RelativePath("b.jpg")))
        #expect(try applier.apply(.move(record, from: from, to: to)) == .done(disk.stamp("b.jpg")))
        #expect(try disk.text("b.jpg") == "ours")
        faults.set(.fail(.inputOutput), next: "rename")
        guard case .failed = applier.apply(.move(record, from: to, to: from)) else {
            Issue.record("nothing was moved")
            return
        }
    }

    /// An applier whose records all have this content.
    private func applier(_ disk: SimulatedDisk) -> FileApplier {
        let unique = Mutex<UInt8>(0)
        return FileApplier(
            disk.files, nowMilliseconds: { 1_700_000_000_000 },
            randomBytes: { count in
                let value = unique.withLock { unique in
                    unique += 1
                    return unique
                }
                return Array(repeating: value, count: count)
            },
            content: { _, _ in FileContent(modifiedNanoseconds: 7) { take in try take(Array("ours".utf8)) } },
            recordIntent: { _ in })
    }

    /// False while there was such a call.
    private func savedBefore(call number: Int, replaces: Bool, saving: SimulatedDisk.Saving) throws -> Bool {
        let faults = SimulatedFaults()
        let clock = SimulatedClock()
        let disk = SimulatedDisk(clock: SimulatedMachineClock(clock), faults: faults)
        try disk.makeDirectories(OwnPaths.directory)
        if replaces { try disk.write("a.jpg", "before") }
        let replaced = try disk.stamp("a.jpg")
        let hash = ContentHasher.hash(Array("ours".utf8))
        let applier = applier(disk)
        let first = faults.operationCount
        faults.run(at: first + number) {
            clock.advance(milliseconds: 10)
            try? disk.write("a.jpg", "the user's", saving: saving)
        }
        let outcome = applier.apply(
            .write(record, at: RelativePath([try #require(FileName("a.jpg"))]), contentHash: hash, replacing: replaced))
        guard faults.operationCount > first + number else { return true }

        #expect(disk.tree().values.contains(Array("the user's".utf8)), "before call \(number)")
        switch outcome {
        case .done(let noted):
            let isOurs = try disk.text("a.jpg") == "ours"
            let found = try #require(try disk.stamp("a.jpg"))
            #expect(try isOurs == #require(noted).isUnchanged(from: found), "before call \(number)")
        case .stale: #expect(try disk.text("a.jpg") == "the user's", "before call \(number)")
        case .failed(let error): Issue.record("before call \(number): \(error)")
        }
        return false
    }
}
