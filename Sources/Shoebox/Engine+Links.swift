import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

extension Engine {
    private func linkKey(_ zone: ZoneID) -> String { "linkSecret.\(zone)" }

    /// This identity, with what the link is good for that the account joined a zone by.
    func reader(of zone: ZoneID) throws -> Identity {
        guard let text = try store.read({ db in try db.metaText(linkKey(zone)) }), let secret = decodeHex(text),
            let keys = try? JoinLinkKeys(secret: secret)
        else { return identity }
        return try identity.opening(with: keys)
    }

    /// Keeps the secret by which the account joined a zone: it opens the zone until its owner has listed the account.
    func keepLink(_ keys: JoinLinkKeys?, of zone: ZoneID) throws {
        try store.write { db in try db.setMetaText(linkKey(zone), keys.map { encodeHex($0.secret) }) }
    }

    /// A control as it counts here: with who has joined by the link that it names, before its owner has listed them.
    func withJoined(_ control: Control, zone: ZoneID, _ db: Database) throws -> Control {
        guard control.publicLink != nil else { return control }
        var result = control
        for join in try db.joins(of: zone) {
            result.admitByLink(join.account, label: join.label, joinKey: join.joinKey, at: [:])
        }
        return result
    }

    /// Reads who joins a zone by its public link; true if somebody is new.
    func readJoins(_ id: ZoneID, folder: ZoneFolder) throws {
        guard let zone = zones[id], zone.control.publicLink != nil || answersRequests(zone) else { return }
        let now = world.uptimeMilliseconds()
        // Who publishes and is on no list may just have joined: what they say is read before it is judged.
        let unlisted = (knownHeads[id] ?? [:]).filter { zone.control.admitsByLink($0.value.account) }
            .mapValues(\.serial)
        let isAsked = unlisted != joinsAwaited[id] ?? [:]
        guard isAsked || joinsListed[id].map({ now >= $0 + 10_000 }) ?? true else { return }
        joinsListed[id] = now
        joinsAwaited[id] = unlisted
        var isNew = false
        let names = try folder.joinNames().filter { !judgedJoins.contains($0.key) }
        for (hash, name) in names.sorted(by: { $0.key < $1.key }).prefix(ZoneFolder.joinsMax) {
            do {
                let join = try folder.readJoin(hash, name: name)
                judgedJoins.insert(hash)
                let added = try store.write { db in
                    try db.addJoin(id, account: join.account, joinKey: join.joinKey, label: join.label)
                }
                isNew = isNew || added
            } catch let error as CloudError {
                if error.code == .offline { throw error }
                // What strangers put there is passed over; what may be seen later is tried again.
                if error.code == .damaged { judgedJoins.insert(hash) }
            }
        }
        guard isNew else { return }
        guard zone.control.publicLink != nil else { return }
        let row = zone.row
        let raw = try ControlCoder.decode(Array(row.control))
        try keep(
            raw, version: ControlVersion(version: row.controlVersion, hash: row.controlHash), keyring: zone.keyring,
            in: id)
    }

    /// Whether this account answers people who ask by a link: as an admin; the owner has letters of theirs.
    private func answersRequests(_ zone: ZoneInfo) -> Bool {
        !zone.row.isMine && zone.row.state == .active && can(.invite, account: account, in: zone.control)
            && zone.control.openLinks.values.contains(where: \.isRequest)
    }

    /// Admits, as an admin, who asks by a link that admits without a person; notes others for a person to decide.
    func answerJoinRequests(_ id: ZoneID) throws {
        guard let zone = zones[id], answersRequests(zone) else { return }
        for join in try store.read({ db in try db.joins(of: id) }) {
            guard let present = zones[id], let link = present.control.openLinks[join.joinKey], link.isRequest,
                present.control.participants[join.account]?.takesPart != true
            else { continue }
            // A letter by another way: told apart from all others by zone, account and link.
            let (who, key) = (join.account.digest, join.joinKey)
            let hash = Digest32(high: who.high ^ key.high, low: who.low ^ key.low ^ id.digest.low)
            guard try store.read({ db in try !db.letterHashes().contains(hash) }) else { continue }
            guard isItsTurn("\(id) \(hash)") else { continue }
            var row = LetterRow(
                hash: hash, kind: Letter.Kind.request.rawValue, state: .pending, zone: id, account: join.account,
                label: join.label, permission: link.permission, joinKey: join.joinKey)
            row.state = try judgeRequest(of: join.account, label: join.label, by: join.joinKey, in: present)
            try store.write { db in try db.setLetter(row, nowMilliseconds: world.nowMilliseconds()) }
        }
    }

    /// Lists in the control of an own share who has joined by its link, before anything more of them is read: what was
    /// read before, while they had no right to write, never counts.
    func admitJoined(_ id: ZoneID) throws {
        guard let zone = zones[id], zone.row.isMine, zone.row.state == .active, zone.control.publicLink != nil else {
            return
        }
        guard try ControlCoder.decode(Array(zone.row.control)) != zone.control else { return }
        let joins = try store.read { db in try db.joins(of: id) }
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for join in joins { positions[join.account] = try heads(of: join.account, in: id) }
        try changeControl(of: zone) { control in
            for join in joins {
                control.admitByLink(
                    join.account, label: join.label, joinKey: join.joinKey, at: positions[join.account] ?? [:])
            }
        }
    }

    /// Who loses access if a share is made public, or private, as asked: those who have not accepted yet, or those who
    /// came by the link.
    static func losers(of control: Control, publicPermission: Permission, renews: Bool) -> [Participant] {
        control.participants.values.filter { person in
            guard person.takesPart else { return false }
            if publicPermission == .none { return person.isPublic }
            return control.publicPermission == .none && person.status == .pending
        }.sorted { ($0.label, $0.account) < ($1.label, $1.account) }
    }

    /// Sets what people may do who come by the link. On: invitations that wait are dropped, who has accepted stays. Off:
    /// who came by the link loses access, who was invited stays. Each time it is turned on there is a new link.
    func setPublic(_ zone: ZoneInfo, _ text: String, renews: Bool, announces: Bool) throws -> Reply {
        guard announces else { return try setPublic(zone, text, renews: renews) }
        guard text != Permission.none.rawValue else {
            throw RequestError(64, "A private share can't be announced.", "Leave out --announce, or make it public.")
        }
        // Before anything is changed.
        if !renews, zone.control.publicLink != nil { _ = try announcedLink(zone) }
        var reply = try setPublic(zone, text, renews: renews)
        try noteAnnounced(zones[zone.id] ?? zone)
        reply.lines.append("Every account of this container is told of it, and who comes later, too.")
        reply.values["announced"] = "true"
        return reply
    }

    private func setPublic(_ zone: ZoneInfo, _ text: String, renews: Bool) throws -> Reply {
        guard zone.row.state == .active, !zone.control.isStopped else { throw endedError(zone) }
        guard let permission = Permission(rawValue: text) else {
            throw RequestError(64, "'\(text)' is no permission.", "Use none, readOnly, contribute or readWrite.")
        }
        try fetchAnew(zone.id)
        let fresh = zones[zone.id] ?? zone
        if permission == fresh.control.publicPermission, !renews || permission == .none,
            permission > .none || fresh.control.openLinks.isEmpty
        {
            return try publicReply(fresh, losers: [])
        }
        let losers = Self.losers(of: fresh.control, publicPermission: permission, renews: renews)
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for person in fresh.control.participants.values {
            positions[person.account] = try heads(of: person.account, in: zone.id)
        }
        let keys = try JoinLinkKeys(secret: world.randomBytes(32))
        let isFirst = fresh.control.publicLink == nil
        try changeControl(of: fresh, newEpoch: permission == .none || renews) { control in
            let gone = Self.losers(of: control, publicPermission: permission, renews: renews)
            for person in gone {
                control.participants[person.account]?.remove(at: positions[person.account] ?? [:])
                // Whose invitation is dropped because everybody may come was not put out, and may come by the link, too.
                if permission > .none { control.participants[person.account]?.isPublic = true }
            }
            if permission == .none || renews {
                // Who came by the link and left comes back by another one, if by any.
                for (account, person) in control.participants
                where !person.takesPart && person.isPublic && person.hasLeft {
                    control.participants[account]?.remove(at: positions[account] ?? [:])
                }
            }
            if permission == .none || renews || isFirst {
                for (key, link) in control.links where permission == .none || !link.isRequest {
                    control.links[key] = link.turnedOff
                }
            }
            control.publicPermission = permission
            guard permission > .none else { return }
            if renews || isFirst {
                control.links[keys.joinKey] = JoinLink(
                    permission: permission, agreementKey: control.isSealed ? keys.agreementKey : [],
                    secret: control.isSealed ? keys.secret : [])
            } else if let (key, _) = control.openLinks.first(where: { !$0.value.isRequest }) {
                control.links[key]?.permission = permission
            }
            for (account, person) in control.participants where person.isPublic && person.takesPart {
                control.participants[account]?.setPermission(permission, at: positions[account] ?? [:])
                if renews { control.participants[account]?.joinKey = keys.joinKey }
            }
        }
        if permission > .none, renews || isFirst { try keepLink(keys, of: zone.id) }
        if permission == .none { try keepLink(nil, of: zone.id) }
        // So that what was announced is withdrawn with the next look at the letters.
        inboxListed = nil
        pushSoon()
        var reply = try publicReply(zones[zone.id] ?? fresh, losers: losers)
        let asking = permission == .none ? fresh.control.openLinks.values.filter(\.isRequest).count : 0
        if asking > 0 { reply.lines.append("ended: \(asking == 1 ? "the link" : "\(asking) links") to ask by") }
        return reply
    }

    /// Refuses to change who is on the list of a public share: whoever has the link joins, and reads with it.
    func refuseIfPublic(_ zone: ZoneInfo) throws {
        guard zone.control.publicPermission > .none else { return }
        throw RequestError(
            ExitCode.notPermitted,
            "'\(zone.control.title)' is public: whoever has its link takes part, whoever is on its list.",
            "Make it private first with 'shoebox share public \(zone.control.title) none'; then people are invited and removed by name."
        )
    }

    private func publicReply(_ zone: ZoneInfo, losers: [Participant]) throws -> Reply {
        var lines: [String] = []
        let permission = zone.control.publicPermission
        lines.append(
            permission == .none
                ? "'\(zone.control.title)' is private: only people on its list take part."
                : "'\(zone.control.title)' is public: whoever has this link has \(permission.rawValue), without being asked."
        )
        if !losers.isEmpty { lines.append("lost access: " + losers.map(\.label).joined(separator: ", ")) }
        let link = try shareLink(zone)
        if permission > .none { lines += ["link: \(link)", "The link is a secret now: give it to whom you mean."] }
        return Reply(
            lines: lines,
            values: [
                "id": zone.id.description, "public": permission.rawValue, "link": link,
                "lostAccess": losers.map(\.label).joined(separator: ","),
            ])
    }

    /// Makes a link that only asks: until a time, for so many accounts, or with a person who decides.
    func makeLink(
        _ zone: ZoneInfo, permission text: String, expiresMilliseconds: UInt64, count: UInt64, asks: Bool
    ) throws -> Reply {
        guard zone.row.state == .active, !zone.control.isStopped else { throw endedError(zone) }
        guard let permission = Permission(rawValue: text), permission > .none else {
            throw RequestError(64, "'\(text)' is no permission.", "Use readOnly, contribute or readWrite.")
        }
        guard zone.control.openLinks.count < 100 else {
            throw RequestError(
                ExitCode.failed, "'\(zone.control.title)' has 100 links.", "Make the share private: that ends them all."
            )
        }
        let keys = try JoinLinkKeys(secret: world.randomBytes(32))
        try changeControl(of: zone) { control in
            control.links[keys.joinKey] = JoinLink(
                permission: permission, isRequest: true, expiresMilliseconds: expiresMilliseconds, countMax: count,
                needsApproval: asks, secret: control.isSealed ? keys.secret : [])
        }
        pushSoon()
        let link = ShareLink(
            container: try openContainer().id, zone: zone.id, ownerFingerprint: zone.control.owner.fingerprint,
            secret: .ask(keys.secret)
        ).description
        return Reply(
            lines: [link]
                + (asks
                    ? ["Who uses it is listed by 'shoebox share requests'."]
                    : ["Who uses it is admitted by your device."]),
            values: ["id": zone.id.description, "link": link])
    }

    /// The link that leads to a share: with its secret while the share is public, and the secret is known here.
    func shareLink(_ zone: ZoneInfo) throws -> String { try store.read { db in try shareLink(zone, db) } }

    /// The same, within a transaction.
    func shareLink(_ zone: ZoneInfo, _ db: Database) throws -> String {
        ShareLink(
            container: try db.metaText("container") ?? "", zone: zone.id,
            ownerFingerprint: zone.control.owner.fingerprint, secret: try linkSecret(of: zone, db)
        ).description
    }

    private func linkSecret(of zone: ZoneInfo, _ db: Database) throws -> ShareLink.Secret? {
        guard let (key, link) = zone.control.publicLink else { return nil }
        if !link.secret.isEmpty { return .join(link.secret) }
        guard let text = try db.metaText(linkKey(zone.id)), let secret = decodeHex(text),
            (try? JoinLinkKeys(secret: secret))?.joinKey == key
        else { return nil }
        return .join(secret)
    }
}
