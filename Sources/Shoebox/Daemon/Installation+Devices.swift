import Glibc
import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Installation {
    /// Admits one more device to the account, and writes what sets it up, under a passphrase. Secret.
    ///
    /// - Returns: the reply to the admission.
    /// - Throws: `RequestError`; no file is left then.
    public func exportDevice(to file: AbsolutePath, label: String, passphrase: String) throws -> Reply {
        try refuseExisting(file)
        let world = world()
        let identity = try identity()
        let pending = try PendingDevice(
            label: label, accountLabel: identity.label, code: nil, randomBytes: world.randomBytes)
        let reply = try RequestClient(self).submit(.deviceAdmit(device: pending.publicKeys.text))
        guard reply.code == 0 else { return reply }
        let directory = AccountDirectory(mount: world.mount)
        try directory.refresh(identity.account)
        let second = try pending.admitted(
            to: identity.account, statements: directory.statements(of: identity.account),
            randomBytes: world.randomBytes)
        try write(try second.serialized(), to: file, passphrase: passphrase, world)
        return reply
    }

    /// Moves the recovery file out of the state directory, into a file under a passphrase. Secret.
    public func exportRecovery(to file: AbsolutePath, passphrase: String) throws {
        try refuseExisting(file)
        let kept = state.recoveryFile(account: try identity().label)
        guard let plain = try LocalFile.read(kept, maxBytes: 16 << 20) else {
            throw RequestError(
                ExitCode.notFound,
                "The recovery key is not on this device: it was exported already, or made elsewhere.",
                "Look for the exported file. If it is lost: a second device, made by 'shoebox device add', is the next best."
            )
        }
        _ = try RecoveryKit(serialized: plain)
        try write(plain, to: file, passphrase: passphrase, world())
        // Only when the exported one was read back and opened.
        guard unlink(kept.text) == 0 || errno == ENOENT else {
            throw RequestError(
                ExitCode.reported, "The recovery file was exported, but \(kept) can't be removed.",
                "Remove it yourself.")
        }
    }

    /// Retires devices with the recovery file, which outranks all devices.
    public func retire(_ names: [String], recoveryFile file: AbsolutePath, passphrase: () throws -> String) throws
        -> Reply
    {
        guard var bytes = try LocalFile.read(file, maxBytes: 16 << 20) else {
            throw RequestError(ExitCode.notFound, "There is no file \(file).", "Check the path.")
        }
        if LockedFile.isLocked(bytes) { bytes = try LockedFile.unlock(bytes, passphrase: try passphrase()) }
        let kit = try RecoveryKit(serialized: bytes)
        let world = world()
        let account = try kit.account
        guard account == (try identity()).account else {
            throw RequestError(
                ExitCode.notPermitted, "\(file) is the recovery file of another account.",
                "Use the one of this account.")
        }
        let directory = AccountDirectory(mount: world.mount)
        guard let entry = try directory.refresh(account) else {
            throw RequestError(ExitCode.offline, "The account is not seen in the container.", "Check the mount.")
        }
        var devices: [DeviceID] = []
        for name in names {
            let found = entry.devices.filter {
                $0.value.label == name || name.count >= 6 && $0.key.description.hasPrefix(name.lowercased())
            }
            guard found.count == 1, let device = found.keys.first else {
                throw RequestError(
                    ExitCode.notFound, "'\(name)' is not one device of the account.",
                    "Use an id of 'shoebox device list'.")
            }
            devices.append(device)
        }
        let statement = try kit.retiring(
            devices, more: directory.statements(of: account), nowMilliseconds: world.nowMilliseconds(),
            randomBytes: world.randomBytes)
        try directory.publish(statement: statement, of: account)
        return try RequestClient(self).submit(.deviceRetired(devices: devices.map(\.description)))
    }

    /// Waits until a new device asks under a code, and approves it.
    public func approve(_ code: String, waitMilliseconds: UInt64) throws -> Reply {
        let world = world()
        let pairing = try Pairing(try PairingCode(code), mount: world.mount)
        let end = world.uptimeMilliseconds() + waitMilliseconds
        while try pairing.request() == nil, world.uptimeMilliseconds() < end { _ = poll(nil, 0, 200) }
        return try RequestClient(self).submit(.deviceApprove(code: code))
    }

    /// A new pairing code.
    public func makePairingCode() -> String { PairingCode(randomBytes: world().randomBytes).description }

    private func refuseExisting(_ file: AbsolutePath) throws {
        guard access(file.text, F_OK) != 0 else {
            throw RequestError(
                ExitCode.failed, "There is a file \(file) already.", "Choose another name, or move it away.")
        }
    }

    private func write(_ plain: [UInt8], to file: AbsolutePath, passphrase: String, _ world: World) throws {
        let locked = try LockedFile.lock(plain, passphrase: passphrase, randomBytes: world.randomBytes)
        try LocalFile.create(file, with: locked)
        guard let back = try LocalFile.read(file, maxBytes: 16 << 20),
            try LockedFile.unlock(back, passphrase: passphrase) == plain
        else {
            throw RequestError(
                ExitCode.failed, "\(file) does not hold what was written.", "Write it to another disk.")
        }
    }
}
