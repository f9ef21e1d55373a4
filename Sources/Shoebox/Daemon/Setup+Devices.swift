import Glibc
import ShoeboxCloud
import ShoeboxModel
import ShoeboxWorld

extension Setup {
    /// The device that a file restores or sets up.
    func imported(_ text: String, _ world: World, deviceLabel: String) throws -> Identity {
        let path = ConfigurationEnvironment.current().currentDirectory.appending(text)
        let identity = try Self.importedIdentity(path, world, deviceLabel: deviceLabel, passphrase: passphrase)
        guard identity.label == account else {
            throw RequestError(
                ExitCode.failed, "\(path) belongs to the account '\(identity.label)', not to '\(account)'.",
                "Write --account \(identity.label).")
        }
        return identity
    }

    /// The device that a file restores or sets up, with what the container says of its account.
    static func importedIdentity(
        _ path: AbsolutePath, _ world: World, deviceLabel: String, passphrase: () throws -> String
    ) throws -> Identity {
        guard var bytes = try LocalFile.read(path, maxBytes: 16 << 20) else {
            throw RequestError(ExitCode.notFound, "There is no file \(path).", "Check the path.")
        }
        if LockedFile.isLocked(bytes) {
            do { bytes = try LockedFile.unlock(bytes, passphrase: try passphrase()) } catch let error as CloudError {
                throw RequestError(ExitCode.failed, "\(path) can't be opened: \(error.message)", error.remedy)
            }
        } else if (try? Identity(serialized: bytes)) != nil {  // Whether it is one is all that is asked.
            throw RequestError(
                ExitCode.failed, "\(path) holds the keys of one device, which are not for another one.",
                "Use 'shoebox init --join' here, or 'shoebox account export FILE' there.")
        }
        let directory = AccountDirectory(mount: world.mount)
        if RecoveryKit.isRecoveryFile(bytes) {
            let account = try RecoveryKit(serialized: bytes).account
            try directory.refresh(account)
            return try Identity.restored(
                fromRecoveryFile: bytes, more: directory.statements(of: account), deviceLabel: deviceLabel,
                nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        }
        // Whatever is wrong with it, it is no export; the message says what to give instead.
        guard let identity = try? Identity(serialized: bytes) else {
            throw RequestError(
                ExitCode.failed, "\(path) is neither an exported account nor a recovery file.",
                "Write one with 'shoebox account export FILE' on a device of the account.")
        }
        try directory.refresh(identity.account)
        return try identity.adding(directory.statements(of: identity.account))
    }

    /// This device, after one of the account's devices has approved it. What it waits for is kept, so that it can be
    /// asked for again after an interruption.
    func joined(
        _ joining: Joining, _ state: StateDirectory, _ world: World, deviceLabel: String
    ) throws -> Identity {
        let pending = try pendingDevice(joining, state, world, deviceLabel: deviceLabel)
        guard let code = pending.code else {
            throw RequestError(
                ExitCode.failed, "\(state.pendingFile) has no pairing code.", "Remove it and try again.")
        }
        let pairing = try Pairing(code, mount: world.mount)
        try pairing.ask(pending, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        joining.show(code.description)
        let end = world.uptimeMilliseconds() + joining.waitMilliseconds
        while true {
            if let identity = try admitted(pending, pairing, world) { return identity }
            guard world.uptimeMilliseconds() < end else {
                throw RequestError(
                    ExitCode.reported, "No device has approved this one yet. The code is \(code).",
                    "On a device of the account '\(account)': shoebox device approve \(code). Then repeat this command here."
                )
            }
            _ = poll(nil, 0, 200)
        }
    }

    /// Takes away what an admitted device waited with. Only once its identity is stored: until then the keys, for which the
    /// account has admitted it, are nowhere else.
    func finishJoining(_ state: StateDirectory, _ world: World) throws {
        guard let bytes = try LocalFile.read(state.pendingFile, maxBytes: 65_536) else { return }
        // One that can't be read asks under no code that could be known.
        if let code = (try? PendingDevice(serialized: bytes))?.code {
            try Pairing(code, mount: world.mount).remove(.request)
        }
        unlink(state.pendingFile.text)
    }

    /// Refuses to make a new account where this device has asked to be let into one: --join was left out.
    func refuseWaiting(_ state: StateDirectory) throws {
        guard access(state.pendingFile.text, F_OK) == 0 else { return }
        throw RequestError(
            ExitCode.failed,
            "This device has asked to be one more of the account '\(account)', and waits to be let in.",
            "Repeat this command with --join. If a new account is meant after all, remove \(state.pendingFile) first.")
    }

    /// Refuses to say that a device has joined which no other one ever let in.
    func refuseUnjoined(_ existing: Identity, _ state: StateDirectory) throws {
        guard let device = try existing.accountEntry()?.devices[existing.device], device.addedBy == nil else { return }
        throw RequestError(
            ExitCode.failed,
            "This is a device of the account '\(account)' (\(existing.account.fingerprint)) already, and it was not let in by another one.",
            "If that is the account that you mean, there is nothing to join. If it is not, move \(state.path) away, and repeat this command with --take-over."
        )
    }

    private func admitted(_ pending: PendingDevice, _ pairing: Pairing, _ world: World) throws -> Identity? {
        guard let id = try pairing.admittedTo(pending.publicKeys.device) else { return nil }
        let directory = AccountDirectory(mount: world.mount)
        try directory.refresh(id)
        do {
            let identity = try pending.admitted(
                to: id, statements: directory.statements(of: id), randomBytes: world.randomBytes)
            guard identity.label == account else {
                throw RequestError(
                    ExitCode.notPermitted, "The code was approved by an account '\(identity.label)', not '\(account)'.",
                    "Write --account \(identity.label), or approve it on a device of '\(account)'.")
            }
            return identity
        } catch let error as CloudError {
            // The answer may be seen before the statement.
            guard error.code == .notYet else { throw error }
            return nil
        }
    }

    private func pendingDevice(
        _ joining: Joining, _ state: StateDirectory, _ world: World, deviceLabel: String
    ) throws -> PendingDevice {
        let wanted = try joining.code.map { try PairingCode($0) }
        // One that can't be read can't be used either: a new code is shown.
        if let bytes = try LocalFile.read(state.pendingFile, maxBytes: 65_536),
            let known = try? PendingDevice(serialized: bytes), known.accountLabel == account,
            wanted == nil || known.code == wanted
        {
            return known
        }
        let fresh = try PendingDevice(
            label: deviceLabel, accountLabel: account, code: wanted ?? PairingCode(randomBytes: world.randomBytes),
            randomBytes: world.randomBytes)
        try LocalFile.replace(state.pendingFile, with: try fresh.serialized())
        return fresh
    }
}
