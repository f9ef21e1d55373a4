import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// How long a new key of the account is waited for that nothing tells of: the mount may show what is new in a zone before
    /// what is new in the account.
    private var keysAwaitedMilliseconds: UInt64 { 60_000 }
    /// How long one is that another device's head tells of.
    private var toldKeysAwaitedMilliseconds: UInt64 { 3_600_000 }

    /// Takes up what the account's other devices have said of its devices and keys, and publishes what is missing of it
    /// in the container. False if this device was retired: it exchanges nothing any more.
    ///
    /// - Parameter isFirst: whether to look even if nothing tells of news.
    func followAccount(isFirst: Bool = false) throws -> Bool {
        let now = world.uptimeMilliseconds()
        // Nothing tells that they were taken out of the container.
        let isDue = accountDue.map { now >= $0 } ?? true
        if isFirst {
            try lookAtAccount()
        } else if isDue || hasAccountNews {
            // Where they can't be read or put back, all else goes on with what is known here.
            do { try lookAtAccount() } catch let error as CloudError
                where error.concernsOneZone || error.cause?.code == .full
            {
                accountDue = now + 60_000
                hasAccountNews = false
                try report(
                    "accountUnreachable",
                    "What your account says of its devices cannot be read in the cloud folder, or put back there: \(error.message).",
                    error.remedy)
            }
        }
        guard var entry = try accountEntry() else { return true }
        if entry.devices[identity.device]?.isRetired == true {
            try report(
                "deviceRetired",
                "This device was retired by another device of the account '\(settings.label)': it sends and gets nothing any more.",
                "Your files stay as they are. To use this machine again, set it up anew with 'shoebox init --join' and another state directory."
            )
            // What is new in any zone is nothing for this device.
            for code in Self.exchangeCodes.sorted() { try clearProblem(code) }
            return false
        }
        if entry.needsNewAgreementKey, entry.devices[identity.device] != nil {
            try saveAndPublish(
                try identity.renewingKeys(nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes))
            entry = try accountEntry() ?? entry
            log("made new keys for the account's \(entry.devicesInGoodStanding.count) devices")
        }
        return true
    }

    /// Reads what the account's other devices have said, and publishes what is missing of all that.
    private func lookAtAccount() throws {
        try directory.refresh(account)
        try adoptStatements(directory.statements(of: account))
        try directory.publish(identity)
        // Whose devices and keys the controls of own zones depend on; later their heads tell of news.
        if !hasFollowedAccount {
            for zone in zones.values where zone.row.isMine && zone.row.state == .active {
                for other in zone.control.participants.values where other.takesPart {
                    try directory.refresh(other.account)
                }
            }
        }
        hasFollowedAccount = true
        hasAccountNews = false
        accountDue = world.uptimeMilliseconds() + 600_000
        try clearProblem("accountUnreachable")
    }

    /// Since when a zone's newest control is closed to this account: milliseconds since 1970, the start of the machine, and
    /// milliseconds since that.
    private func closedKey(_ zone: ZoneID) -> String { "closedSince.\(zone)" }

    /// Notes that a zone's newest control is open to this account.
    func noteReadable(_ zone: ZoneID) throws {
        guard try store.read({ db in try db.metaText(closedKey(zone)) }) != nil else { return }
        try store.write { db in try db.setMetaText(closedKey(zone), nil) }
    }

    /// Reads what the account's other devices have said. False where that is not known now, or was news, or says that this
    /// device was retired: then nothing follows from what it can't read.
    func takesUpAccount() throws -> Bool {
        let known = identity.statements
        do { try lookAtAccount() } catch let error as CloudError where error.concernsOneZone { return false }
        guard identity.statements == known, let entry = try accountEntry() else { return false }
        return entry.devices[identity.device]?.isRetired != true
    }

    /// Whether a control that is closed to this account may be so only because it is for a key that this device has not
    /// taken up: another one has retired a device, or this one was retired. Otherwise a share would be over here, and
    /// then for all devices of the account, that nobody has put it out of.
    func awaitsKeys(of zone: ZoneInfo) throws -> Bool {
        guard let entry = try accountEntry() else { return true }
        guard entry.devices.count > 1 else { return false }
        let heads = (knownHeads[zone.id] ?? [:]).values.filter { $0.account == account }
        let isTold = heads.contains { head in
            head.content.statement.map { !entry.statements.contains($0.hash) } ?? false
        }
        guard let closed = try closedMilliseconds(zone.id) else {
            let since = "\(world.nowMilliseconds()) \(world.bootID) \(world.uptimeMilliseconds())"
            try store.write { db in try db.setMetaText(closedKey(zone.id), since) }
            return true
        }
        return closed < (isTold ? toldKeysAwaitedMilliseconds : keysAwaitedMilliseconds)
    }

    /// For how long a zone has been closed to this account, milliseconds: where that can be told by the time that the machine runs, no
    /// clock that is set says otherwise. Nil if it was not noted.
    private func closedMilliseconds(_ zone: ZoneID) throws -> UInt64? {
        let text = try store.read { db in try db.metaText(closedKey(zone)) } ?? ""
        let parts = text.split(separator: " ")
        guard let since = parts.first.flatMap({ UInt64($0) }) else { return nil }
        let (now, uptime) = (world.nowMilliseconds(), world.uptimeMilliseconds())
        if parts.count == 3, parts[1] == world.bootID, let then = UInt64(parts[2]), then <= uptime {
            return uptime - then
        }
        return since <= now ? now - since : nil
    }

    /// The account as this device knows it.
    func accountEntry() throws -> AccountEntry? { try directory.cached(account) ?? identity.accountEntry() }

    private func adoptStatements(_ statements: [[UInt8]]) throws {
        let fresh = try identity.adding(statements)
        guard fresh.statements != identity.statements else { return }
        try saveIdentity(fresh)
        identity = fresh
    }

    private func saveAndPublish(_ fresh: Identity) throws {
        // Kept first: a statement that others see and this device forgot would be followed by another one of the same
        // number, which is no harm, but its keys would be lost.
        try saveIdentity(fresh)
        identity = fresh
        try directory.publish(identity)
        // Heads tell the others that there is news.
        try store.write { db in
            for var row in try db.zones() where row.state == .active {
                row.isHeadDirty = true
                try db.setZone(row)
            }
        }
        try reloadZones()
    }

    /// Notes what heads tell of their accounts: the device behind each replica, and statements that are newer than known.
    func noteDevices(in heads: [ReplicaID: HeadRecord], zone: ZoneInfo) throws {
        let now = world.uptimeMilliseconds()
        for (replica, head) in heads where notedSerials[replica] != head.serial {
            if notedSerials[replica] == nil {
                try store.write { db in try db.setDevice(head.device.digest, of: replica, account: head.account) }
                notedSerials[replica] = 0
            }
            guard zone.control.knows(head.account), let named = head.content.statement,
                directory.cached(head.account)?.statements.contains(named.hash) != true
            else {
                notedSerials[replica] = head.serial
                continue
            }
            // What a head names may be seen late, or be a lie: looked for again now and then.
            guard now >= (accountsLookedAt[head.account] ?? 0) + 10_000 || accountsLookedAt[head.account] == nil else {
                continue
            }
            accountsLookedAt[head.account] = now
            if head.account == account { hasAccountNews = true } else { try directory.refresh(head.account) }
        }
    }

    /// Admits the device that waits under a pairing code.
    func approveDevice(code text: String) throws -> Reply {
        let code: PairingCode
        do { code = try PairingCode(text) } catch {
            throw RequestError(64, error.message, "Type the code as the new device shows it.")
        }
        _ = try openContainer()
        let pairing = try Pairing(code, mount: world.mount)
        guard let (device, wanted) = try pairing.request() else {
            throw RequestError(
                ExitCode.notFound, "No device waits under this code, as far as is seen yet.",
                "Check the code; the new device shows it after 'shoebox init … --join'. Some mounts show new files late: try again in a minute."
            )
        }
        guard wanted.isEmpty || wanted == settings.label else {
            throw RequestError(
                ExitCode.notPermitted,
                "The device '\(device.label)' asks to join an account '\(wanted)', not '\(settings.label)'.",
                "Approve it on a device of that account, or set it up again with --account \(settings.label).")
        }
        let reply = try admit(device)
        try pairing.answer(
            device, account: account, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        return reply
    }

    /// Admits a device whose keys are known.
    func admitDevice(_ text: String) throws -> Reply {
        guard let device = DevicePublicKeys(text: text) else {
            throw RequestError(64, "That is no device.", "Use 'shoebox device approve CODE'.")
        }
        _ = try openContainer()
        return try admit(device)
    }

    private func admit(_ device: DevicePublicKeys) throws -> Reply {
        guard try followAccount(isFirst: true) else { throw retiredError }
        let (fresh, _) = try identity.admitting(device, nowMilliseconds: world.nowMilliseconds())
        try saveAndPublish(fresh)
        pushSoon()
        return Reply(
            lines: ["The device '\(device.label)' belongs to the account '\(settings.label)' now."],
            values: ["device": device.device.description, "label": device.label])
    }

    /// Retires a device of the account, found by its label or the start of its id: it reads and writes nothing from now
    /// on. What it has published until now stays.
    func retireDevice(_ name: String) throws -> Reply {
        _ = try openContainer()
        guard try followAccount(isFirst: true), let entry = try accountEntry() else { throw retiredError }
        let device = try deviceNamed(name, in: entry)
        if entry.devices[device]?.isRetired == true {
            return Reply(lines: ["The device '\(entry.devices[device]?.label ?? "")' was retired already."])
        }
        guard device != identity.device else {
            throw RequestError(
                ExitCode.notPermitted, "A device can't retire itself.",
                "Run this on another device of the account, or use the recovery file: 'shoebox device retire NAME --recovery FILE'."
            )
        }
        // What it wrote until now counts: read it first.
        _ = try fetchAll()
        let (fresh, _) = try identity.retiring(
            device, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        try saveAndPublish(fresh)
        return try finishRetiring([device])
    }

    /// Takes up a retirement that was published with the recovery key.
    func finishRetiring(_ devices: [DeviceID]) throws -> Reply {
        _ = try openContainer()
        guard try followAccount(isFirst: true), let entry = try accountEntry() else { throw retiredError }
        for device in devices where entry.devices[device]?.isRetired != true {
            throw RequestError(
                ExitCode.failed, "The retirement of a device is not seen in the container yet.",
                "Try again in a minute.")
        }
        pushSoon()
        let labels = devices.map { "'\(entry.devices[$0]?.label ?? "")'" }.joined(separator: ", ")
        return Reply(
            lines: [
                "\(labels) is retired: nothing that it writes from now on counts, and it can't read what comes.",
                "What is on it stays readable to who has it: consider what passwords and photos are there.",
            ], values: ["device": devices.map(\.description).joined(separator: ",")])
    }

    private var retiredError: RequestError {
        RequestError(
            ExitCode.notPermitted, "This device was retired by another device of the account.",
            "Do it on a device that was not.")
    }

    private func deviceNamed(_ name: String, in entry: AccountEntry) throws -> DeviceID {
        let byID = entry.devices.keys.filter { name.count >= 6 && $0.description.hasPrefix(name.lowercased()) }
        let standing = entry.devices.filter { $0.value.label == name && !$0.value.isRetired }.map(\.key)
        let retired = entry.devices.filter { $0.value.label == name && $0.value.isRetired }.map(\.key)
        guard let found = [byID, standing, retired].first(where: { !$0.isEmpty }) else {
            throw RequestError(
                ExitCode.notFound, "The account has no device '\(name)'.", "'shoebox device list' shows all devices.")
        }
        guard found.count == 1, let device = found.first else {
            let ids = found.map { String($0.description.prefix(12)) }.sorted().joined(separator: ", ")
            throw RequestError(ExitCode.notFound, "\(found.count) devices are called '\(name)'.", "Use the id: \(ids)")
        }
        return device
    }
}
