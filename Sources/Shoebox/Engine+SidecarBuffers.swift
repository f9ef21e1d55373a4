import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// An editor holds a sidecar open while it is written anew beneath it, and saves it more than once: each time the file names the state
// that it was opened with. What was read of it in between is kept beside that state; see Documentation/Design/Sidecars.md.

extension Engine {
    /// What a person took back with a further save of one buffer. No edit of anybody else is undone by it: it is only about what this
    /// very buffer said otherwise before.
    func editsTakenBack(
        _ document: SidecarDocument, called name: FileName, shown: SidecarFields, of id: RecordID, _ db: Database
    ) throws -> [SidecarEdit] {
        guard document.record == id.name, let rev = document.rev, let read = try lastRead(name, under: rev, of: id, db),
            // There, a file that is as it was before was put back with everything else.
            try db.base(id).map({ try !isPutBack($0.root, db) }) == true
        else { return [] }
        return sidecarEditsTakenBack(file: document.fields, shown: shown, read: read)
    }

    /// Keeps what was read of a sidecar of a known state, if it says something else than that, or did before.
    func noteRead(_ document: SidecarDocument, called name: FileName, of id: RecordID, _ db: Database) throws {
        guard document.record == id.name, let rev = document.rev,
            let shown = try db.sidecarState(rev: rev, of: id).flatMap(Self.fields)
        else { return }
        let former = try lastRead(name, under: rev, of: id, db)
        guard former != nil || !sidecarEdits(file: document.fields, shown: shown).isEmpty else { return }
        let before = (former ?? shown).completed(by: shown)
        let read = document.fields.naming(before, asWithout: shown).completed(by: before)
        try db.setSidecarState(
            rev: readKey(name, rev), of: id, fields: Data(SidecarDocument(fields: read).encoded()),
            nowMilliseconds: world.nowMilliseconds(), keptMilliseconds: sidecarStateMilliseconds)
    }

    private func lastRead(
        _ name: FileName, under rev: String, of id: RecordID, _ db: Database
    ) throws -> SidecarFields? {
        try db.sidecarState(rev: readKey(name, rev), of: id).flatMap(Self.fields)
    }

    /// Its name among the states. A copy beside the photo is another file, which may say something else. No buffer outlives the machine's boot; a file that is as it was before may, as after a power cut.
    private func readKey(_ name: FileName, _ rev: String) -> String {
        Database.readState(of: rev, in: encodeHex(Array(name.bytes)), boot: world.bootID)
    }
}
