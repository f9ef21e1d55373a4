import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// Small files in the watched folders.
extension FuzzTests {
    static func localTarget(_ name: String) throws -> Target? {
        switch name {
        case "invitationFile":
            return Target(name: name, corpus: kept("link")) { bytes in
                guard let link = InvitationFile.link(in: bytes) else { return }
                precondition(!link.contains { $0.isNewline || $0 == "\0" }, "a link is one line")
                _ = try? ShareLink(parsing: link)
            }
        case "trashInfo":
            let made = trashMachine()
            try made.library.write("2026/a.jpg", "aaa")
            _ = applier(made).trash(try #require(RelativePath("2026/a.jpg")), expecting: nil, record: parked)
            let notes = made.library.tree().filter { $0.key.hasSuffix(".json") }.map(\.value)
            return Target(name: name, corpus: notes, parse: putBack)
        default: return nil
        }
    }

    private static let parked = RecordID(zone: ZoneID(Digest32(high: 5, low: 5)), name: RecordName(9))

    private static func trashMachine() -> SimulatedMachine {
        let machine = SimulatedWorld(seed: 1).addMachine("fuzz")
        try? machine.library.makeDirectories(OwnPaths.directory)
        return machine
    }

    private static func applier(_ machine: SimulatedMachine) -> FileApplier {
        FileApplier(
            machine.library.files, nowMilliseconds: { 1_800_000_000_000 }, randomBytes: FuzzedShare.randomBytes,
            content: { _, _ in throw FileError(code: .absent, operation: "open", path: "") }, recordIntent: { _ in })
    }

    /// Puts back what lies in the trash, and what a crash left aside, by notes that say this of where it was.
    private static func putBack(_ note: [UInt8]) {
        let machine = trashMachine()
        let disk = machine.library
        func write(_ path: String, _ bytes: [UInt8]) {
            if let path = RelativePath(path) { try? disk.write(path, bytes: bytes) }
        }
        let aside = ".shoebox/tmp/park-\(parked.zone)-\(parked.name)"
        let inTrash = ".shoebox/trash/2026-02-03/0123456789abcdef"
        write(inTrash + "-a.jpg", Array("trashed".utf8))
        write(inTrash + ".json", note)
        write(aside, Array("parked".utf8))
        write(aside + ".json", note)
        write(".shoebox/root.json", Array("the root's own".utf8))
        let applier = applier(machine)
        for item in (try? applier.trashItems()) ?? [] {
            guard let path = item.originalPath else { continue }
            precondition(!path.isRoot && !path.isAtOrBelow(OwnPaths.directory), "nothing is put back into '.shoebox'")
            _ = applier.restore(item, to: path)
        }
        _ = applier.recoverTemporaries()
        let left = disk.tree()
        for text in ["trashed", "parked", "the root's own"] {
            precondition(left.values.contains(Array(text.utf8)), "'\(text)' is there still")
        }
        precondition(left[".shoebox/root.json"] == Array("the root's own".utf8), "what is not a user's stays as it is")
    }
}
