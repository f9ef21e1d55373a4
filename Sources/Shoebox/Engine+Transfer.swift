import ShoeboxCloud
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// Handing a share over: the owner offers it, the receiver consents by a signed letter, and a device of the owner writes the
// control that hands it over, with the consent in it. Until then the owner may withdraw, and the receiver is bound to nothing.

extension Engine {
    private func answerKey(_ zone: ZoneID, _ account: AccountID) -> String { "transfer.\(zone).\(account)" }
    private func consentedKey(_ zone: ZoneID) -> String { "consented.\(zone)" }

    /// Offers an own share to a participant.
    func offerTransfer(_ zone: ZoneInfo, _ name: String, stays: String) throws -> Reply {
        guard zone.row.state == .active, !zone.control.isStopped else { throw endedError(zone) }
        let isAdmin = stays == "admin"
        guard let permission = isAdmin ? .readWrite : Permission(rawValue: stays), permission > .none else {
            throw RequestError(64, "'\(stays)' is nothing to stay as.", "Use admin, readWrite, contribute or readOnly.")
        }
        let id = try participant(name, in: zone)
        guard let person = zone.control.participants[id], person.status == .accepted else {
            throw RequestError(
                ExitCode.failed, "\(label(of: id)) takes no part in '\(zone.control.title)' yet.",
                "Invite them; when they have accepted, offer it again.")
        }
        let offer = TransferOffer(
            account: id, permission: permission, staysAdmin: isAdmin, number: world.randomBytes(16))
        try changeControl(of: zone) { control in
            if let known = control.openOffer, known.account == id, known.permission == offer.permission,
                known.staysAdmin == isAdmin
            {
                return
            }
            control.offer = offer
        }
        pushSoon()
        return Reply(
            lines: [
                "'\(zone.control.title)' is offered to \(person.label) (\(id.fingerprint)); you stay as \(stays).",
                "They accept with: shoebox share transfer '\(zone.control.title)' --accept",
                "Until then it is yours; take the offer back with: shoebox share transfer '\(zone.control.title)' --withdraw",
            ], values: ["id": zone.id.description, "account": person.label])
    }

    /// Takes an offer back.
    func withdrawTransfer(_ zone: ZoneInfo) throws -> Reply {
        try changeControl(of: zone) { $0.offer = nil }
        pushSoon()
        guard zones[zone.id]?.row.isMine == true else {
            throw RequestError(
                ExitCode.failed, "'\(zone.control.title)' was handed over already.",
                "Ask the new owner to give it back.")
        }
        return Reply(lines: ["'\(zone.control.title)' is offered to nobody."])
    }

    /// Accepts the offer of a share, or declines it.
    func answerTransfer(_ zone: ZoneInfo, accepts: Bool) throws -> Reply {
        if zone.row.isMine { return Reply(lines: ["'\(zone.control.title)' is yours."]) }
        _ = try openContainer()
        guard let offer = zone.control.openOffer, offer.account == account else {
            throw RequestError(
                ExitCode.notFound, "'\(zone.control.title)' is not offered to you.",
                "\(zone.control.ownerLabel) offers it with 'shoebox share transfer'; 'shoebox status' says when it has arrived."
            )
        }
        var letter = Letter(kind: accepts ? .consent : .refusal, zone: zone.id)
        letter.offer = offer.number
        if accepts {
            let mine = zones.values.filter { $0.row.isMine && $0.row.kind == .share && $0.row.state == .active }
            guard mine.count < settings.zonesMax else {
                throw RequestError(
                    ExitCode.failed, "You have \(mine.count) shares, which is the limit.",
                    "Stop one, or raise limits.zonesMax in the configuration.")
            }
            letter.consent = try TransferConsent(offer, of: zone.id, by: zone.control.owner, identity: identity)
                .signature
        }
        try send(letter, to: zone.control.owner)
        try world.mount.synchronize()
        try store.write { db in
            try db.setMetaText(consentedKey(zone.id), accepts ? encodeHex(offer.number) : nil)
        }
        return Reply(
            lines: accepts
                ? [
                    "Accepted: '\(zone.control.title)' is yours as soon as a device of \(zone.control.ownerLabel) has answered.",
                    "Your files stay where they are.",
                ] : ["Declined; '\(zone.control.title)' stays with \(zone.control.ownerLabel)."],
            values: ["id": zone.id.description])
    }

    /// Whether this account has accepted an offer.
    func hasConsented(to offer: TransferOffer, in zone: ZoneID, _ db: Database) throws -> Bool {
        try db.metaText(consentedKey(zone)) == encodeHex(offer.number)
    }

    /// Keeps somebody's answer to an offer until it can be acted on: another device may have made the offer.
    func noteAnswer(_ letter: Letter, from received: ReceivedLetter) throws {
        guard let zone = zones[letter.zone], zone.row.isMine, zone.row.kind == .share,
            zone.control.participants[received.sender]?.takesPart == true
        else { return }
        let text = [
            letter.kind.rawValue, encodeHex(letter.offer), "\(received.device)", encodeHex(letter.consent),
            String(received.wallMilliseconds),
        ]
        try store.write { db in
            // Letters are read in the order of their hashes: of two answers to one offer the later one counts.
            let former = try db.metaText(answerKey(zone.id, received.sender)).map(Self.answerParts)
            if let former, former[1] == text[1], UInt64(former[4]) ?? 0 > received.wallMilliseconds { return }
            try db.setMetaText(answerKey(zone.id, received.sender), text.joined(separator: "."))
        }
    }

    /// An answer that was kept: its kind, the offer's number, the device, the consent, and when it was written; the time is
    /// missing in those of former versions.
    private static func answerParts(_ text: String) -> [String] {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        return parts + Array(repeating: "", count: max(0, 5 - parts.count))
    }

    /// Hands own shares over whose offers were accepted.
    func finishTransfers() throws {
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore) where zone.row.isMine && zone.control.offer != nil {
            do { try finishTransfer(zone.id) } catch let error as CloudError {
                guard error.concernsOneZone else { throw error }
                log("'\(zone.control.title)' is not handed over yet: \(error)")
            }
        }
    }

    /// Hands an own share over whose offer was accepted, or takes back one that was declined.
    private func finishTransfer(_ id: ZoneID) throws {
        guard let zone = zones[id], zone.row.isMine, zone.row.state == .active, let offer = zone.control.openOffer,
            let text = try store.read({ db in try db.metaText(answerKey(id, offer.account)) })
        else { return }
        let parts = Self.answerParts(text)
        guard decodeHex(parts[1]) == offer.number else { return }
        if parts[0] == Letter.Kind.refusal.rawValue {
            try changeControl(of: zone) { control in
                if control.offer == offer { control.offer = nil }
            }
            return log("\(label(of: offer.account)) does not want '\(zone.control.title)'")
        }
        guard let device = Digest32(hex: parts[2]), let signature = decodeHex(parts[3]) else { return }
        let consent = TransferConsent(
            account: offer.account, device: DeviceID(device), number: offer.number, signature: signature)
        guard consent.isSigned(zone: id, owner: account) else { return }
        // What this device still has to say it says as the owner.
        try fetchAnew(id)
        try pushAll()
        guard try store.read({ db in try db.pendingChanges(in: id, limit: 1).isEmpty }), let present = zones[id],
            present.control.openOffer == offer
        else { return }
        var positions: [AccountID: [ReplicaID: Position]] = [:]
        for account in [account, offer.account] { positions[account] = try heads(of: account, in: id) }
        if present.row.last != .start { positions[account, default: [:]][replica] = present.row.last }
        try changeControl(of: present, consent: consent) { control in
            guard control.openOffer == offer else { return }
            control.handOver(offer, at: positions)
        }
        guard let after = zones[id], !after.row.isMine else { return }
        log("'\(after.control.title)' belongs to \(after.control.ownerLabel) now")
    }
}
