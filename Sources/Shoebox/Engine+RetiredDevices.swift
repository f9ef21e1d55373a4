import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// For how long the heads of a zone are waited for that can't be read, before a retired device is pinned without them.
    private var pinsAwaitedMilliseconds: UInt64 { 600_000 }

    /// Brings the controls of own zones up to what the accounts in them say of their devices: retired ones stop counting
    /// where they are known to be, and the zone's key is wrapped for the agreement keys that hold now.
    ///
    /// Asked in each round, so that nothing is left undone when the process died after an account's statement.
    func keepZonesCurrent() throws {
        for zone in zones.values.sorted(by: ZoneInfo.comesBefore)
        where zone.row.isMine && zone.row.state == .active && !zone.control.isStopped {
            do { try keepCurrent(zone) } catch let error as CloudError {
                guard error.concernsOneZone else { throw error }
                log("the control of '\(zone.control.title)' waits: \(error)")
            }
        }
    }

    private func keepCurrent(_ zone: ZoneInfo) throws {
        let control = zone.control
        let accounts = [control.owner] + control.guests.map(\.account).sorted()
        var retired: [(device: DeviceID, account: AccountEntry)] = []
        var rewrapped: [AccountID: Digest32] = [:]
        for id in accounts {
            guard let entry = directory.cached(id) else { continue }
            retired += entry.retiredDevices.filter { control.retired[$0.digest] == nil }.sorted().map { ($0, entry) }
            if control.isSealed, control.readers.contains(id), let key = Digest32(bytes: entry.agreementKey),
                control.keyedFor[id] != key
            {
                rewrapped[id] = key
            }
        }
        if !retired.isEmpty, try !hasReadHeads(of: zone) { retired = [] }
        guard !retired.isEmpty || !rewrapped.isEmpty else { return }
        var pins: [Digest32: [ReplicaID: Position]] = [:]
        for (device, entry) in retired { pins[device.digest] = try lastCounted(of: device, entry, in: zone.id) }
        // What is known here must not be undone by passing over a control that the retired device has signed.
        try changeControl(of: zone, keepsPassedOver: !pins.isEmpty) { fresh in
            for (device, replicas) in pins where fresh.retired[device] == nil { fresh.retired[device] = replicas }
            for (id, key) in rewrapped where fresh.keyedFor[id] != key { fresh.keyedFor[id] = nil }
        }
        log("renewed the keys of '\(control.title)'; \(pins.count) devices were retired")
    }

    /// Whether this process has read all heads of a zone, so that what they acknowledge of a retired device is known: of two
    /// pins the earlier one counts, for good. Until then nothing is read of that device's chain, and one that can't be read
    /// is waited for only so long.
    private func hasReadHeads(of zone: ZoneInfo) throws -> Bool {
        if headsRead[zone.id]?.isWhole != true { _ = try readHeads(zone.id, folder: zoneFolder(zone.id)) }
        // A start also reads them without asking whose they are.
        try noteDevices(in: knownHeads[zone.id] ?? [:], zone: zone)
        if headsRead[zone.id]?.isWhole == true { return true }
        let now = world.uptimeMilliseconds()
        let since = pinsAwaited[zone.id] ?? now
        pinsAwaited[zone.id] = since
        return now >= since + pinsAwaitedMilliseconds
    }

    /// The last segments of a retired device's replicas that count: those applied here, or acknowledged by the account's
    /// other devices.
    private func lastCounted(
        of device: DeviceID, _ account: AccountEntry, in zone: ZoneID
    ) throws -> [ReplicaID: Position] {
        let (peers, devices) = try store.read { db in (try db.peers(of: zone), try db.devices()) }
        var result: [ReplicaID: Position] = [:]
        for peer in peers where devices[peer.replica] == device.digest { result[peer.replica] = peer.applied }
        let standing = account.devicesInGoodStanding
        for head in (knownHeads[zone] ?? [:]).values where head.account == account.account {
            guard standing.contains(head.device) else { continue }
            for (replica, position) in head.vector where devices[replica] == device.digest {
                if position.sequence > result[replica]?.sequence ?? 0 { result[replica] = position }
            }
        }
        return result
    }

    /// Whether nothing more is read of a head's chain for now: its device was retired, and the zone's control does not
    /// say yet up to where it counts.
    func isHeld(_ head: HeadRecord, in zone: ZoneInfo) -> Bool {
        zone.control.retired[head.device.digest] == nil
            && directory.cached(head.account)?.devices[head.device]?.isRetired == true
    }
}
