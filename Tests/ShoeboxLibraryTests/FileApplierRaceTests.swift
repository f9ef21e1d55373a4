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

    /// False while there was such a call.
    private func savedBefore(call number: Int, replaces: Bool, saving: SimulatedDisk.Saving) throws -> Bool {
        let faults = SimulatedFaults()
        let clock = SimulatedClock()
        let disk = SimulatedDisk(clock: SimulatedMachineClock(clock), faults: faults)
        try disk.makeDirectories(OwnPaths.directory)
        if replaces { try disk.write("a.jpg", "before") }
        let replaced = try disk.stamp("a.jpg")
        let hash = ContentHasher.hash(Array("ours".utf8))
        var unique: UInt8 = 0
        let applier = FileApplier(
            disk.files, nowMilliseconds: { 1_700_000_000_000 },
            randomBytes: { count in
                unique += 1
                return Array(repeating: unique, count: count)
            },
            content: { _, _ in FileContent(modifiedNanoseconds: 7) { take in try take(Array("ours".utf8)) } },
            recordIntent: { _ in })
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
