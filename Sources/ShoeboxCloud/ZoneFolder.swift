public import ShoeboxModel
public import ShoeboxWorld

/// One zone's folder in the container, `zones/<zone>/`: controls, heads and segments. A value; it keeps no state.
public struct ZoneFolder: Sendable {
    /// The zone.
    public let zone: ZoneID
    /// The accounts that signatures are checked against.
    public let accounts: AccountDirectory
    let access: MountAccess

    /// The folder of a zone on a mount; reads nothing.
    public init(zone: ZoneID, mount: any Mount, accounts: AccountDirectory) {
        self.zone = zone
        self.accounts = accounts
        access = MountAccess(mount: mount)
    }

    /// The zones that have a folder, sorted; the listing may be old.
    public static func zones(on mount: any Mount) throws(CloudError) -> [ZoneID] {
        try MountAccess(mount: mount).list(.of("zones")).compactMap { ZoneID(hex: $0) }.sorted()
    }

    func path(_ components: String...) -> MountPath {
        MountPath(["zones", zone.description] + components) ?? .root
    }

    /// Throws unless the device belongs to the account, as far as the account's statements can be seen.
    ///
    /// A retired device is let through: what it signed before its retirement stays valid, and where it stops counting
    /// is said by the zone's control.
    func checkDevice(_ device: DeviceID, of account: AccountID, path: MountPath) throws(CloudError) {
        guard let entry = try accounts.account(account, having: device) else {
            throw .notYet("The account \(account.fingerprint) is not seen yet.", path: path.description)
        }
        guard entry.devices[device] != nil else {
            throw .notYet(
                "The file is signed by a device that the account '\(entry.label)' has not admitted, as far as is seen.",
                path: path.description)
        }
    }
}
