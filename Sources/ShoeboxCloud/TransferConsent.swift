public import ShoeboxModel

/// That an account agrees to own a zone: signed by one of its devices, good for one offer by one owner.
public struct TransferConsent: Hashable, Sendable {
    /// Who agrees.
    public var account: AccountID
    /// The device that signed.
    public var device: DeviceID
    /// The number of the offer, 16 bytes.
    public var number: [UInt8]
    /// The signature, 64 bytes.
    public var signature: [UInt8]

    /// A consent from its parts.
    public init(account: AccountID, device: DeviceID, number: [UInt8], signature: [UInt8]) {
        self.account = account
        self.device = device
        self.number = number
        self.signature = signature
    }

    /// The consent of the identity's account to an offer.
    public init(
        _ offer: TransferOffer, of zone: ZoneID, by owner: AccountID, identity: Identity
    ) throws(CloudError) {
        account = identity.account
        device = identity.device
        number = offer.number
        signature = try sign(
            Self.signedBytes(zone, owner, identity.account, offer.number), with: identity.signingKey)
    }

    /// Whether the device has signed it for this zone and this owner; that the device is one of the account is not said.
    public func isSigned(zone: ZoneID, owner: AccountID) -> Bool {
        number.count == 16
            && ShoeboxCloud.isValid(signature, over: Self.signedBytes(zone, owner, account, number), by: device)
    }

    private static func signedBytes(
        _ zone: ZoneID, _ owner: AccountID, _ account: AccountID, _ number: [UInt8]
    ) -> [UInt8] {
        Array("shoebox.transfer/1".utf8) + zone.digest.bytes + owner.digest.bytes + account.digest.bytes + number
    }
}
