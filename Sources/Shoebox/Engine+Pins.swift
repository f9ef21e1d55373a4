import ShoeboxCloud
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// Keeps who an account is from the first time that this one deals with it, and refuses another one under its name,
    /// or an older state of it.
    ///
    /// - Parameter isNamed: whether a person has named the account by its fingerprint.
    func pin(_ entry: AccountEntry, isNamed: Bool) throws {
        let known = try store.read { db in try db.pins(label: entry.label, or: entry.account) }
        let own = known.first { $0.account == entry.account }
        if own == nil, !isNamed, let other = known.first {
            throw RequestError(
                ExitCode.notPermitted,
                "The account '\(entry.label)' in the container has the fingerprint \(entry.fingerprint). The '\(other.label)' that you have dealt with has \(other.account.fingerprint).",
                "Somebody may pass for \(entry.label). Ask \(entry.label) what 'shoebox account show' prints; if it is a new account of theirs, name it by '\(entry.label)#\(entry.fingerprint)'."
            )
        }
        if let own, own.statement.sequence > 0, !entry.statements.contains(own.statement.hash) {
            throw RequestError(
                ExitCode.notPermitted,
                "The container shows an older state of the account '\(entry.label)' than was seen before: perhaps somebody hides that it has retired a device.",
                "If the mount was restored from a backup, any device of \(entry.label) heals it by its next sync. Try again then."
            )
        }
        var pin =
            own
            ?? PinRow(
                account: entry.account, label: entry.label, firstUsed: world.nowMilliseconds(),
                statement: entry.newestStatement)
        if entry.newestStatement.sequence > pin.statement.sequence { pin.statement = entry.newestStatement }
        guard pin != own else { return }
        try store.write { db in try db.setPin(pin) }
    }

    /// Shows what two people compare to know that they mean the same accounts; with `isCompared` keeps that they did.
    func verifyAccount(_ name: String, isCompared: Bool) throws -> Reply {
        _ = try openContainer()
        let entry = try findAccount(name)
        if isCompared {
            try store.write { db in
                guard
                    var pin = try db.pins(label: entry.label, or: entry.account).first(where: {
                        $0.account == entry.account
                    })
                else { return }
                pin.compared = world.nowMilliseconds()
                try db.setPin(pin)
            }
        }
        let pin = try store.read { db in try db.pins(label: entry.label, or: entry.account) }
            .first { $0.account == entry.account }
        let compared = pin?.compared ?? 0
        return Reply(
            lines: [
                "\(entry.label): \(entry.fingerprint)", "you, \(settings.label): \(account.fingerprint)",
                compared > 0
                    ? "compared on \(StatusText.local(compared))"
                    : "not compared yet: both should see the same two lines, on your screen and on theirs. Then: shoebox account verify \(name) --compared",
            ],
            values: [
                "account": entry.label, "fingerprint": entry.fingerprint, "id": entry.account.description,
                "ownFingerprint": account.fingerprint, "isCompared": compared > 0 ? "true" : "false",
                "devices": String(entry.devicesInGoodStanding.count),
            ])
    }
}
