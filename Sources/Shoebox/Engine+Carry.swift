import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// What somebody else published can be lost from the container, and that device may never come again. A device of the zone's
// owner then publishes what it has accepted of it, with dots, times and authors kept: `Documentation/Design/Compaction.md`.

extension Engine {
    private func lostKey(_ zone: ZoneID, _ replica: ReplicaID) -> String { "lost.\(zone).\(replica)" }
    // Of what former versions carried, a part was left out that could still be read then.
    private func carriedPrefix(_ zone: ZoneID) -> String { "carriedAll.\(zone)." }
    private func carriedKey(_ zone: ZoneID, _ replica: ReplicaID) -> String { "\(carriedPrefix(zone))\(replica)" }

    /// Up to which segment of another replica's chain this one publishes what counts; 0 for none.
    func carried(of replica: ReplicaID, in zone: ZoneID) throws -> UInt64 {
        UInt64(bitPattern: try store.read { db in try db.metaNumber(carriedKey(zone, replica)) } ?? 0)
    }

    /// As `carried`, of all chains, as the own head says it.
    func carriedPositions(in zone: ZoneID, _ db: Database) throws -> [ReplicaID: Position] {
        var result: [ReplicaID: Position] = [:]
        for (key, _) in try db.metaTexts(prefix: carriedPrefix(zone)) {
            guard let subject = key.split(separator: ".").last.flatMap({ ReplicaID(hex: $0) }),
                let sequence = try db.metaNumber(key).map({ UInt64(bitPattern: $0) })
            else { continue }
            result[subject] = try db.position(sequence, of: subject, in: zone)
        }
        return result
    }

    /// Publishes what the container does not show any more of other replicas' chains, where nobody else will: at once for
    /// those that were retired or put out, for others a day after it was first missed. In a share that has stopped, too: the
    /// owner's other devices go on reading it.
    ///
    /// - Parameter isAsked: whether a person wants it now.
    func carryLost(_ id: ZoneID, folder: ZoneFolder, isAsked: Bool = false) throws {
        guard let zone = zones[id], zone.row.isMine, zone.row.state == .active else { return }
        let uptime = world.uptimeMilliseconds()
        guard isAsked || lostLookedFor[id].map({ uptime >= $0 + 30_000 }) ?? true else { return }
        lostLookedFor[id] = uptime
        let now = world.nowMilliseconds()
        for peer in try store.read({ db in try db.peers(of: id) })
        where peer.replica != replica && peer.applied.sequence > 0 {
            let key = lostKey(id, peer.replica)
            guard try carried(of: peer.replica, in: id) < peer.applied.sequence else { continue }
            let since = try store.read { db in try db.metaNumber(key) }.map { UInt64(bitPattern: $0) }
            let isGone = try store.read { db in try self.isGone(peer, in: zone, db) }
            let wait = isGone ? unseenMilliseconds : settings.carryMilliseconds
            let isDue = since.map { $0 <= now && now - $0 >= wait } ?? false
            let isWished = isWished(peer.replica, in: id)
            // Who has read a chain does not miss a segment of it. To look takes long, and anybody may ask.
            if isWished, !isAsked, !isDue, !isLookDue(at: ChainKey(zone: id, replica: peer.replica)) { continue }
            let readsAll = isAsked || isWished
            guard try shown(of: peer, in: zone, folder: folder, readsAll: readsAll) != nil else {
                if try store.read({ db in try db.metaNumber(key) }) != nil {
                    try store.write { db in try db.setMetaText(key, nil) }
                }
                continue
            }
            guard let since, since <= now else {
                try store.write { db in try db.setMetaNumber(key, Int64(bitPattern: now)) }
                guard isAsked else { continue }
                try carry(peer, in: zone)
                continue
            }
            guard isAsked || isDue else { continue }
            try carry(peer, in: zone)
        }
    }

    /// Whether somebody of the zone asks for a segment of a chain.
    private func isWished(_ subject: ReplicaID, in id: ZoneID) -> Bool {
        let wish = HeadContent.wantedChain(of: subject)
        return (knownHeads[id] ?? [:]).values.contains { head in
            head.replica != subject && head.content.wanted.contains(wish)
                && zones[id]?.control.lists(head.account) == true
        }
    }

    /// Whether a chain is to be read from its start once more, as it is once an hour.
    private func isLookDue(at chain: ChainKey) -> Bool {
        let now = world.uptimeMilliseconds()
        guard wishesLookedAt[chain].map({ now >= $0 + 3_600_000 }) ?? true else { return false }
        wishesLookedAt[chain] = now
        return true
    }

    /// Whether a replica will not publish again: its device is retired, or its account takes no part any more.
    func isGone(_ peer: PeerRow, in zone: ZoneInfo, _ db: Database) throws -> Bool {
        if zone.control.retired.values.contains(where: { $0[peer.replica] != nil }) { return true }
        guard let account = peer.account else { return false }
        if let device = try db.devices()[peer.replica],
            directory.cached(account)?.devices[DeviceID(device)]?.isRetired == true
        {
            return true
        }
        guard account != zone.control.owner else { return false }
        return zone.control.isStopped || zone.control.participants[account]?.takesPart != true
    }

    /// Up to which segment a newcomer could read a chain that was read further here; nil where all of that is there.
    ///
    /// - Parameter readsAll: whether all segments are read, and not only the head.
    private func shown(of peer: PeerRow, in zone: ZoneInfo, folder: ZoneFolder, readsAll: Bool) throws -> UInt64? {
        let chain = ChainKey(zone: zone.id, replica: peer.replica)
        var head = knownHeads[zone.id]?[peer.replica]
        if head == nil || shorterHeads.contains(chain) || (head?.last.sequence ?? 0) < peer.applied.sequence {
            // Once more from its start: what is remembered of it may be more than is left.
            let cursor = peer.cursor.flatMap { HeadCursor(String(decoding: $0, as: UTF8.self)) } ?? HeadCursor()
            head = try folder.readMovedHead(peer.replica, from: HeadCursor(file: cursor.file)).newest
            guard let head, head.last.sequence >= peer.applied.sequence else { return head?.last.sequence ?? 0 }
        }
        if readsAll, let head, let end = try readable(head, in: zone, folder: folder), end < peer.applied.sequence {
            return end
        }
        guard let head, head.floor > 1, let end = head.content.snapshot else { return nil }
        // A snapshot that was made too late stands where what counts has been.
        let isCounted = zone.control.counts(head.account, peer.replica, sequence: end.sequence)
        let device = head.device.digest
        let isRetired =
            zone.control.scope(head.account, peer.replica, sequence: end.sequence, device: device) == .nothing
        return isCounted && !isRetired ? nil : 0
    }

    /// How far a chain can be read from its start, or from its snapshot; nil for to its end.
    ///
    /// - Parameter isPinned: whether the head names the version that counts, where there are two.
    func readable(
        _ head: HeadRecord, in zone: ZoneInfo, folder: ZoneFolder, isPinned: Bool = false
    ) throws -> UInt64? {
        var position = Position.start
        while true {
            let page = try folder.readSegments(
                of: head.replica, after: position, upTo: head, isSealed: zone.control.isSealed, keyring: zone.keyring,
                isPinned: isPinned)
            position = page.segments.last?.position ?? position
            switch page.end {
            case .complete: return nil
            case .more: continue
            case .notYet, .damaged:
                // Of a snapshot that can't be read to its end nothing counts, and what it stands for has earlier numbers.
                let isInSnapshot = head.floor > 1 && position.sequence < head.content.snapshot?.sequence ?? 0
                return isInSnapshot ? 0 : position.sequence
            case .missingKey where isPinned, .fork where isPinned: return position.sequence
            // Of a fork nobody knows which version is right, and the rest is no loss.
            case .missingKey, .fork, .rolledBack, .expired: return nil
            }
        }
    }

    /// Publishes what counts of a chain, and notes that this replica vouches for it from now on: all of it, as what can be read there
    /// today may be lost tomorrow, and who can't read it then goes by what the own head says of it.
    private func carry(_ peer: PeerRow, in zone: ZoneInfo) throws {
        guard try store.read({ db in try db.outbox(of: zone.id) }).isEmpty, try checkOwnChain(zone.id) else { return }
        // What is read of a transaction, and not yet all of it, counts for nothing here: to vouch for it would be to lose it.
        let staged = try store.read { db in try db.firstStaged(in: zone.id, by: peer.replica) }
        let end = min(peer.applied.sequence, staged.map { $0 - 1 } ?? .max)
        guard try end > carried(of: peer.replica, in: zone.id) else { return }
        let id = world.randomBytes(16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        let count = try store.write { db in
            let lost = try db.acceptedChanges(in: zone.id, by: peer.replica, after: 0)
            try db.setMetaNumber(carriedKey(zone.id, peer.replica), Int64(bitPattern: end))
            guard !lost.isEmpty, var row = try db.zone(zone.id) else { return 0 }
            let whole = SegmentTransaction(id: id, changes: lost.map(\.change))
            for part in SegmentBuilder.split([whole], changesMax: settings.segmentChangesMax) {
                let segment = try SegmentCoder.encode(
                    part, zone: zone.id, after: row.last, isSealed: zone.control.isSealed, keyring: zone.keyring,
                    identity: identity, randomBytes: world.randomBytes)
                try db.setOutbox(segment.position, bytes: segment.bytes, zone: zone.id)
                row.last = segment.position
            }
            // As whoever reads it judges it: by the segment that ends it.
            try db.vouch(for: lost.map(\.id), as: account, replica, sequence: row.last.sequence)
            row.isHeadDirty = true
            try db.setZone(row)
            return lost.count
        }
        zones[zone.id]?.row = try store.read { db in try db.zone(zone.id) } ?? zone.row
        for code in ["rolledBack", "segmentMissing", "cutShort"] {
            try clearProblems(code, in: zone.id, below: "/log/\(peer.replica)")
        }
        try noteFound(ChainKey(zone: zone.id, replica: peer.replica))
        log("published \(count) changes again that \(peer.replica) had published in '\(zone.control.title)'")
    }
}
