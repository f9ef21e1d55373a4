import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

// What was said of a photo in a share that is over goes along with the copy that is kept of it: as a sidecar of no record
// yet, which the next look at the library reads. Also where no sidecars are to be written: nothing else has these words.

extension Engine {
    /// Writes what is known of a photo beside the copy that `keepCopyInLibrary` made of it.
    func keepDetails(_ details: PhotoDetails, of row: BaseRow) throws {
        guard !details.isEmpty, let path = try store.read({ db in try placeOfLastCopy(of: row.id, db) }),
            let name = path.last, try !hasSidecar(path)
        else { return }
        let free = try SidecarName.candidates(for: name).first {
            try world.library.entry(at: path.parent.appending($0)) == nil
        }
        guard let free else { return }
        let text = SidecarDocument(record: nil, rev: nil, fields: details.sidecar, unknown: [:]).encoded()
        var applier = makeApplier(.library)
        applier.isDurable = true
        let outcome = applier.put(text, at: path.parent.appending(free), replacing: nil)
        if case .failed(let error) = outcome { throw error }
    }

    /// Whether a file of the library says of itself what is to be said of a copy, or nothing, so that it can be said there.
    func says(_ details: PhotoDetails, of path: RelativePath) throws -> Bool {
        guard !details.isEmpty else { return true }
        let files = try saidBeside(path)
        guard let files else { return false }
        if let fields = files.first { return Self.isSame(fields, details.sidecar) }
        let known = try store.read { db in
            try db.base(at: path, root: .library, top: top(.library)).map { try self.details(of: $0, db) }
        }
        return known.map { $0.isEmpty || Self.isSame($0.sidecar, details.sidecar) } ?? true
    }

    /// Whether two say the same; tags have one spelling in a library, whoever wrote them.
    private static func isSame(_ left: SidecarFields, _ right: SidecarFields) -> Bool {
        func tags(_ fields: SidecarFields) -> Set<String> { Set((fields.tags ?? []).map(normalizedTagName)) }
        return left.caption ?? "" == right.caption ?? "" && tags(left) == tags(right)
            && left.rating ?? 0 == right.rating ?? 0 && left.custom == right.custom
    }

    private func hasSidecar(_ path: RelativePath) throws -> Bool { try saidBeside(path)?.isEmpty != true }

    /// What the sidecars of a file say; nil if one can't be read, or all of their names are taken by other files.
    private func saidBeside(_ path: RelativePath) throws -> [SidecarFields]? {
        var result: [SidecarFields] = []
        var free = 0
        for name in path.last.map(SidecarName.candidates) ?? [] {
            let place = path.parent.appending(name)
            guard let entry = try world.library.entry(at: place) else {
                free += 1
                continue
            }
            guard entry.kind == .file else { continue }
            switch SidecarDocument.read(try readSidecar(place, world.library)) {
            case .document(let document): result.append(document.fields)
            case .foreign: continue
            case .newer, .broken: return nil
            }
        }
        return result.isEmpty && free == 0 ? nil : result
    }
}
