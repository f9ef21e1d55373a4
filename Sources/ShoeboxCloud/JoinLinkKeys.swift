import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel
import ShoeboxWorld

/// What the secret of a link is good for: a key that signs who joins by it, and one that the zone's key is wrapped for.
public struct JoinLinkKeys: Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret, 32 bytes.
    public let secret: [UInt8]
    /// The public key that says which link it is.
    public let joinKey: Digest32
    /// The public key that the zone's key is wrapped for, 32 bytes.
    public let agreementKey: [UInt8]
    let privateAgreementKey: [UInt8]
    private let privateJoinKey: [UInt8]

    /// No secret.
    public var description: String { "link \(joinKey)" }
    /// No secret.
    public var customMirror: Mirror { Mirror(self, children: ["joinKey": joinKey]) }

    /// The keys of a secret of 32 bytes.
    public init(secret: [UInt8]) throws(CloudError) {
        guard secret.count == 32 else { throw .invalid("The secret of a link has 32 bytes.") }
        self.secret = secret
        privateJoinKey = deriveSecret(secret, "shoebox.join/1 sign")
        privateAgreementKey = deriveSecret(secret, "shoebox.join/1 agree")
        joinKey = try signingPublicKey(privateJoinKey).digest
        agreementKey = try agreementPublicKey(privateAgreementKey)
    }

    /// The link's signature that an account joins a zone by it.
    public func signature(zone: ZoneID, account: AccountID) throws(CloudError) -> [UInt8] {
        try sign(Self.signedBytes(zone, account), with: privateJoinKey)
    }

    /// Whether a link has signed that an account joins a zone.
    public static func isValid(_ signature: [UInt8], of joinKey: Digest32, zone: ZoneID, account: AccountID) -> Bool {
        ShoeboxCloud.isValid(signature, over: signedBytes(zone, account), by: DeviceID(joinKey))
    }

    private static func signedBytes(_ zone: ZoneID, _ account: AccountID) -> [UInt8] {
        Array("shoebox.join/1".utf8) + zone.digest.bytes + account.digest.bytes
    }
}

/// That an account joins a zone by a public link: signed by the link's key and by a device of the account.
public struct JoinStatement: Hashable, Sendable {
    /// Who joins.
    public var account: AccountID
    /// The link's key.
    public var joinKey: Digest32
    /// The account's label, for people.
    public var label: String
}

extension ZoneFolder {
    private static let joinBytesMax = 4_096
    /// The most statements read of a zone at a time.
    public static let joinsMax = 4_096

    /// Publishes that the identity's account joins by a link. Again is fine.
    public func publishJoin(
        _ keys: JoinLinkKeys, identity: Identity, nowMilliseconds: UInt64
    ) throws(CloudError) {
        var header = WireJoinHeader()
        header.zone = zone.digest.wireBytes
        header.account = identity.account.digest.wireBytes
        header.device = identity.device.digest.wireBytes
        header.joinKey = keys.joinKey.wireBytes
        header.joinSignature = Data(try keys.signature(zone: zone, account: identity.account))
        header.label = identity.label
        header.wallMilliseconds = nowMilliseconds
        let bytes = try SignedFile.encode(
            .join, header: serialize(header), body: [], signingKey: identity.signingKey)
        try access.publishDurably(path("joins", "\(identity.replica)-\(sha256(bytes))"), bytes)
    }

    /// The names of the statements in the zone's folder, by their hashes; the listing may be old.
    public func joinNames() throws(CloudError) -> [Digest32: String] {
        var result: [Digest32: String] = [:]
        for name in try access.list(path("joins")) {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, ReplicaID(hex: parts[0]) != nil, let hash = Digest32(hex: parts[1]) else {
                continue
            }
            result[hash] = name
        }
        return result
    }

    /// One statement, verified; whether its link holds is for the zone's control to say.
    ///
    /// - Throws: `.notYet` if it, or its account, is not seen yet; `.damaged` if it is none.
    public func readJoin(_ hash: Digest32, name: String) throws(CloudError) -> JoinStatement {
        let path = path("joins", name)
        guard let bytes = try access.readKnown(path, maxBytes: Self.joinBytesMax) else {
            throw .notYet("A statement of joining is not seen yet.", path: path.description)
        }
        do throws(CloudError) { return try join(bytes, hash: hash) } catch { throw error.at(path) }
    }

    /// The statement in the bytes of a file; see `readJoin`.
    func join(_ bytes: [UInt8], hash: Digest32) throws(CloudError) -> JoinStatement {
        let file = try SignedFile.decode(.join, bytes)
        let header = try parse(WireJoinHeader.self, file.header, "join")
        let device = DeviceID(try digest(header.device, "join.device"))
        let account = AccountID(try digest(header.account, "join.account"))
        let key = try digest(header.joinKey, "join.join_key")
        guard file.hash == hash, file.body.isEmpty, header.zone == zone.digest.wireBytes,
            file.isSigned(.join, by: device),
            JoinLinkKeys.isValid(Array(header.joinSignature), of: key, zone: zone, account: account)
        else { throw .damaged("A statement of joining is not signed as it must be.") }
        guard let entry = try accounts.account(account, having: device), let known = entry.devices[device] else {
            throw .notYet("The account of who joins is not seen yet.", path: path("joins").description)
        }
        guard !known.isRetired else {
            throw .damaged("A statement of joining is signed by a device that was retired.")
        }
        return JoinStatement(account: account, joinKey: key, label: entry.label)
    }
}
