import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// What of a photo somebody has changed that goes to another zone at the same time.
struct RewrittenDetails {
    /// Fields of its record.
    var fields: Set<FieldKey> = []
    /// The normalized titles of tags that it was taken out of.
    var tags: Set<String> = []
    /// Whether the account's own rating was changed.
    var isRated = false

    /// Adds what edits of a sidecar write over, or take away.
    mutating func formUnion(_ edits: [SidecarEdit]) {
        for edit in edits where edit.isAcceptable {
            switch edit {
            case .setCaption, .clearCaption: fields.insert(.caption)
            case .setCustom(let key, _), .clearCustom(let key): fields.insert(.custom(key))
            case .removeTag(let title): tags.insert(normalizedTagName(title))
            case .setRating, .clearRating: isRated = true
            case .addTag: break
            }
        }
    }
}

/// Writes one history transaction: own changes, each with the next dot and timestamp. Used inside one database write.
struct HistoryWriter {
    let db: Database
    let replica: ReplicaID
    let account: AccountID
    let author: String
    let nowMilliseconds: UInt64
    private(set) var count = 0
    /// The zones in which what others wrote may be carried.
    private let owned: Set<ZoneID>
    /// What of records is written anew after this transaction moved them: what they had before doesn't go into another share.
    var rewritten: [RecordID: RewrittenDetails] = [:]
    /// Records that this transaction moved to another zone, by what they were; one that was moved twice, step by step.
    private(set) var carried: [RecordID: RecordID] = [:]
    private var clock: HybridClock
    private var token: Int64?
    private var counter: UInt64

    init(_ db: Database, engine: Engine, author: String) throws {
        self.db = db
        replica = engine.replica
        account = engine.account
        self.author = author
        owned = Set(engine.zones.values.filter { $0.control.owner == engine.account }.map(\.id))
        nowMilliseconds = engine.world.nowMilliseconds()
        clock = try db.clock()
        counter = try db.lastCounter()
    }

    /// Notes that a record of this account's tree goes by another id from now on.
    mutating func carry(_ old: RecordID, to new: RecordID) {
        carried[old] = new
        carried[new] = nil
    }

    /// The record as it is now: where this transaction moved it to.
    func present(_ id: RecordID) -> RecordID {
        var now = id
        while let next = carried[now] { now = next }
        return now
    }

    private mutating func openToken() throws -> Int64 {
        if let token { return token }
        let opened = try db.beginHistory(author: author, timeMilliseconds: nowMilliseconds)
        token = opened
        return opened
    }

    /// Writes one change and returns it. `timestamp` is given for derived changes only, from their causes.
    @discardableResult
    mutating func write(
        _ id: RecordID, type: RecordType, _ action: Change.Action, context: VersionVector = [:],
        isDerived: Bool = false, timestamp: HybridTimestamp? = nil, movedFrom: ZoneID? = nil
    ) throws -> Change {
        if !context.isEmpty { try skipClaimed(id) }
        let change = Change(
            record: id.name, type: type, dot: nextDot(), context: context, timestamp: timestamp ?? nextTimestamp(),
            author: account, action: action, isDerived: isDerived, movedFrom: movedFrom)
        try insert(change, zone: id.zone)
        return change
    }

    /// The identity of the next own change.
    mutating func nextDot() -> Dot {
        counter += 1
        return Dot(replica: replica, counter: counter)
    }

    /// The time of the next own edit.
    mutating func nextTimestamp() -> HybridTimestamp { clock.next(nowMilliseconds: nowMilliseconds, replica: replica) }

    /// Passes over numbers that somebody claims to have seen although they were never given: a change under such a number
    /// would be covered before it is written. Where that leaves no numbers, the replica needs another name.
    private mutating func skipClaimed(_ id: RecordID) throws {
        guard let claimed = try db.state(of: id)?.mostClaimed(of: replica), claimed > counter else { return }
        if claimed < Dot.counterMax / 2 {
            counter = claimed
        } else {
            try db.setMetaText(Engine.replicaExhaustedKey, replica.description)
        }
    }

    /// Writes a change as it is: one that is carried from another zone.
    mutating func insert(_ change: Change, zone: ZoneID) throws {
        let token = try openToken()
        try db.insert(
            change, zone: zone, account: account, sender: replica, sequence: 0, standing: .pending, token: token,
            scope: owned.contains(zone) ? .carried : .all)
        count += 1
    }

    /// Stores the clock and the counter; call once, at the end, in the same database write.
    func finish() throws {
        guard token != nil else { return }
        try db.setClock(clock)
        try db.setLastCounter(counter)
    }
}
