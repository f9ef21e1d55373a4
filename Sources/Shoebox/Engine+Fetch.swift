import Foundation
import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// How long a zone's list of replicas is taken as known, milliseconds.
    private var replicaListMilliseconds: UInt64 { 10_000 }

    /// Reads what is new in every zone; returns how many changes arrived.
    @discardableResult
    public func fetchAll() throws -> Int {
        try openContainer()
        try reloadZones()
        var total = 0
        for id in zones.values.sorted(by: ZoneInfo.comesBefore).map(\.id)
        where [.active, .leaveOffered].contains(zones[id]?.row.state) {
            do {
                total += try fetch(id)
                try clearProblem("zoneUnreadable", zone: id)
            } catch let error as CloudError where error.concernsOneZone {
                try noteFormerChainRead(id)
                try report(
                    "zoneUnreadable", zone: id,
                    "What is new in '\(zones[id]?.control.title ?? "")' cannot be read: \(error.message).", error.remedy
                )
            }
        }
        return total
    }

    /// Reads what is new in one zone: heads, then controls, then segments. Damage in one chain stops that chain only.
    @discardableResult
    func fetch(_ id: ZoneID) throws -> Int {
        let folder = zoneFolder(id)
        guard let heads = try readHeads(id, folder: folder) else { return 0 }
        if let zone = zones[id] { try noteDevices(in: heads, zone: zone) }
        try readNewerControl(id, folder: folder)
        try readJoins(id, folder: folder)
        try admitJoined(id)
        try judgeControlsOfOthers(id, folder: folder, heads: heads)
        try obeyControl(id)
        try keepControlFiles(of: id, folder: folder)
        try answerWanted(id, heads: heads)
        guard let zone = zones[id], [.active, .leaveOffered].contains(zone.row.state) else { return 0 }
        try noteAcknowledged(in: zone)
        let count = try fetchChains(of: id)
        try noteFormerChainRead(id)
        try followAwaited(in: id)
        try followPinnedChains(id, folder: folder, heads: heads)
        try compareVectors(id, heads: heads)
        _ = try checkOwnVectors(id, heads: heads)
        try carryLost(id, folder: folder)
        let now = world.nowMilliseconds()
        if count > 0 || !isRecent(zone.row.asOf, now: now) {
            try store.write { db in
                guard var row = try db.zone(id) else { return }
                row.asOf = now
                if count > 0 { row.isHeadDirty = true }
                try db.setZone(row)
            }
        }
        zones[id]?.row = try store.read { db in try db.zone(id) } ?? zone.row
        try answerParticipants(id)
        return count
    }

    /// Notes that what this replica published under another id was read, as far as it can be: nothing waits for it any longer.
    private func noteFormerChainRead(_ id: ZoneID) throws {
        guard try store.read({ db in try db.isFormerChainUnread(in: id) }) else { return }
        try store.write { db in try db.setFormerChainUnread(false, in: id) }
    }

    /// Reads on in the chains of everybody whose head was read.
    @discardableResult
    func fetchChains(of id: ZoneID) throws -> Int {
        guard let zone = zones[id], let heads = knownHeads[id] else { return 0 }
        let folder = zoneFolder(id)
        var count = 0
        for peer in try store.read({ db in try db.peers(of: id) }) {
            guard let head = heads[peer.replica] else { continue }
            guard head.last != peer.applied else {
                // Also after the mount had been put back and what it lost was published again.
                for code in ["segmentDamaged", "rolledBack"] {
                    try clearProblems(code, in: id, below: "/log/\(peer.replica)")
                }
                continue
            }
            // The own chain is read only after the local state of the zone was forgotten.
            guard peer.replica != replica || head.last.sequence > peer.applied.sequence else { continue }
            guard try isKnown(head, in: zone), !isHeld(head, in: zone) else { continue }
            if isToJoin(head, after: peer, in: zone) {
                try waitNoMore(for: peer, in: id)
                continue
            }
            count += try readChain(peer, head: head, zone: zone, folder: folder)
            guard peer.replica == replica else { continue }
            try store.write { db in
                let applied = try db.peers(of: id).first { $0.replica == replica }?.applied
                if applied == head.last { try setOwnChainUnread(false, in: id, db) }
            }
        }
        return count
    }

    /// The most chains of one account that are read in a zone, and of all accounts: each is named in every head, and every change may
    /// name each. A device has another chain after each time that its state was put back.
    private var replicasMax: Int { 128 }
    private var replicasOfAllMax: Int { 3_000 }

    /// Whether one more replica of an account is read. Of strangers nothing is, and their heads, those of whoever might come by the
    /// link among them, keep nobody's from being read who takes part.
    private func mayCount(_ account: AccountID, in id: ZoneID, _ peers: [PeerRow]) -> Bool {
        guard let control = zones[id]?.control, control.knows(account) else { return true }
        let isListed = control.lists(account)
        let same = peers.compactMap(\.account).filter { control.knows($0) && control.lists($0) == isListed }
        return same.count < replicasOfAllMax && same.count { $0 == account } < replicasMax
    }

    private func isInExcess(_ replica: ReplicaID, in id: ZoneID, _ peers: [PeerRow]) -> Bool {
        excessReplicas[id]?[replica].map { !mayCount($0, in: id, peers) } ?? false
    }

    private func reportExcess(of account: AccountID, in id: ZoneID) throws {
        // Of who might come by the link, nobody can take anything out.
        guard zones[id]?.control.lists(account) == true else { return }
        try report(
            "tooManyReplicas", path: "zones/\(id)/heads", zone: id,
            "\(label(of: account)) publishes in '\(zones[id]?.control.title ?? "")' as more than \(replicasMax) replicas; what comes from further ones is not read.",
            "No honest device does so. Take them out of the share; the files of theirs in 'heads' and 'log' can be removed then."
        )
    }

    /// Polls every known replica's head, and looks for new replicas now and then. Nil if the zone isn't there at all.
    func readHeads(_ id: ZoneID, folder: ZoneFolder) throws -> [ReplicaID: HeadRecord]? {
        var peers = try store.read { db in try db.peers(of: id) }
        let now = world.uptimeMilliseconds()
        let knownReplicas = Set(peers.map(\.replica))
        let mentioned = Set((knownHeads[id] ?? [:]).values.flatMap(\.vector.keys))
        var listed: [ReplicaID: HeadCursor] = [:]
        if peers.count < 2 || !mentioned.isSubset(of: knownReplicas)
            || now >= (replicasListed[id] ?? 0) + replicaListMilliseconds || replicasListed[id] == nil
        {
            listed = try folder.replicas()
            // In one order, so that a simulation repeats itself.
            for (replica, cursor) in listed.sorted(by: { $0.key < $1.key })
            where !knownReplicas.contains(replica) && !isInExcess(replica, in: id, peers) {
                let isOwn = replica == self.replica
                if isOwn, zones[id]?.row.last == .start { continue }
                peers.append(PeerRow(replica: replica, cursor: Data(cursor.description.utf8)))
            }
            replicasListed[id] = now
        }
        var heads = knownHeads[id] ?? [:]
        var (isWhole, hasUnknown) = (true, false)
        let lastRead = headsRead[id]
        defer {
            headsRead[id] = HeadsRead(
                uptime: now, wall: world.nowMilliseconds(), isWhole: isWhole, hasUnknown: hasUnknown)
        }
        for var peer in Array(peers) where peer.replica != replica || peer.applied != zones[id]?.row.last {
            let stored = peer.cursor.flatMap { HeadCursor(String(decoding: $0, as: UTF8.self)) } ?? HeadCursor()
            var cursor = stored
            // After a restart the record behind the cursor is not in memory: read the file again if it is needed.
            if heads[peer.replica] == nil, peer.head != peer.applied || cursor.serial > 0 {
                cursor = HeadCursor(file: cursor.file)
            }
            let chain = ChainKey(zone: id, replica: peer.replica)
            if isLostAndJustRead(chain, now: now) { continue }
            let reading: HeadReading
            do { reading = try folder.readHead(peer.replica, from: cursor, newest: listed[peer.replica]) } catch {
                guard error.concernsOneZone else { throw error }
                isWhole = false
                try report(
                    "headUnreadable", path: "zones/\(id)/heads/\(peer.replica)", zone: id, error.message,
                    error.remedy)
                continue
            }
            // The mount may have been put back: look whether the own heads are still what they were, also where nobody else
            // publishes anything that could be missed.
            if reading.isReplaced {
                if shorterHeads.insert(chain).inserted { lookAtOwnHeads() }
                ownHeadsWritten[id] = nil
            } else {
                shorterHeads.remove(chain)
            }
            guard let newest = reading.newest else {
                for problem in reading.problems where problem.code != .notYet {
                    try report("headDamaged", path: problem.path, zone: id, problem.message, problem.remedy)
                }
                if peer.account == nil, peer.replica != replica { hasUnknown = true }
                try noteLost(reading, from: cursor, of: peer, before: stored, in: id)
                continue
            }
            try noteFound(chain)
            if peer.account == nil {
                guard mayCount(newest.account, in: id, peers) else {
                    excessReplicas[id, default: [:]][peer.replica] = newest.account
                    try reportExcess(of: newest.account, in: id)
                    continue
                }
                if let index = peers.firstIndex(where: { $0.replica == peer.replica }) {
                    peers[index].account = newest.account
                }
            }
            // A newer whole record says all that the damaged ones said: a crash while appending leaves such.
            try clearProblems("headDamaged", in: id, below: "/heads/\(peer.replica)")
            heads[peer.replica] = newest
            if zones[id]?.control.knows(newest.account) == true {
                try noteClock(of: newest, isNews: peer.cursor != nil && cursor.serial > 0, last: lastRead)
            }
            peer.account = newest.account
            peer.cursor = Data(reading.cursor.description.utf8)
            // Nobody waits for what a stranger says is there.
            if let zone = zones[id], zone.control.lists(newest.account), !givenUpChains.contains(chain) {
                // Nor for what is read only if its account comes back by the link.
                peer.head = isToJoin(newest, after: peer, in: zone) ? peer.applied : newest.last
            }
            peer.headTime = newest.content.wallMilliseconds
            let row = peer
            try store.write { db in try db.setPeer(row, in: id) }
        }
        if isWhole { try clearProblem("headUnreadable", zone: id) }
        knownHeads[id] = heads
        return heads
    }

    /// Whether a head is of somebody who takes part, or ever did. Anyone with the mount can put a valid head there; what
    /// it names is not looked at. Who was invited a moment ago is known with the next control.
    private func isKnown(_ head: HeadRecord, in zone: ZoneInfo) throws -> Bool {
        let path = "zones/\(zone.id)/heads/\(head.replica)"
        guard !zone.control.knows(head.account) else {
            try clearProblem("stranger", path: path, zone: zone.id)
            return true
        }
        try report(
            "stranger", path: path, zone: zone.id,
            "The account \(head.account.fingerprint) publishes in '\(zone.control.title)' without having been invited; nothing of it counts.",
            "If you know who that is, invite them; if not, ask who has write access to the cloud folder.")
        return false
    }

    /// Whether nothing more of a chain counts before its account joins by the public link. What was read until then never
    /// counts, and what they have said may be seen later than what they publish.
    private func isToJoin(_ head: HeadRecord, after peer: PeerRow, in zone: ZoneInfo) -> Bool {
        guard zone.control.admitsByLink(head.account) else { return false }
        guard let participant = zone.control.participants[head.account] else { return true }
        let last = participant.intervals[head.replica]?.last?.to?.sequence ?? 0
        return peer.applied.sequence >= last
    }

    /// Of a head that was read before its account left, or was taken out: nothing of it is missing.
    private func waitNoMore(for peer: PeerRow, in zone: ZoneID) throws {
        guard peer.head != peer.applied else { return }
        var row = peer
        row.head = row.applied
        try store.write { db in try db.setPeer(row, in: zone) }
    }

    /// Notes that a chain can't be read on; under its own path, by which it is taken back, whatever could not be read.
    private func reportSegment(_ error: CloudError, of replica: ReplicaID, in zone: ZoneInfo) throws {
        let chain = "zones/\(zone.id)/log/\(replica)"
        let path = error.path.contains("/log/\(replica)") ? error.path : chain
        try report("segmentDamaged", path: path, zone: zone.id, error.message, error.remedy)
    }

    /// Applies a replica's new segments, page by page, each together with the change token.
    func readChain(
        _ start: PeerRow, head: HeadRecord, zone: ZoneInfo, folder: ZoneFolder, isPinned: Bool = false
    ) throws -> Int {
        var peer = start
        let chain = ChainKey(zone: zone.id, replica: peer.replica)
        var count = 0
        while true {
            let page: SegmentPage
            do {
                page = try folder.readSegments(
                    of: peer.replica, after: peer.applied, upTo: head, isSealed: zone.control.isSealed,
                    keyring: zones[zone.id]?.keyring ?? zone.keyring, isPinned: isPinned)
            } catch {
                guard error.concernsOneZone else { throw error }
                try reportSegment(error, of: peer.replica, in: zone)
                return count
            }
            if !page.segments.isEmpty {
                count += try accept(page.segments, peer: &peer, zone: zone)
            }
            switch page.end {
            case .more: continue
            case .complete:
                forkedChains.remove(chain)
                try noteWaiting(for: chain, nil)
                for code in ["segmentDamaged", "rolledBack"] {
                    try clearProblems(code, in: zone.id, below: "/log/\(peer.replica)")
                }
                return count
            case .notYet(let error):
                if try takeCarried(&peer, head: head, zone: zone) { continue }
                try noteWaiting(for: chain, error)
                return count
            case .missingKey(let error):
                log("a key of '\(zone.control.title)' is not known yet: \(error)")
                // Whoever knew no newer control than this replica can't have got another key from one; and a newer one comes.
                if let control = head.control, try control.version <= zone.row.controlVersion || isOverdue(chain) {
                    try report(
                        "segmentDamaged", path: "zones/\(zone.id)/log/\(peer.replica)", zone: zone.id,
                        "\(label(of: head.account)) publishes in '\(zone.control.title)' under a key that no control names.",
                        "Everything else goes on. Ask them to update shoebox; if that is a surprise, remove them from the share."
                    )
                }
                return count
            case .expired:
                log("what \(peer.replica) wrote in '\(zone.control.title)' up to there was folded since then")
                return count
            case .fork(let error):
                forkedChains.insert(chain)
                try report(
                    "forked", path: "zones/\(zone.id)/log/\(peer.replica)", zone: zone.id,
                    "\(label(of: head.account)) has published two versions of one change in '\(zone.control.title)': \(error.message)",
                    error.remedy)
                return count
            case .rolledBack(let error):
                guard try carried(of: peer.replica, in: zone.id) < peer.applied.sequence else { return count }
                try report(
                    "rolledBack", path: error.path, zone: zone.id,
                    "\(label(of: head.account)) had published more in '\(zone.control.title)' than the cloud folder has now: up to \(peer.applied.sequence), not \(head.last.sequence).",
                    "Nothing is lost: if the cloud folder was put back to a backup, that device publishes again what is missing when it runs."
                )
                return count
            case .damaged(let error):
                if try takeCarried(&peer, head: head, zone: zone) { continue }
                if error.code == .damaged { try noteDamaged(chain) }
                try reportSegment(error, of: peer.replica, in: zone)
                return count
            }
        }
    }

    /// Stores verified segments: what their account may write counts, anything else is kept as refused.
    private func accept(_ segments: [Segment], peer: inout PeerRow, zone: ZoneInfo) throws -> Int {
        let control = zones[zone.id]?.control ?? zone.control
        let now = world.nowMilliseconds()
        var refused = 0
        var count = 0
        var touched: Set<RecordName> = []
        var next = peer
        var findings = SnapshotFindings()
        try store.write { db in
            var clock = try db.clock()
            var history = FetchedHistory(author: "fetch:\(zone.id)", timeMilliseconds: now)
            for segment in segments {
                if segment.snapshotFirst > 0 {
                    let taken = try takeSnapshot(
                        segment, in: zone.id, after: next.applied, control: control, history: &history,
                        findings: &findings, db)
                    count += taken.count
                    refused += taken.refused
                    touched.formUnion(taken.touched)
                    for timestamp in taken.timestamps { clock.receive(timestamp, nowMilliseconds: now) }
                }
                for transaction in segment.transactions where segment.snapshotFirst == 0 {
                    let bundle = Data(transaction.id.bigEndianColumn)
                    let sequence = segment.position.sequence
                    guard transaction.isLast else {
                        for change in transaction.changes {
                            try db.stage(
                                bundle: bundle, zone: zone.id, replica: segment.replica, sequence: sequence,
                                account: segment.account, payload: Data(encodePart(change)))
                        }
                        continue
                    }
                    let staged = try db.unstage(bundle: bundle, zone: zone.id, replica: segment.replica).flatMap {
                        try decodeParts($0.payload)
                    }
                    // All of it counts, or none: whoever lost the right between its parts had not finished it.
                    let scope = control.scope(
                        segment.account, segment.replica, sequence: sequence, device: segment.device.digest)
                    let token = try history.begin(db)
                    let known = count
                    for change in staged + transaction.changes {
                        let mayCount =
                            scope == .carried
                            || scope > .nothing
                                && !Database.isCarried(change, by: segment.replica, segment.account)
                        let standing: ChangeStanding =
                            !isWellFormed(change, control: control) ? .malformed : mayCount ? .accepted : .refused
                        if !standing.counts { refused += 1 }
                        touched.insert(change.record)
                        if try db.insert(
                            change, zone: zone.id, account: segment.account, sender: segment.replica,
                            sequence: sequence, standing: standing, token: token, scope: scope)
                        {
                            count += 1
                        }
                        if standing.counts { clock.receive(change.timestamp, nowMilliseconds: now) }
                    }
                    if count == known { history.takeBack(token) }
                }
                try db.setPosition(segment.position, of: segment.replica, in: zone.id)
                next.applied = segment.position
                next.account = segment.account
            }
            try db.judgeOwn(touched, in: zone.id)
            if let first = history.first {
                refused += try db.refusedCount(since: first, in: zone.id, scope: .own)
            }
            try db.setClock(clock)
            try db.setPeer(next, in: zone.id)
            // Who folds a chain waits for the owner's word that the snapshot was read, which need not bring any change.
            if zone.row.isMine, segments.contains(where: { $0.snapshotFirst > 0 }) { try markHeadDirty(zone.id, db) }
        }
        peer = next
        if let segment = segments.last { try name(findings, in: segment, zone: zone) }
        if refused > 0 {
            let who = segments.first.map { label(of: $0.account) } ?? ""
            try report(
                "refused", path: nil, zone: zone.id,
                "\(refused) changes by \(who) in '\(zone.control.title)' do not count: \(who) may not make them, or not any more.",
                "Nothing is to be done: nothing was changed by them, and who was in the middle of an edit when it ended keeps it as a private copy. If you expected none, ask who has write access to the cloud folder."
            )
        }
        log("fetched \(count) changes of '\(zone.control.title)'")
        return count
    }

    /// Whether a change is one that its sender may send at all, whatever the permission.
    func isWellFormed(_ change: Change, control: Control) -> Bool {
        if change.type == .placement, control.kind != .privateZone { return false }
        if change.record == .zoneRoot { return false }
        if let asset = change.content, asset.size > AssetStore.sizeMax { return false }
        return change.dot.counter > 0 && change.dot.counter <= Dot.counterMax
            && change.context.entries.allSatisfy { $0.counter <= Dot.counterMax }
    }
}

extension CloudError {
    /// Whether the other zones of the container can be worked on all the same.
    var concernsOneZone: Bool { code != .offline && cause?.code != .full }
}

extension Control {
    /// Whether an account is on the zone's list, as who takes part or took part once.
    func lists(_ account: AccountID) -> Bool { account == owner || participants[account] != nil }

    /// Whether an account is on the list, or may come as anybody may.
    func knows(_ account: AccountID) -> Bool {
        account == owner || participants[account] != nil || publicPermission > .none
    }
}
