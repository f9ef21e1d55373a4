import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    /// How often the inbox is listed, milliseconds.
    private var inboxMilliseconds: UInt64 { 10_000 }
    /// The most letters that are read in a round.
    private var lettersMax: Int { 200 }
    /// The most letters that are kept in mind, of anybody; more are left unread.
    private var lettersKnownMax: Int { 50_000 }

    /// Sends what others should know, and reads what they have sent.
    func exchangeLetters() throws {
        try sendInvitations()
        let now = world.uptimeMilliseconds()
        guard inboxListed.map({ now >= $0 + inboxMilliseconds }) ?? true || !unseenLetters.isEmpty else { return }
        inboxListed = now
        try announceShares()
        try readLetters()
        try joinAsked()
    }

    /// Enters shares that this account has asked for, once it is on their lists: an admin's device may have admitted it, whom
    /// it gets no letter from.
    private func joinAsked() throws {
        let prefix = askedKey(ZoneID.none).prefix { $0 != "." } + "."
        for (key, _) in try store.read({ db in try db.metaTexts(prefix: String(prefix)) }) {
            guard let id = ZoneID(hex: key.dropFirst(prefix.count)), zones[id]?.row.state != .active else { continue }
            do { _ = try join(id, fingerprint: nil) } catch let error as CloudError {
                guard error.concernsOneZone else { throw error }
            } catch is RequestError { continue }
        }
    }

    // MARK: Sending

    /// Sends a letter once: what was sent is kept, so that a round after a crash sends what is missing.
    func sendOnce(_ letter: Letter, to account: AccountID) throws {
        let key = "sent.\(letter.kind.rawValue).\(letter.zone).\(account).\(letter.generation)"
        guard try store.read({ db in try db.metaText(key) }) == nil else { return }
        try send(letter, to: account)
        try store.write { db in try db.setMetaText(key, "1") }
    }

    func send(_ letter: Letter, to account: AccountID) throws {
        guard let entry = try directory.account(account) else { return }
        var letter = letter
        letter.label = settings.label
        try Inbox(of: account, mount: world.mount, accounts: directory).send(
            letter, to: entry, identity: identity, nowMilliseconds: world.nowMilliseconds())
    }

    /// Invitations to own shares, once what they lead to is there; and that they hold no more.
    private func sendInvitations() throws {
        for zone in zones.values where zone.row.isMine && zone.row.kind == .share && zone.row.state == .active {
            guard !zone.control.isStopped, zone.row.headCursor != nil else { continue }
            for person in zone.control.participants.values.sorted(by: { $0.account < $1.account }) {
                var letter = Letter(
                    kind: .invitation, zone: zone.id, title: zone.control.title, permission: person.permission,
                    generation: person.generation)
                if person.status == .pending {
                    try sendOnce(letter, to: person.account)
                } else if person.status == .removed, !person.hasLeft, !person.hasDeclined, person.joinKey == nil {
                    letter.kind = .withdrawn
                    try sendOnce(letter, to: person.account)
                }
            }
        }
    }

    // MARK: Reading

    private func readLetters() throws {
        let inbox = Inbox(of: account, mount: world.mount, accounts: directory)
        let known = try store.read { db in try db.letterHashes() }
        let listed = try inbox.list()
        let fresh = listed.filter { !known.contains($0.key) }
        unseenLetters = unseenLetters.filter { fresh[$0.key] != nil }
        if listed.count >= Inbox.namesMax / 2 || known.count >= lettersKnownMax {
            try report(
                "inboxFull", "Somebody has put \(listed.count) files into your inbox in the container.",
                "Invitations may be missed: ask for links instead, and ask who has write access to the cloud folder.")
        } else {
            try clearProblem("inboxFull")
        }
        guard known.count < lettersKnownMax else { return }
        // What could not be read yet comes last, so that it keeps nothing else waiting.
        let order = fresh.sorted { (unseenLetters[$0.key] ?? 0, $0.key) < (unseenLetters[$1.key] ?? 0, $1.key) }
        for (hash, name) in order.prefix(lettersMax) {
            do {
                let received = try inbox.read(hash, name: name, identity: identity)
                let row = try take(received)
                try store.write { db in try db.setLetter(row, nowMilliseconds: world.nowMilliseconds()) }
                unseenLetters[hash] = nil
            } catch let error as CloudError {
                if error.code == .offline { throw error }
                let tries = (unseenLetters[hash] ?? 0) + 1
                // Bytes and sender may be seen late; what stays unreadable is none, and not looked at again.
                if error.code == .damaged && tries >= 3 || tries >= 30 {
                    unseenLetters[hash] = nil
                    try store.write { db in
                        try db.setLetter(
                            LetterRow(hash: hash, state: .void), nowMilliseconds: world.nowMilliseconds())
                    }
                } else {
                    unseenLetters[hash] = tries
                }
            }
        }
    }

    /// What becomes of a letter.
    private func take(_ received: ReceivedLetter) throws -> LetterRow {
        let letter = received.letter
        var row = LetterRow(
            hash: received.hash, kind: letter.kind.rawValue, state: .done, zone: letter.zone,
            account: received.sender, label: letter.label, title: letter.title, permission: letter.permission,
            generation: letter.generation, joinKey: letter.joinKey, written: received.wallMilliseconds,
            link: letter.link)
        switch letter.kind {
        case .invitation: row.state = try takeInvitation(letter, from: received.sender)
        case .announced: row.state = try takeAnnouncement(received)
        case .withdrawn where letter.joinKey != nil: try forgetAnnouncement(received)
        case .withdrawn:
            try store.write { db in
                // There may be a newer one already: letters come in any order.
                try db.settleLetters(
                    "invitation", zone: letter.zone, account: received.sender, upTo: letter.generation, .withdrawn)
            }
        case .declined: try takeRefusal(letter, of: received.sender)
        case .request: row.state = try takeRequest(letter, of: received.sender)
        case .denied:
            // Only who was asked can refuse.
            guard try store.read({ db in try db.metaText(askedKey(letter.zone)) }) == "\(received.sender)" else {
                break
            }
            let denied = Problem(
                code: "denied", zone: letter.zone,
                message: "\(letter.label) did not admit you to "
                    + (letter.title.isEmpty ? "a share that you asked for." : "'\(letter.title)'."),
                remedy: "Ask \(letter.label), and then again with 'shoebox accept --ask LINK'.")
            try report(denied) { db in try db.setMetaText(askedKey(letter.zone), nil) }
            row.state = .declined
        case .consent, .refusal: try noteAnswer(letter, from: received)
        }
        return row
    }

    /// Whether this account has asked to be admitted to a zone.
    func askedKey(_ zone: ZoneID) -> String { "asked.\(zone)" }

    private func takeInvitation(_ letter: Letter, from sender: AccountID) throws -> LetterRow.State {
        if let zone = zones[letter.zone], zone.row.state == .active {
            // A newer one waits for what may be read only after it: that this account was removed before.
            let known = zone.control.participants[account]?.generation ?? 0
            return zone.row.isMine || letter.generation <= known ? .accepted : .pending
        }
        let isWithdrawn = try store.read { db in
            try db.hasLetter("withdrawn", zone: letter.zone, account: sender, from: letter.generation)
        }
        if isWithdrawn { return .withdrawn }
        // Who was asked for it is let in at once; so is who takes part in a share of the same owner that went into this one.
        let hasAsked = try store.read { db in try db.metaText(askedKey(letter.zone)) } != nil
        let former = letter.replaces.flatMap { zones[$0] }
        let continues =
            former?.control.owner == sender && former.map { [.active, .ended].contains($0.row.state) } == true
        guard hasAsked || continues else { return .pending }
        do {
            _ = try join(letter.zone, fingerprint: nil)
            return .accepted
        } catch let error as CloudError {
            if error.code == .offline { throw error }
            return .pending
        } catch is RequestError { return .pending }
    }

    /// Somebody does not want an invitation: the owner takes them off the list.
    private func takeRefusal(_ letter: Letter, of sender: AccountID) throws {
        guard let zone = zones[letter.zone], zone.row.isMine, zone.row.kind == .share, zone.row.state == .active,
            let known = zone.control.participants[sender], known.takesPart, known.generation == letter.generation
        else { return }
        let heads = try heads(of: sender, in: zone.id)
        try changeControl(of: zone, newEpoch: true) { control in
            guard var person = control.participants[sender], person.takesPart, person.generation == letter.generation
            else { return }
            person.remove(at: heads)
            person.hasDeclined = true
            control.participants[sender] = person
        }
        log("\(letter.label) declined '\(zone.control.title)'")
    }

    // MARK: Invitations

    /// The invitations that wait, the newest of each share, and announcements of shares that there is no invitation to.
    func pendingInvitations(_ db: Database) throws -> [LetterRow] {
        var newest: [ZoneID: LetterRow] = [:]
        for row in try db.letters("invitation", .pending) {
            guard let zone = row.zone, zones[zone]?.row.state != .active else { continue }
            if let other = newest[zone], other.generation > row.generation { continue }
            newest[zone] = row
        }
        for row in try pendingAnnouncements(db) {
            if let zone = row.zone, newest[zone] == nil { newest[zone] = row }
        }
        return newest.values.sorted { ($0.title, $0.hash) < ($1.title, $1.hash) }
    }

    /// An invitation by its share's title or the start of its share's id.
    func pendingInvitation(_ text: String) throws -> LetterRow {
        let pending = try store.read { db in try pendingInvitations(db) }
        let found = pending.filter {
            $0.title == text || (text.count >= 6 && $0.zone?.description.hasPrefix(text.lowercased()) == true)
        }
        guard found.count == 1, let row = found.first else {
            let left = zones.values.first { $0.row.state == .left && $0.control.title == text }
            if found.isEmpty, let left {
                throw RequestError(
                    ExitCode.notFound, "No invitation '\(text)' is waiting; you left that share.",
                    "Its link lets you come back: 'shoebox accept LINK'. Or ask \(left.control.ownerLabel) to invite you again."
                )
            }
            throw RequestError(
                ExitCode.notFound,
                found.isEmpty
                    ? "No invitation '\(text)' is waiting." : "\(found.count) invitations are called '\(text)'.",
                "'shoebox accept --list' shows those that wait, with their ids.")
        }
        return row
    }

    /// Declines invitations: their owners are told. What was announced to everybody is only hidden.
    func decline(_ texts: [String]) throws -> Reply {
        _ = try openContainer()
        try readLettersNow()
        let rows = try texts.map(pendingInvitation)
        for row in rows {
            guard let zone = row.zone, let owner = row.account else { continue }
            guard !row.isAnnouncement else {
                try store.write { db in try db.settleLetters(row.kind, zone: zone, .declined) }
                continue
            }
            try send(Letter(kind: .declined, zone: zone, generation: row.generation), to: owner)
            try store.write { db in try db.settleLetters("invitation", zone: zone, .declined) }
        }
        return Reply(
            lines: rows.map { row in
                row.isAnnouncement
                    ? "'\(row.title)' from \(row.label) is listed no more."
                    : "Declined '\(row.title)' from \(row.label)."
            })
    }

    /// Looks into the inbox at once.
    func readLettersNow() throws {
        inboxListed = nil
        try exchangeLetters()
    }

    // MARK: Requests

    /// Somebody asks to be let into an own share: by a link that admits without a person, or to be decided.
    private func takeRequest(_ letter: Letter, of sender: AccountID) throws -> LetterRow.State {
        guard let zone = zones[letter.zone], zone.row.isMine, zone.row.kind == .share, zone.row.state == .active,
            !zone.control.isStopped
        else { return .void }
        if let known = zone.control.participants[sender], known.takesPart { return .accepted }
        guard let key = letter.joinKey else { return .pending }
        guard JoinLinkKeys.isValid(letter.joinSignature, of: key, zone: zone.id, account: sender) else {
            try send(Letter(kind: .denied, zone: zone.id), to: sender)
            return .void
        }
        return try judgeRequest(of: sender, label: letter.label, by: key, in: zone)
    }

    /// Judges somebody who asks by a link, by this device's clock and list: admits them, or leaves it to a person.
    func judgeRequest(
        of sender: AccountID, label: String, by key: Digest32, in zone: ZoneInfo
    ) throws -> LetterRow.State {
        let used = zone.control.participants.values.filter { $0.joinKey == key }.count
        guard let link = zone.control.openLinks[key], link.isRequest,
            link.expiresMilliseconds == 0 || world.nowMilliseconds() < link.expiresMilliseconds,
            link.countMax == 0 || UInt64(used) < link.countMax
        else {
            if zone.row.isMine { try send(Letter(kind: .denied, zone: zone.id), to: sender) }
            return .void
        }
        // Who was put out comes back only if a person says so.
        if isFull(zone.control) { return .pending }
        if link.needsApproval || zone.control.participants[sender].map({ !$0.hasLeft && !$0.hasDeclined }) == true {
            return .pending
        }
        try admit(sender, label: label, to: zone, permission: link.permission, joinKey: key)
        return .accepted
    }

    private func admit(
        _ account: AccountID, label: String, to zone: ZoneInfo, permission: Permission, joinKey: Digest32?
    ) throws {
        guard !isFull(zone.control) else {
            throw RequestError(
                ExitCode.failed,
                "'\(zone.control.title)' has \(settings.participantsMax) participants, which is the limit.",
                "Take out who is not needed with 'shoebox share uninvite', or raise limits.participantsMax in the configuration."
            )
        }
        let heads = try heads(of: account, in: zone.id)
        try changeControl(of: zone) { control in
            var person =
                control.participants[account]
                ?? Participant(account: account, label: label, permission: .none, status: .removed, generation: 0)
            guard !person.takesPart else { return }
            person.inviteAgain(permission, after: heads)
            person.label = label
            person.joinKey = joinKey
            control.participants[account] = person
        }
        log("admitted \(label) to '\(zone.control.title)'")
    }

    /// Whether a share has as many participants as it may.
    func isFull(_ control: Control) -> Bool {
        control.guests.count >= settings.participantsMax
    }

    /// Tells who took part in a share that another one takes it in, so that they go on there without being asked.
    func sendContinuations(of other: ZoneInfo, in zone: ZoneID) throws {
        guard let zone = zones[zone] else { return }
        for person in zone.control.guests.sorted(by: { $0.account < $1.account }) {
            guard let former = other.control.participants[person.account], former.takesPart,
                former.status == .accepted
            else { continue }
            var letter = Letter(
                kind: .invitation, zone: zone.id, title: zone.control.title, permission: person.permission,
                generation: person.generation)
            letter.replaces = other.id
            try send(letter, to: person.account)
        }
    }

    /// The requests that wait, of one share or all.
    func pendingRequests(_ db: Database, of zone: ZoneID? = nil) throws -> [LetterRow] {
        var seen: Set<String> = []
        return try db.letters("request", .pending).filter { row in
            guard let id = row.zone, let info = zones[id], let sender = row.account else { return false }
            guard zone == nil || id == zone, info.row.state == .active,
                info.control.participants[sender]?.takesPart != true
            else { return false }
            return seen.insert("\(id) \(sender)").inserted
        }
    }

    /// Admits, or refuses, accounts that have asked.
    func answerRequests(_ zone: ZoneInfo, _ names: [String], permission text: String?) throws -> Reply {
        _ = try openContainer()
        try readLettersNow()
        let pending = try store.read { db in try pendingRequests(db, of: zone.id) }
        let rows = try names.map { name -> LetterRow in
            let parts = name.split(separator: "#", maxSplits: 1).map(String.init)
            let found = pending.filter { row in
                guard let account = row.account else { return false }
                return (row.label == parts[0] || account.fingerprint == name)
                    && (parts.count < 2 || account.fingerprint.hasPrefix(parts[1]))
            }
            guard found.count == 1, let row = found.first else {
                throw RequestError(
                    ExitCode.notFound, "'\(name)' is not one who asks to be admitted to '\(zone.control.title)'.",
                    "'shoebox share requests' lists them with their fingerprints.")
            }
            return row
        }
        for row in rows {
            guard let sender = row.account else { continue }
            if let text {
                let link = row.joinKey.flatMap { zone.control.links[$0] }
                let wanted = text.isEmpty ? link?.permission ?? .readOnly : Permission(rawValue: text) ?? .none
                guard wanted > .none else {
                    throw RequestError(64, "'\(text)' is no permission.", "Use readOnly, contribute or readWrite.")
                }
                try admit(sender, label: row.label, to: zone, permission: wanted, joinKey: row.joinKey)
            } else {
                try send(Letter(kind: .denied, zone: zone.id, title: zone.control.title), to: sender)
            }
            try store.write { db in
                try db.settleLetters(
                    "request", zone: zone.id, account: sender, text == nil ? .declined : .accepted)
            }
        }
        pushSoon()
        try sendInvitations()
        return Reply(
            lines: rows.map {
                "\($0.label) was \(text == nil ? "not admitted" : "admitted") to '\(zone.control.title)'."
            })
    }

    /// Asks the owner of a zone to be admitted.
    func ask(_ link: ShareLink) throws -> Reply {
        let folder = zoneFolder(link.zone)
        let owner = try folder.presentOwner(expecting: link.ownerFingerprint)
        var letter = Letter(kind: .request, zone: link.zone, permission: .readOnly)
        if let keys = try link.keys {
            letter.joinKey = keys.joinKey
            letter.joinSignature = try keys.signature(zone: link.zone, account: account)
            // Where admins' devices see it, too.
            try folder.publishJoin(keys, identity: identity, nowMilliseconds: world.nowMilliseconds())
        }
        try send(letter, to: owner)
        try store.write { db in try db.setMetaText(askedKey(link.zone), "\(owner)") }
        try clearProblem("denied", zone: link.zone)
        let name = try directory.account(owner)?.label ?? link.ownerFingerprint
        return Reply(
            code: ExitCode.reported,
            lines: [
                "Asked \(name) to be admitted. The photos appear by themselves when a device of theirs has done so."
            ],
            values: ["id": link.zone.description], remedy: "Nothing to do here; 'shoebox status' shows the share then.")
    }
}
