import Glibc
public import ShoeboxModel
import ShoeboxCloud

/// The account of this machine, for people to compare.
public struct AccountSummary: Sendable {
    /// As `--json` prints it.
    public let json: JSONObject
    /// As a person reads it.
    public let lines: [String]

    /// The account of an installation, from its keys; nothing secret.
    public init(_ installation: Installation) throws {
        let identity = try installation.identity()
        let recovery = installation.state.recoveryFile(account: identity.label).text
        let isThere = access(recovery, F_OK) == 0
        json = [
            "account": .string(identity.label), "fingerprint": .string(identity.account.fingerprint),
            "id": .string(identity.account.description), "device": .string(identity.deviceLabel),
            "replica": .string(identity.replica.description), "state": .string(installation.state.path.text),
            "recoveryFile": isThere ? .string(recovery) : .null,
        ]
        lines =
            [
                "\(identity.label) (\(identity.account.fingerprint))", "id: \(identity.account)",
                "device: \(identity.deviceLabel.isEmpty ? "unnamed" : identity.deviceLabel), replica \(identity.replica)",
            ] + (isThere ? ["recovery file: \(recovery)"] : [])
    }
}
