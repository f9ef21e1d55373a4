import Foundation
import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore

import class GRDB.Database

extension ZoneID {
    /// Stands for no zone: the top of the shared folder and the folders of owners in it.
    static let none = ZoneID(Digest32(high: 0, low: 0))
}

/// Where shares and single photos of shares are shown in the account's own tree: from the private zone.
struct Placements {
    var zones: [ZoneID: RecordRow] = [:]
    var records: [RecordID: RecordRow] = [:]
    /// Where folders of the private zone that a placement names went with a share.
    var moved: [RecordID: RecordID] = [:]

    /// The folder that a placement shows something in: a share may lie in a folder that became another share.
    func folder(of placement: RecordRow) -> RecordID {
        let folder = RecordID(zone: placement.id.zone, name: placement.parent ?? .zoneRoot)
        return moved[folder] ?? folder
    }
}

/// What the columns of a zone's row hold, next to them.
struct DecodedZone {
    var controlBytes: Data
    var keyringBytes: Data
    var control: Control
    var keyring: ZoneKeyring
}

extension Engine {
    /// The top of a watched folder's tree.
    func top(_ root: RootKind) -> RecordID {
        RecordID(zone: root == .library ? privateZone ?? .none : .none, name: .zoneRoot)
    }

    /// Whether something lies in its watched folder and not in the folder of its zone: it came to the zone a moment ago, and has not
    /// followed yet.
    func liesOutside(_ row: BaseRow, _ db: Database) throws -> Bool {
        let (mount, top) = (RecordID(zone: row.id.zone, name: .zoneRoot), top(row.root))
        var next = row.id
        var seen: Set<RecordID> = []
        while next != mount, seen.insert(next).inserted {
            if next == top { return true }
            guard let parent = try db.base(next)?.parent else { return false }
            next = parent
        }
        return false
    }

    /// The zones that show in a watched folder.
    func zonesShown(_ root: RootKind) -> [ZoneInfo] {
        zones.values.filter { $0.row.root == root && [.active, .leaveOffered].contains($0.row.state) }
            .sorted(by: ZoneInfo.comesBefore)
    }

    /// Reads the zones from the database.
    func reloadZones() throws {
        zones = try store.read { db in
            var result: [ZoneID: ZoneInfo] = [:]
            for row in try db.zones() {
                let decoded = try decoded(row)
                let control = try withJoined(decoded.control, zone: row.id, db)
                result[row.id] = ZoneInfo(row: row, control: control, keyring: decoded.keyring)
                if row.kind == .privateZone, row.isMine { privateZone = row.id }
            }
            return result
        }
    }

    /// A row's control and keys; decoded anew only when they have changed, since this is asked several times a round.
    private func decoded(_ row: ZoneRow) throws -> DecodedZone {
        if let known = decodedZones[row.id], known.controlBytes == row.control, known.keyringBytes == row.keyring {
            return known
        }
        let fresh = DecodedZone(
            controlBytes: row.control, keyringBytes: row.keyring, control: try ControlCoder.decode(Array(row.control)),
            keyring: try ZoneKeyring(serialized: Array(row.keyring)))
        decodedZones[row.id] = fresh
        return fresh
    }

    /// Where things of other zones are shown in the account's own tree.
    func placements(_ db: Database) throws -> Placements {
        var result = Placements()
        guard let privateZone else { return result }
        for row in try db.records(of: .placement, in: privateZone) {
            guard let target = row.contentHash.map(ZoneID.init) else { continue }
            if let record = row.placed {
                let id = RecordID(zone: target, name: record)
                // Two devices may have placed one thing: the older placement counts, then the smaller name.
                if let other = result.records[id], other.isOlder(than: row) { continue }
                result.records[id] = row
            } else {
                if let other = result.zones[target], other.isOlder(than: row) { continue }
                result.zones[target] = row
            }
        }
        // With the zones that show in each: none can show in itself.
        var folders: [RecordID: Set<ZoneID>] = [:]
        for row in result.records.values {
            if let parent = row.parent { folders[RecordID(zone: privateZone, name: parent)] = [] }
        }
        for (zone, row) in result.zones {
            if let parent = row.parent { folders[RecordID(zone: privateZone, name: parent), default: []].insert(zone) }
        }
        for (folder, shown) in folders {
            guard let present = try presentFolder(folder, result, db), !shown.contains(present.zone) else { continue }
            result.moved[folder] = present
        }
        return result
    }

    /// Where a zone is placed, or was before another device took that away; nil for one that never was.
    func placement(of zone: ZoneID, _ placements: Placements, _ db: Database) throws -> RecordRow? {
        guard let privateZone else { return nil }
        return try placements.zones[zone]
            ?? db.formerPlacements(of: zone, in: privateZone).min { $0.isOlder(than: $1) }
    }

    /// Where a folder of the private zone is that went to a share of the account's, with another folder or as a whole; nil
    /// for one that did not.
    private func presentFolder(_ id: RecordID, _ placements: Placements, _ db: Database) throws -> RecordID? {
        guard let row = try db.record(id), !row.isLive, let zone = try presentZone(of: id, db),
            zones[zone]?.row.root == .library, zones[zone]?.row.state == .active
        else { return nil }
        let there = RecordID(zone: zone, name: id.name)
        if let folder = try db.record(there), folder.type == .folder, folder.isLive { return there }
        return try isSharedFolder(id, as: zone, placements, db) ? RecordID(zone: zone, name: .zoneRoot) : nil
    }

    /// The folder that a record says it is in: the zone's root stands for its root folder.
    func parentID(_ row: RecordRow) -> RecordID {
        let zone = row.id.zone
        guard let parent = row.parent, parent != zones[zone]?.row.rootRecord else {
            return RecordID(zone: zone, name: .zoneRoot)
        }
        return RecordID(zone: zone, name: parent)
    }

    /// Every folder of a watched folder's tree, with the places where shares are shown.
    func placedFolders(_ root: RootKind, placements: Placements, _ db: Database) throws -> [PlacedRecord] {
        var result: [PlacedRecord] = []
        var mountNames: Set<String> = []
        for zone in zonesShown(root) {
            for row in try db.folders(in: zone.id) where row.id.name != zone.row.rootRecord {
                if let placed = placed(row, placements: placements) { result.append(placed) }
            }
            guard zone.row.kind != .privateZone else { continue }
            let mount = RecordID(zone: zone.id, name: .zoneRoot)
            let placement = placements.zones[zone.id]
            if root == .library {
                guard let placement, let name = placement.name else { continue }
                result.append(
                    PlacedRecord(
                        id: mount, kind: .folder,
                        parent: placements.folder(of: placement),
                        parentStamp: placement.parentStamp ?? .zero, name: name,
                        nameStamp: placement.nameStamp ?? .zero,
                        // A shared folder shows always; the folder for contributions to a selection while it has some.
                        authorLabel: settings.label, isLive: placement.isLocated))
            } else {
                let ownerFolder = RecordID(zone: .none, name: Self.ownerFolderName(zone.control))
                let ownerName = FileName(safe: zone.control.founderOrOwner.label)
                if !result.contains(where: { $0.id == ownerFolder }) {
                    result.append(
                        PlacedRecord(
                            id: ownerFolder, kind: .folder, parent: top(.shared), parentStamp: .zero, name: ownerName,
                            nameStamp: .zero, authorLabel: zone.control.founderOrOwner.label))
                }
                // Two shares of one title must not become one folder: what is dropped in it must go to one zone.
                var name = placement?.name ?? FileName(safe: zone.control.title)
                if !mountNames.insert("\(ownerFolder)/\(name.bytes)").inserted {
                    name = name.inserting(" (\(zone.id.description.prefix(6)))")
                }
                result.append(
                    PlacedRecord(
                        id: mount, kind: .folder, parent: ownerFolder, parentStamp: placement?.nameStamp ?? .zero,
                        name: name, nameStamp: placement?.nameStamp ?? .zero, authorLabel: zone.control.ownerLabel))
            }
        }
        return result
    }

    /// The files shown in some folders, and files that are placed there from other zones.
    func placedFiles(
        in parents: Set<RecordID>, placements: Placements, _ db: Database
    ) throws -> [PlacedRecord] {
        var result: [PlacedRecord] = []
        for parent in parents where parent.zone != .none {
            let rootRecord = zones[parent.zone]?.row.rootRecord
            var rows = try db.files(in: parent.zone, parent: parent.isZoneRoot ? nil : parent.name)
            if parent.isZoneRoot, let rootRecord { rows += try db.files(in: parent.zone, parent: rootRecord) }
            for row in rows where zones[row.id.zone]?.row.root != .library || placements.records[row.id] == nil {
                if let placed = placed(row, placements: Placements()) { result.append(placed) }
            }
        }
        for (id, placement) in placements.records {
            guard zones[id.zone]?.row.root == .library, parents.contains(placements.folder(of: placement)),
                let row = try db.record(id), row.isLive, row.type.hasContent
            else { continue }
            if let placed = placed(row, placements: placements) { result.append(placed) }
        }
        return result
    }

    /// A record with the place it has in this account's tree.
    private func placed(_ row: RecordRow, placements: Placements) -> PlacedRecord? {
        let placement = zones[row.id.zone]?.row.root == .library ? placements.records[row.id] : nil
        guard let name = placement?.name ?? row.name else { return nil }
        let parent: RecordID =
            if let placement { placements.folder(of: placement) } else { parentID(row) }
        return PlacedRecord(
            id: row.id, kind: row.type == .folder ? .folder : .file, parent: parent,
            parentStamp: placement?.parentStamp ?? row.parentStamp ?? .zero, name: name,
            nameStamp: row.nameStamp ?? .zero, authorLabel: row.nameAuthor.map(label(of:)) ?? "",
            isLive: row.isLive, contentHash: row.contentHash)
    }

    /// The folder that a record shows in, in this account's tree; for a dormant or unknown one, what it says.
    func shownParent(_ row: RecordRow, placements: Placements) -> RecordID {
        if zones[row.id.zone]?.row.root == .library, let placement = placements.records[row.id] {
            return placements.folder(of: placement)
        }
        return parentID(row)
    }

    /// The folder of the shared folder that a share is in: that of who made it, whoever owns it now. So nothing moves when
    /// a share is handed over.
    static func ownerFolderName(_ control: Control) -> RecordName {
        RecordName(control.founderOrOwner.account.digest.high)
    }

    /// The watched folder that shows a share: the library of who made it, the shared folder of everybody else.
    func root(of control: Control) -> RootKind { control.founderOrOwner.account == account ? .library : .shared }

    /// An account's label, for names and messages.
    func label(of account: AccountID) -> String {
        if account == self.account { return settings.label }
        for zone in zones.values {
            if zone.control.owner == account { return zone.control.ownerLabel }
            if let participant = zone.control.participants[account] { return participant.label }
        }
        return account.fingerprint
    }
}

extension RecordRow {
    /// The record that a placement places; nil where it places a zone.
    var placed: RecordName? { subject }

    /// Whether a placement counts before another one of the same thing.
    fileprivate func isOlder(than other: RecordRow) -> Bool {
        (nameStamp ?? .zero, id.name) < (other.nameStamp ?? .zero, other.id.name)
    }
}

extension HybridTimestamp {
    /// Before any edit.
    static let zero = HybridTimestamp(wallMilliseconds: 0, counter: 0, replica: ReplicaID(0))
}

extension FileName {
    /// A file name made from a title or label that people chose: never empty, no control characters, no separators.
    init(safe text: String) {
        let cleaned = text.unicodeScalars.map { scalar -> Character in
            scalar == "/" || scalar.value < 0x20 || scalar.value == 0x7f ? "_" : Character(scalar)
        }
        var bytes = Array(String(cleaned).utf8.prefix(200))
        while !bytes.isEmpty, String(validating: bytes, as: UTF8.self) == nil { bytes.removeLast() }
        if bytes.first == UInt8(ascii: ".") { bytes[0] = UInt8(ascii: "_") }
        self = FileName(bytes: bytes) ?? FileName("untitled")!
    }
}
