import Foundation
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// Publishes everything that is pending, as far as it can be published now; returns how many changes went out.
    @discardableResult
    public func pushAll() throws -> Int {
        try openContainer()
        try reloadZones()
        if let until = noRoom?.until, world.uptimeMilliseconds() >= until { noRoom = nil }
        var total = 0
        var progress = true
        // A move's mark waits for the zone that the record moved to, so a later pass may find more.
        while progress {
            progress = false
            for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where zone.row.state == .active {
                do {
                    let count = try push(zone.id)
                    total += count
                    if count > 0 { progress = true }
                    try clearProblem("zoneUnwritable", zone: zone.id)
                } catch let error as CloudError where error.concernsOneZone {
                    let title = zone.control.title.isEmpty ? "your library" : "'\(zone.control.title)'"
                    try report(
                        "zoneUnwritable", path: error.path, zone: zone.id,
                        "Your changes in \(title) cannot be published: \(error.message).", error.remedy)
                }
            }
        }
        return total
    }

    /// Publishes at once what a command changed; if that fails, the next round does it.
    func pushSoon() {
        do { try pushAll() } catch { log("published later: \(error)") }
    }

    /// Publishes one batch of a zone: assets, then segments, one barrier, then the head.
    @discardableResult
    func push(_ id: ZoneID) throws -> Int {
        guard let known = zones[id] else { return 0 }
        let (isIdle, isUnread) = try store.read { db in
            (
                try !known.row.isHeadDirty && db.outbox(of: id).isEmpty && !db.hasPendingChanges(in: id, before: .max),
                try db.isFormerChainUnread(in: id)
            )
        }
        if !isIdle { try lookAtStanding(in: known) }
        guard let zone = zones[id], zone.row.state == known.row.state, try checkOwnHead(zone, isIdle: isIdle) else {
            return 0
        }
        guard try sealsForPresent(zone) else { return 0 }
        var count = 0
        if !isUnread, zone.mayAdd(account), try store.read({ db in try db.outbox(of: id) }).isEmpty {
            // By now more may be known of who may read it.
            guard try isIdle || checkOwnChain(id), let zone = zones[id], zone.mayAdd(account) else { return 0 }
            count = try buildSegments(zone)
        }
        let outbox = try store.read { db in try db.outbox(of: id) }
        guard let row = try store.read({ db in try db.zone(id) }) else { return 0 }
        guard !outbox.isEmpty || row.isHeadDirty else { return count }
        let folder = zoneFolder(id)
        for item in outbox { try folder.publishSegment(item.bytes, at: item.position, replica: replica) }
        if !outbox.isEmpty { try world.mount.synchronize() }
        try appendHead(row, folder: folder)
        zones[id]?.row = try store.read { db in try db.zone(id) } ?? row
        return count
    }

    /// Reads who takes part in a share now, if that was not read for a while, as after a start or while the container was away: who was
    /// removed meanwhile is not to get what is published next, and what this account may do no more is not to be half done.
    private func lookAtStanding(in zone: ZoneInfo) throws {
        let now = world.uptimeMilliseconds()
        guard zone.row.kind == .share, zone.row.state == .active,
            standingRead[zone.id].map({ now >= $0 + 60_000 }) ?? true
        else { return }
        let folder = zoneFolder(zone.id)
        do {
            guard let heads = try readHeads(zone.id, folder: folder) else { return }
            try noteDevices(in: heads, zone: zone)
            try readNewerControl(zone.id, folder: folder)
        } catch let error as CloudError {
            guard error.concernsOneZone else { throw error }
            log("who takes part in '\(zone.control.title)' could not be looked at: \(error)")
        }
    }

    /// How long the container must not have shown what is taken back, milliseconds: some mounts show late what is there.
    private var outboxAwaitedMilliseconds: UInt64 { 120_000 }

    /// Sees to it that what was built before somebody was put out, and is nowhere yet, is not published under the key that they have.
    /// False if that is still to be found out.
    private func sealsForPresent(_ zone: ZoneInfo) throws -> Bool {
        let outbox = try store.read { db in try db.outbox(of: zone.id) }
        guard zone.control.isSealed, let current = zone.keyring.current, let first = outbox.first,
            try SegmentCoder.epoch(of: first.bytes) != current
        else { return true }
        let start = try firstUnseen(of: outbox, in: zone)
        guard start < outbox.count, try SegmentCoder.epoch(of: outbox[start].bytes) != current else { return true }
        let unseen = outbox[start].position
        let waited = try waited("unseen.\(zone.id)", for: "\(unseen.sequence) \(unseen.hash)")
        guard waited >= outboxAwaitedMilliseconds else { return false }
        let last = start > 0 ? outbox[start - 1].position : nil
        guard try store.write({ db in try db.takeBackOutbox(of: zone.id, after: last, by: replica) }) else {
            return true
        }
        log("what was to be published in '\(zone.control.title)' is sealed anew: who takes part has changed")
        zones[zone.id]?.row = try store.read { db in try db.zone(zone.id) } ?? zone.row
        return true
    }

    /// The index of the first segment from which on nothing is in the container, behind all of a transaction that has begun there.
    private func firstUnseen(of outbox: [(position: Position, bytes: [UInt8])], in zone: ZoneInfo) throws -> Int {
        let folder = zoneFolder(zone.id)
        let names = try folder.segmentNames(of: replica)
        var start = outbox.lastIndex { names.contains(ZoneFolder.segmentName($0.position)) }.map { $0 + 1 } ?? 0
        while start < outbox.count {
            let isBegun =
                try start > 0
                && !SegmentCoder.endsWhole(
                    outbox[start - 1].bytes, zone: zone.id, replica: replica, keyring: zone.keyring)
            guard try isBegun || folder.isThere(outbox[start].position, of: replica) else { break }
            start += 1
        }
        return start
    }

    /// Appends what this replica knows to its head, and notes that it did.
    func appendHead(_ row: ZoneRow, folder: ZoneFolder, left: UInt64 = 0, returning: UInt64 = 0) throws {
        var vector: [ReplicaID: Position] = [:]
        for peer in try store.read({ db in try db.peers(of: row.id) }) where peer.applied.sequence > 0 {
            vector[peer.replica] = peer.applied
        }
        vector[replica] = row.last.sequence > 0 ? row.last : nil
        let (snapshot, carried) = try store.read { db in
            (try db.snapshot(of: row.id), try self.carriedPositions(in: row.id, db))
        }
        let content = HeadContent(
            last: row.last, floor: snapshot.floor, snapshot: snapshot.floor > 1 ? snapshot.snapshot : nil,
            control: ControlVersion(version: row.controlVersion, hash: row.controlHash),
            statement: try accountEntry()?.newestStatement, wallMilliseconds: world.nowMilliseconds(), vector: vector,
            wanted: wanted(in: row.id), left: left, returning: returning, carried: carried)
        let cursor = row.headCursor.flatMap { HeadCursor(String(decoding: $0, as: UTF8.self)) } ?? HeadCursor()
        let written = try folder.appendHead(content, identity: identity, cursor: cursor)
        try store.write { db in
            guard var current = try db.zone(row.id) else { return }
            current.headCursor = Data(written.cursor.description.utf8)
            current.isHeadDirty = false
            try db.setZone(current)
            try db.clearOutbox(of: row.id, upTo: row.last.sequence)
            try noteFloorSaid(snapshot.floor, in: row.id, db)
            try db.setPeer(
                PeerRow(
                    replica: replica, account: account, head: row.last,
                    applied: try ownApplied(row.last, in: row.id, db)), in: row.id)
        }
        ownHeadsWritten[row.id] = world.uptimeMilliseconds()
    }

    /// Turns pending changes of a zone into segments, kept in the local database before anything is published, so that
    /// publishing again after a crash publishes the same bytes.
    private func buildSegments(_ zone: ZoneInfo) throws -> Int {
        let oldest = try pendingTransactions(of: zone.id, limit: settings.pushMax)
        var pending = try withAssets(oldest, zone: zone)
        // Where most of the oldest waits for bytes that can't be read, what is younger would hardly get its turn.
        if oldest.count > 2 * pending.count {
            let all = try pendingTransactions(of: zone.id, limit: .max)
            if all.count > oldest.count { pending = try withAssets(all, zone: zone) }
        }
        guard !pending.isEmpty else { return 0 }
        var transactions: [SegmentTransaction] = []
        for stored in pending {
            let bundle = replica.value ^ UInt128(UInt64(bitPattern: stored.token))
            if transactions.last?.id == bundle {
                transactions[transactions.count - 1].changes.append(stored.change)
            } else {
                transactions.append(SegmentTransaction(id: bundle, changes: [stored.change]))
            }
        }
        var sequences: [Dot: UInt64] = [:]
        var built: [(position: Position, bytes: [UInt8])] = []
        var previous = zone.row.last
        var unfinished: [Dot] = []
        for part in SegmentBuilder.split(transactions, changesMax: settings.segmentChangesMax) {
            let segment = try SegmentCoder.encode(
                part, zone: zone.id, after: previous, isSealed: zone.control.isSealed, keyring: zone.keyring,
                identity: identity, randomBytes: world.randomBytes)
            built.append((segment.position, segment.bytes))
            previous = segment.position
            // A transaction is judged as a whole: by the segment that ends it.
            for transaction in part {
                unfinished += transaction.changes.map(\.dot)
                guard transaction.isLast else { continue }
                for dot in unfinished { sequences[dot] = segment.position.sequence }
                unfinished = []
            }
        }
        try store.write { db in
            for item in built {
                try db.setOutbox(item.position, bytes: item.bytes, zone: zone.id)
                try db.setPosition(item.position, of: replica, in: zone.id)
            }
            for stored in pending { try db.markPushed([stored.id], sequence: sequences[stored.change.dot] ?? 0) }
            guard var row = try db.zone(zone.id) else { return }
            row.last = previous
            row.isHeadDirty = true
            try db.setZone(row)
        }
        return pending.count
    }

    /// About as many changes as go out together, oldest first, in whole transactions, without what waits for other zones.
    private func pendingTransactions(of zone: ZoneID, limit: Int) throws -> [StoredChange] {
        let some = try store.read { db in try db.pendingChanges(in: zone, limit: limit) }
        if some.count < limit { return try withoutWaitingMoves(some) }
        // Where so many wait, others come after them.
        let all = try withoutWaitingMoves(store.read { db in try db.pendingChanges(in: zone, limit: .max) })
        guard all.count > limit, let first = all.first?.token, let next = all.dropFirst(limit).first?.token else {
            return all
        }
        // One that alone is larger than the limit goes by itself.
        let whole = all.prefix { $0.token != next }
        return whole.isEmpty ? all.filter { $0.token == first } : Array(whole)
    }

    /// The changes without the marks of moves to where the record did not arrive yet: where something older about it is still
    /// to be pushed. What was written later doesn't count, or two moves in opposite directions would wait for each other. What
    /// follows a mark in its transaction waits with it, and so does what comes later about a record that waits. Everything
    /// else goes on: in the destination something may wait that can't be read for a long time. So does what takes anything out
    /// of a folder, as the folder's own mark may be out, and whoever saw that alone would take it along.
    private func withoutWaitingMoves(_ pending: [StoredChange]) throws -> [StoredChange] {
        var waiting: Set<RecordName> = []
        var token: Int64?
        return try pending.filter { stored in
            if stored.change.takesOut, !waiting.contains(stored.change.record) { return true }
            if stored.token != token, !waiting.contains(stored.change.record) {
                guard case .moved(let destination) = stored.change.action, zones[destination]?.row.state == .active,
                    try store.read({ db in try isUnderWay(stored, to: destination, db) })
                else { return true }
            }
            token = stored.token
            waiting.insert(stored.change.record)
            return false
        }
    }

    /// Whether a record that moved did not arrive yet; of what is said of a photo, whether that did not.
    private func isUnderWay(_ mark: StoredChange, to destination: ZoneID, _ db: Database) throws -> Bool {
        let subject = try db.record(RecordID(zone: mark.zone, name: mark.change.record))?.subject
        return try [mark.change.record, subject].compactMap { $0 }.contains { name in
            try db.hasPendingChanges(of: name, in: destination, before: mark.id)
        }
    }

    /// Uploads the content of pending changes and puts its location into them. A change whose bytes can't be read now
    /// waits, with all later ones of its record; one whose bytes were overwritten by a later change goes out without.
    ///
    /// Where it waits so that something was put elsewhere or deleted, the marks of folders that went to another zone since then
    /// wait, too: it may have been in one, and who saw that the folder went and not that would take it along.
    private func withAssets(_ pending: [StoredChange], zone: ZoneInfo) throws -> [StoredChange] {
        var result: [StoredChange] = []
        var waiting: Set<RecordName> = []
        var unplaced = Int64.max
        var uploads = Uploads()
        do {
            for var stored in pending {
                guard !waiting.contains(stored.change.record) else {
                    if stored.change.takesOut { unplaced = min(unplaced, stored.token) }
                    continue
                }
                if let asset = stored.change.content, asset.location != nil {
                    try ensure(asset)
                } else if let asset = stored.change.content, case .set(var fields) = stored.change.action {
                    if let asset = try upload(asset, uploaded: &uploads.assets) {
                        fields[.content] = .asset(asset)
                        stored.change.action = .set(fields)
                        uploads.located.append(stored)
                        if uploads.areMany { try note(&uploads, in: zone.id) }
                    } else if stored.change.dot.replica == replica,
                        try needsBytes(asset.contentHash, of: RecordID(zone: zone.id, name: stored.change.record))
                    {
                        waiting.insert(stored.change.record)
                        try noteWithoutBytes(
                            asset.contentHash, of: RecordID(zone: zone.id, name: stored.change.record))
                        continue
                    }
                }
                result.append(stored)
            }
        } catch let error as CloudError {
            // A full mount would be filled again and again by what is there already.
            do { try note(&uploads, in: zone.id) } catch let other as FileError {
                log("what was uploaded is uploaded again: \(other)")
            }
            throw error
        }
        try note(&uploads, in: zone.id)
        return unplaced == .max ? result : withoutFolderMarks(result, since: unplaced)
    }

    /// The changes without the marks of folders from a transaction on, and what comes later about these folders.
    private func withoutFolderMarks(_ changes: [StoredChange], since token: Int64) -> [StoredChange] {
        var waiting: Set<RecordName> = []
        return changes.filter { stored in
            if stored.token >= token, stored.change.type == .folder, case .moved = stored.change.action {
                waiting.insert(stored.change.record)
            }
            return !waiting.contains(stored.change.record)
        }
    }

    /// Contents that were uploaded, and the changes that say so now, before that is stored.
    private struct Uploads {
        var assets: [Digest32: AssetReference] = [:]
        var located: [StoredChange] = []
        /// Whether so much was uploaded that a process that dies should not have to do it again.
        var areMany: Bool {
            assets.count >= 64 || assets.values.reduce(0) { $0 &+ $1.size } >= 64 << 20
        }
    }

    /// Stores where the contents are that were uploaded since the last time. After a crash before that, they are uploaded again
    /// under other names. What is stored must not be lost by a power cut: then nobody would have it.
    private func note(_ uploads: inout Uploads, in zone: ZoneID) throws {
        guard !uploads.located.isEmpty else { return }
        if !uploads.assets.isEmpty { try world.mount.synchronize() }
        try store.write { db in
            for asset in uploads.assets.values { try db.setAsset(asset) }
            for stored in uploads.located {
                try db.replacePayload(of: stored.id, with: stored.change)
                try db.setLocated(RecordID(zone: zone, name: stored.change.record))
            }
        }
        uploads = Uploads()
    }

    /// Whether a record has these bytes now, alone or in a conflict. Of what was deleted nobody needs them, nor of what was
    /// overwritten, by whatever change, in this batch or not; of what was moved they are needed where it is now.
    private func needsBytes(_ hash: Digest32, of id: RecordID) throws -> Bool {
        try store.read { db in try needsBytes(hash, of: id.name, in: id.zone, past: [], db) }
    }

    private func needsBytes(
        _ hash: Digest32, of name: RecordName, in zone: ZoneID, past: Set<ZoneID>, _ db: Database
    ) throws -> Bool {
        guard let state = try db.state(of: RecordID(zone: zone, name: name)), !state.isDeleted else { return false }
        let edits = state.fields[.content]?.values.filter { $0.value.asset?.contentHash == hash } ?? []
        guard !edits.isEmpty else { return false }
        guard !state.isLive else { return true }
        // Where something else of it can count again, that does, in case somebody who had not seen it leave keeps it there.
        let isAlone = try !db.changes(of: name, in: zone).contains { $0.content?.location != nil }
        guard isAlone else { return true }
        // Whoever moved it in sight of the edit took that along, and it was overwritten there if it is not to be seen there.
        return try edits.contains { edit in
            let ways = state.openMoves.filter { $0.context.contains(edit.dot) }.compactMap(\.destination)
            return try ways.isEmpty
                || ways.contains { next in
                    guard !past.contains(next), let there = try db.state(of: RecordID(zone: next, name: name)),
                        there.isDeleted || there.fields[.content]?.winner != nil
                    else { return true }
                    return try needsBytes(hash, of: name, in: next, past: past.union([zone]), db)
                }
        }
    }

    /// How long the file of an edit that is to be published may be gone before the edit is given up, milliseconds.
    private var bytesGoneMilliseconds: UInt64 { 60_000 }

    /// Gives up an edit whose file went before it was published, while something else than a look at its folder found that
    /// out, such as a folder that was moved here and replaced there: the content before it counts again. Where there is none, as
    /// the photo came from another zone, whose contents are not for this one, it is deleted: only what somebody said of it
    /// meanwhile, who had never got it, kept it.
    private func noteWithoutBytes(_ hash: Digest32, of id: RecordID) throws {
        let isThere = try trashSources[hash] != nil || store.read { db in try !db.base(contentHash: hash).isEmpty }
        guard !isThere else {
            bytesGone[id] = nil
            return
        }
        let now = world.uptimeMilliseconds()
        let since = bytesGone[id] ?? now
        bytesGone[id] = since
        guard now >= since + bytesGoneMilliseconds else { return }
        bytesGone[id] = nil
        log("an edit of \(id) is given up: its file went before it was published")
        try store.write { db in
            try db.refuseUnpublishedContent(of: id, hash: hash)
            try db.refuseUnpublished(id)
            guard let state = try db.state(of: id), state.isLive,
                try !db.changes(of: id.name, in: id.zone).contains(where: { $0.content?.location != nil }),
                try needsBytes(hash, of: id.name, in: id.zone, past: [], db)
            else { return }
            var writer = try HistoryWriter(db, engine: self, author: "repair")
            try writer.write(id, type: state.type, .delete, context: state.vector)
            try writer.finish()
        }
    }

    /// Puts a content into the container, unless this replica did or verified that before; nil if its bytes are not to
    /// be had now.
    func upload(
        _ asset: AssetReference, uploaded: inout [Digest32: AssetReference]
    ) throws -> AssetReference? {
        if let known = uploaded[asset.contentHash] { return known }
        if !damagedAssets.contains(asset.contentHash),
            let known = try store.read({ db in try db.asset(asset.contentHash) })
        {
            try ensure(known)
            return known
        }
        // What is larger has no room either; smaller photos, and what is said of them, go on.
        if let noRoom, asset.size >= noRoom.size { return nil }
        var refused: [(shown: String, error: FileError)] = []
        var tried: [String] = []
        for source in try localSources(of: asset.contentHash, isRefused: { refused.append(($0, $1)) }) {
            let located: AssetReference
            let start = world.uptimeMilliseconds()
            tried.append(source.shown)
            do throws(CloudError) {
                located = try AssetStore(mount: world.mount).upload(
                    from: source.file, size: asset.size, contentHash: asset.contentHash, identity: identity,
                    randomBytes: world.randomBytes)
            } catch {
                switch error.code {
                case .changedWhileReading: continue
                case .sourceUnreadable:
                    try reportUnpublished(source.shown, error.cause?.reason ?? error.message)
                    continue
                default:
                    guard error.cause?.code == .full else { throw error }
                    // What takes long is tried less often.
                    let now = world.uptimeMilliseconds()
                    noRoom = (asset.size, error, now + min(300_000, 20 * (now - start)))
                    return nil
                }
            }
            uploaded[asset.contentHash] = located
            assetsSeen.formUnion([located.location].compactMap { $0 })
            damagedAssets.remove(asset.contentHash)
            // Others have it by now, also if that was another file than those that could not be read.
            for shown in tried + refused.map(\.shown) { try clearProblem("notPublished", path: shown) }
            return located
        }
        for (shown, error) in refused { try reportUnpublished(shown, error.reason) }
        return nil
    }

    /// Sees to it that what this replica uploaded before, and names in a change only now, is still there: the mount may have
    /// been put back, or another one mounted, since then, and no head tells. Looked at once, until the mount fails. What
    /// others uploaded, and said of it, is theirs to mend.
    private func ensure(_ asset: AssetReference) throws {
        guard let location = asset.location, !assetsSeen.contains(location),
            !damagedAssets.contains(asset.contentHash),
            try store.read({ db in try db.asset(asset.contentHash) }) == asset
        else { return }
        if try !AssetStore(mount: world.mount).isThere(location),
            let source = try localSources(of: asset.contentHash).first
        {
            guard try publish(asset, from: source) else { return }
        }
        assetsSeen.insert(location)
    }

    /// Says that a photo's bytes can't be read where they lie: it waits, and nothing else waits for it.
    func reportUnpublished(_ shown: String, _ reason: String) throws {
        try report(
            "notPublished", path: shown,
            "'\(shown)' cannot be read, and others don't have it yet: \(reason).",
            "Everything else goes on. Make it readable, or check the disk and bring the file back from a backup; it is tried again by itself."
        )
    }
}

extension Change {
    /// Whether this may take a record out of the folder that it was in, and says nothing of its bytes.
    fileprivate var takesOut: Bool {
        switch action {
        case .delete: true
        case .set(let fields): fields[.parent] != nil && fields[.content] == nil
        case .moved: false
        }
    }
}
