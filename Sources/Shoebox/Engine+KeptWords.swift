import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What was said of a photo in a share that is over goes along with the copy that is kept of it: as a sidecar of no record
// yet, which the next look at the library reads. Also where no sidecars are to be written: nothing else has these words.

extension Engine {
    /// What is to be said of the copy of a photo: what is known of it, and over that, what was said of it here when that was not
    /// permitted any more. Nobody else was told of it, and it goes with the history of the share.
    ///
    /// - Parameter untold: such changes of the zone, in their order.
    func detailsToKeep(of id: RecordID, _ untold: [StoredChange], _ db: Database) throws -> PhotoDetails {
        var result = try details(of: id, db)
        guard !untold.isEmpty else { return result }
        var titles = try tagTitles(in: id.zone, db)
        for change in untold.map(\.change) {
            guard case .set(let fields) = change.action else { continue }
            switch change.type {
            case .tag: titles[change.record] = fields[.title]?.text ?? titles[change.record]
            case .photoTag where fields[.photo]?.reference == id.name:
                guard let title = fields[.tag]?.reference.flatMap({ titles[$0] }), fields[.member]?.boolean != false,
                    !result.tags.contains(title)
                else { continue }
                result.tags.append(title)
            case .rating where fields[.photo]?.reference == id.name:
                if let value = fields[.value]?.integer, (1...5).contains(value) { result.rating = Int(value) }
            case .photo where change.record == id.name, .file where change.record == id.name:
                if let caption = fields[.caption]?.text { result.caption = caption }
                for (key, value) in fields {
                    if let name = key.customKey, let text = value.text { result.custom[name] = text }
                }
            default: continue
            }
        }
        return result
    }

    /// Writes what is known of a photo beside the copy that `keepCopyInLibrary` made of it.
    func keepDetails(_ details: PhotoDetails, of row: BaseRow) throws {
        guard !details.isEmpty, let path = try store.read({ db in try placeOfLastCopy(of: row.id, db) }),
            let beside = try lookBeside(path), beside.said.isEmpty, let free = beside.free
        else { return }
        let text = SidecarDocument(record: nil, rev: nil, fields: details.sidecar, unknown: [:]).encoded()
        var applier = makeApplier(.library)
        applier.isDurable = true
        let outcome = applier.put(text, at: free, replacing: nil)
        if case .failed(let error) = outcome { throw error }
    }

    /// Whether a file of the library says of itself what is to be said of a copy, or nothing, so that it can be said there.
    func says(_ details: PhotoDetails, of path: RelativePath) throws -> Bool {
        guard !details.isEmpty else { return true }
        guard let beside = try lookBeside(path) else { return false }
        if let fields = beside.said.first { return Self.isSame(fields, details.sidecar) }
        guard beside.free != nil else { return false }
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

    /// What the sidecars of a file say, and where one could be written, if anywhere; nil if one can't be read.
    private func lookBeside(_ path: RelativePath) throws -> (said: [SidecarFields], free: RelativePath?)? {
        var said: [SidecarFields] = []
        var free: RelativePath?
        for name in path.last.map(SidecarName.candidates) ?? [] {
            let place = path.parent.appending(name)
            guard let entry = try world.library.entry(at: place) else {
                free = free ?? place
                continue
            }
            guard entry.kind == .file else { continue }
            switch SidecarDocument.read(try readSidecar(place, world.library)) {
            case .document(let document): said.append(document.fields)
            case .foreign: continue
            case .newer, .broken: return nil
            }
        }
        return (said, free)
    }
}
