import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// A public share can be announced: every account of the container gets a letter with its link. The wish is kept by the
// device that was told, for one link: when that holds no more, what was announced is withdrawn. Who may join is said by the
// control alone.

private let announcedPrefix = "announced."
private let sentPrefix = "sent.announced."

/// What came of sending a letter to an account that may be anybody's.
private enum Sending {
    case sent, nobody, failed
}

extension LetterRow {
    /// Whether it tells of a public share, and nobody was asked.
    var isAnnouncement: Bool { kind == Letter.Kind.announced.rawValue }
}

extension Engine {
    /// The most letters of this kind that are sent at a look at the inbox, of each share.
    private var announcedAtOnceMax: Int { 100 }
    /// The most accounts that a share is announced to: anybody with the mount can make accounts.
    private var announcedMax: Int { 10_000 }
    /// The most announcements of one sender that wait here; more are passed over.
    var announcementsKeptMax: Int { 200 }

    // MARK: Telling

    /// The key and the text of the link that everybody may join a public share by.
    func announcedLink(_ zone: ZoneInfo) throws -> (key: Digest32, text: String) {
        if let (key, _) = zone.control.publicLink {
            let text = try shareLink(zone)
            if try ShareLink(parsing: text).keys?.joinKey == key { return (key, text) }
        }
        throw RequestError(
            ExitCode.failed,
            "This device does not know the link of '\(zone.control.title)': another one has made it, and it is not encrypted.",
            "Do it on the device that made the share public, or make a new link with --new-link.")
    }

    /// Keeps that the present link of a share is to be announced.
    func noteAnnounced(_ zone: ZoneInfo) throws {
        let key = try announcedLink(zone).key
        try store.write { db in try db.setMetaText(announcedPrefix + "\(zone.id)", "\(key)") }
        inboxListed = nil
    }

    /// Tells whoever was not told yet of the shares that are announced, and that others are no more.
    func announceShares() throws {
        var announced: [ZoneID: Digest32] = [:]
        for (name, text) in try store.read({ db in try db.metaTexts(prefix: announcedPrefix) }) {
            if let id = ZoneID(hex: name.dropFirst(announcedPrefix.count)), let key = Digest32(hex: text),
                let zone = zones[id], zone.row.isMine, zone.control.publicLink?.key == key
            {
                announced[id] = key
            } else {
                try store.write { db in try db.setMetaText(name, nil) }
            }
        }
        try withdrawAnnouncements(but: announced)
        guard !announced.isEmpty else { return }
        let accounts = try directory.ids().filter { $0 != account }
        for id in announced.keys.sorted() {
            // Who opens the share must find what the link leads to.
            guard let zone = zones[id], zone.row.headCursor != nil else { continue }
            try announce(zone, to: accounts)
        }
    }

    private func sentKey(_ zone: ZoneID, _ account: AccountID, _ key: Digest32) -> String {
        "\(sentPrefix)\(zone).\(account).\(key)"
    }

    private func announce(_ zone: ZoneInfo, to accounts: [AccountID]) throws {
        // A link that this device does not know is announced by the one that made it.
        guard let (key, text) = try? announcedLink(zone), let link = zone.control.publicLink?.link else { return }
        let permission = min(link.permission, zone.control.publicPermission)
        var sent: [String: String] = [:]
        for (name, value) in try store.read({ db in try db.metaTexts(prefix: "\(sentPrefix)\(zone.id).") }) {
            sent[name] = value
        }
        guard sent.count < announcedMax else { return }
        var waiting = accounts.filter { other in
            sent[sentKey(zone.id, other, key)] != permission.rawValue && zone.control.admitsByLink(other)
        }
        // In turn: what is no account, or can't be written to, keeps nobody waiting.
        if let last = lastAnnouncedTo[zone.id], let next = waiting.firstIndex(where: { $0 > last }) {
            waiting = Array(waiting[next...] + waiting[..<next])
        }
        for other in waiting.prefix(announcedAtOnceMax) {
            lastAnnouncedTo[zone.id] = other
            var letter = Letter(
                kind: .announced, zone: zone.id, title: zone.control.title, permission: permission, joinKey: key)
            letter.link = text
            guard try sendIfPossible(letter, to: other) == .sent else { continue }
            try store.write { db in try db.setMetaText(sentKey(zone.id, other, key), permission.rawValue) }
        }
    }

    /// Withdraws what was announced of links that are announced no more.
    private func withdrawAnnouncements(but announced: [ZoneID: Digest32]) throws {
        var count = 0
        for (name, _) in try store.read({ db in try db.metaTexts(prefix: sentPrefix) }) {
            let parts = name.dropFirst(sentPrefix.count).split(separator: ".")
            guard parts.count == 3, let zone = ZoneID(hex: parts[0]), let other = Digest32(hex: parts[1]),
                let key = Digest32(hex: parts[2])
            else { continue }
            guard announced[zone] != key else { continue }
            guard count < announcedAtOnceMax else { return }
            let letter = Letter(kind: .withdrawn, zone: zone, joinKey: key)
            guard try sendIfPossible(letter, to: AccountID(other)) != .failed else { continue }
            count += 1
            try store.write { db in try db.setMetaText(name, nil) }
        }
    }

    /// Sends a letter to an account that somebody made, with whatever keys: what is wrong with it stops nothing else.
    private func sendIfPossible(_ letter: Letter, to other: AccountID) throws -> Sending {
        do {
            guard try directory.account(other) != nil else { return .nobody }
            try send(letter, to: other)
            return .sent
        } catch let error as CloudError {
            if error.code == .offline { throw error }
            return .failed
        }
    }

    // MARK: Being told

    /// Judges an announcement: only the owner of a share can announce it, with a link that names them.
    func takeAnnouncement(_ received: ReceivedLetter) throws -> LetterRow.State {
        let (letter, sender) = (received.letter, received.sender)
        let container = try store.read { db in try db.metaText("container") }
        guard let link = try? ShareLink(parsing: letter.link), link.zone == letter.zone, link.container == container,
            case .join = link.secret, let key = try? link.keys?.joinKey, key == letter.joinKey,
            link.ownerFingerprint == sender.fingerprint, letter.permission > .none, sender != account
        else { return .void }
        if zones[letter.zone]?.row.state == .active { return .accepted }
        guard try zoneFolder(letter.zone).presentOwner(expecting: link.ownerFingerprint) == sender else { return .void }
        return try store.write { db in
            let kind = letter.kind.rawValue
            let earlier = try db.letters(about: letter.zone, joinKey: key, from: sender)
            // Letters are read in any order.
            let withdrawn = earlier.last { $0.kind == Letter.Kind.withdrawn.rawValue }
            if let withdrawn, withdrawn.written >= received.wallMilliseconds { return .withdrawn }
            let same = earlier.filter(\.isAnnouncement)
            if same.contains(where: { $0.state == .declined }) { return .declined }
            for var other in same where other.state == .pending {
                if other.written > received.wallMilliseconds { return .done }
                other.state = .done
                try db.setLetter(other, nowMilliseconds: world.nowMilliseconds())
            }
            guard try db.pendingLetterCount(kind, from: sender) < announcementsKeptMax else { return .void }
            return .pending
        }
    }

    /// Takes an announcement away that its sender has withdrawn.
    func forgetAnnouncement(_ received: ReceivedLetter) throws {
        guard let key = received.letter.joinKey else { return }
        try store.write { db in
            for var row in try db.letters(about: received.letter.zone, joinKey: key, from: received.sender)
            where row.isAnnouncement && row.state == .pending && row.written <= received.wallMilliseconds {
                row.state = .withdrawn
                try db.setLetter(row, nowMilliseconds: world.nowMilliseconds())
            }
        }
    }

    /// The announcements that wait, the newest of each share.
    func pendingAnnouncements(_ db: Database) throws -> [LetterRow] {
        var newest: [ZoneID: LetterRow] = [:]
        for row in try db.letters(Letter.Kind.announced.rawValue, .pending) {
            guard let zone = row.zone, zones[zone]?.row.state != .active else { continue }
            if let other = newest[zone], other.written > row.written { continue }
            newest[zone] = row
        }
        return Array(newest.values)
    }
}
