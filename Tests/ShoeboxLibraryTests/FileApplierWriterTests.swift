import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Another program has a file open for writing, and has changed nothing yet.
struct FileApplierWriterTests {
    enum Deed: CaseIterable { case write, put, remove, trash }

    private let record = RecordID(zone: ZoneID(Digest32(high: 1, low: 1)), name: RecordName(7))

    @Test(arguments: Deed.allCases)
    func `what is open for writing in another program stays until it is closed`(deed: Deed) throws {
        let disk = try makeDisk(faults: SimulatedFaults())
        let applier = applier(disk)
        let seen = try #require(try disk.stamp("a.jpg"))
        try disk.openForWriting("a.jpg")
        let held = try apply(deed, applier, expecting: seen)
        #expect(held == .stale("'a.jpg' is open for writing in another program"))
        #expect(disk.tree(without: ".shoebox") == ["a.jpg": Array("before".utf8)])
        try disk.continueWriting("a.jpg", Array(" and after".utf8))
        try disk.endWriting("a.jpg")
        #expect(try disk.text("a.jpg") == "before and after")

        let written = try #require(try disk.stamp("a.jpg"))
        guard case .done = try apply(deed, applier, expecting: written) else {
            Issue.record("it is closed")
            return
        }
        #expect(try disk.stamp("a.jpg") != written)
    }

    @Test(arguments: Deed.allCases)
    func `what is opened for writing while it is replaced or removed is written where its program has it`(
        deed: Deed
    ) throws {
        var number = 0
        while try !openedBefore(call: number, deed) { number += 1 }
        #expect(number > 3)
    }

    /// False while there was such a call.
    private func openedBefore(call number: Int, _ deed: Deed) throws -> Bool {
        let faults = SimulatedFaults()
        let disk = try makeDisk(faults: faults)
        let applier = applier(disk)
        let seen = try #require(try disk.stamp("a.jpg"))
        let first = faults.operationCount
        let isOpen = Mutex(false)
        faults.run(at: first + number) {
            // What is removed by then can't be.
            do { try disk.openForWriting("a.jpg") } catch { return }
            isOpen.withLock { $0 = true }
        }
        _ = try apply(deed, applier, expecting: seen)
        guard faults.operationCount > first + number else { return true }
        let path = try SimulatedDisk.path("a.jpg")
        guard isOpen.withLock({ $0 }) else { return false }
        try disk.continueWriting("a.jpg", Array(" and after".utf8))
        let end = try #require(try disk.endWriting("a.jpg"), "before call \(number)")
        #expect(end.path == path, "before call \(number)")
        return false
    }

    private func makeDisk(faults: SimulatedFaults) throws -> SimulatedDisk {
        let disk = SimulatedDisk(clock: SimulatedMachineClock(SimulatedClock()), faults: faults)
        try disk.makeDirectories(OwnPaths.directory)
        try disk.write("a.jpg", "before")
        return disk
    }

    private func apply(_ deed: Deed, _ applier: FileApplier, expecting seen: FileStamp) throws -> ApplyOutcome {
        let path = try SimulatedDisk.path("a.jpg")
        let hash = ContentHasher.hash(Array("ours".utf8))
        return switch deed {
        case .write: applier.apply(.write(record, at: path, contentHash: hash, replacing: seen))
        case .put: applier.put(Array("ours".utf8), at: path, replacing: seen)
        case .remove: applier.apply(.remove(record, at: path, expecting: seen))
        case .trash: applier.trash(path, expecting: nil)
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
}
