import FoundationEssentials
import ShoeboxFormat
public import ShoeboxModel
public import ShoeboxWorld

/// What one account tells another through the container: sealed for the recipient, signed by the sender.
///
/// A letter only tells. What somebody may do is said by controls alone, so that a letter which is lost, or repeated,
/// gives and takes nothing.
public struct Letter: Hashable, Sendable {
    /// What it is about.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The recipient is invited to the zone.
        case invitation
        /// An invitation, or the announcement of the link that it names, holds no more.
        case withdrawn
        /// The zone is public, and whoever wants may join it by the link.
        case announced
        /// The sender does not want an invitation.
        case declined
        /// The sender asks to be let into the zone.
        case request
        /// A request was refused.
        case denied
        /// The sender agrees to own the zone.
        case consent
        /// The sender does not want to own the zone.
        case refusal
    }

    /// What it is about.
    public var kind: Kind
    /// The zone that it is about.
    public var zone: ZoneID
    /// Of an invitation or an announcement: the share's title.
    public var title: String
    /// The sender's label, for people.
    public var label: String
    /// Of an invitation, an announcement or a request: what the recipient, or the sender, may do then.
    public var permission: Permission
    /// Of the invitation that is meant.
    public var generation: UInt64
    /// Of a request that came by a link: the link's public key, and its signature over zone and account. Of an
    /// announcement, and where one is withdrawn: the key alone.
    public var joinKey: Digest32?
    /// See `joinKey`.
    public var joinSignature: [UInt8]
    /// Of an invitation: a share of the same owner that went into this one, so that who took part there goes on here.
    public var replaces: ZoneID?
    /// Of a consent or a refusal: the number of the offer, 16 bytes.
    public var offer: [UInt8] = []
    /// Of a consent: the signature that the hand-over carries, by the device that signed the letter.
    public var consent: [UInt8] = []
    /// Of an announcement: the share's link, with its secret.
    public var link = ""

    /// The most bytes of a title, a label or a link.
    static let textBytesMax = 400

    /// A letter from its parts.
    public init(
        kind: Kind, zone: ZoneID, title: String = "", label: String = "", permission: Permission = .none,
        generation: UInt64 = 0, joinKey: Digest32? = nil, joinSignature: [UInt8] = []
    ) {
        self.kind = kind
        self.zone = zone
        self.title = title
        self.label = label
        self.permission = permission
        self.generation = generation
        self.joinKey = joinKey
        self.joinSignature = joinSignature
    }
}

/// A letter that was read: its sender is proved.
public struct ReceivedLetter: Hashable, Sendable {
    /// What it says.
    public var letter: Letter
    /// The account that signed it.
    public var sender: AccountID
    /// The device that signed it.
    public var device: DeviceID
    /// The hash of its file.
    public var hash: Digest32
    /// The sender's clock, milliseconds since 1970.
    public var wallMilliseconds: UInt64
}

/// An account's folder for letters, `accounts/<account>/inbox/<replica of the sender>-<hash>`.
///
/// Anybody with the mount can put files there. What is not sealed for the account, not signed by an account that is
/// there, or too large, is passed over.
public struct Inbox: Sendable {
    /// Whose it is.
    public let account: AccountID
    private let access: MountAccess
    private let accounts: AccountDirectory

    static let fileBytesMax = 16_384
    /// The most names that are looked at; where there are more, somebody fills the folder.
    public static let namesMax = 20_000
    private static let magic = Array("shoebox.letter/1\n".utf8)

    /// The inbox of an account; reads nothing.
    public init(of account: AccountID, mount: any Mount, accounts: AccountDirectory) {
        self.account = account
        self.accounts = accounts
        access = MountAccess(mount: mount)
    }

    private var directory: MountPath { .of("accounts", account.description, "inbox") }

    /// Makes the folder, so that others can write into it.
    public func make() throws(CloudError) { try access.makeDirectory(directory) }

    /// The letters that are there, by the hashes of their files; what has no letter's name is left out.
    public func list() throws(CloudError) -> [Digest32: String] {
        var result: [Digest32: String] = [:]
        for name in try access.list(directory).prefix(Self.namesMax) {
            let parts = name.split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2, ReplicaID(hex: parts[0]) != nil, let hash = Digest32(hex: parts[1]) else {
                continue
            }
            result[hash] = name
        }
        return result
    }

    /// Sends a letter to this inbox's account.
    ///
    /// - Parameter recipient: the account as it is in the container now.
    public func send(
        _ letter: Letter, to recipient: AccountEntry, identity: Identity, nowMilliseconds: UInt64
    ) throws(CloudError) {
        let signed = try sign(letter, identity: identity, nowMilliseconds: nowMilliseconds)
        let bytes = try seal(signed, for: recipient)
        guard bytes.count <= Self.fileBytesMax,
            let path = directory.appending("\(identity.replica)-\(sha256(bytes))")
        else { throw .invalid("A letter is too long.") }
        try access.publishDurably(path, bytes)
    }

    /// A letter to this inbox's account, signed.
    func sign(_ letter: Letter, identity: Identity, nowMilliseconds: UInt64) throws(CloudError) -> [UInt8] {
        var header = WireLetterHeader()
        header.recipient = account.digest.wireBytes
        header.account = identity.account.digest.wireBytes
        header.device = identity.device.digest.wireBytes
        header.kind = letter.kind.rawValue
        header.zone = letter.zone.digest.wireBytes
        header.wallMilliseconds = nowMilliseconds
        var body = WireLetterBody()
        body.title = letter.title
        body.label = letter.label
        body.permission = letter.permission.rawValue
        body.generation = letter.generation
        if let key = letter.joinKey { body.joinKey = key.wireBytes }
        body.joinSignature = Data(letter.joinSignature)
        body.offer = Data(letter.offer)
        if let replaces = letter.replaces { body.replaces = replaces.digest.wireBytes }
        body.consent = Data(letter.consent)
        body.link = letter.link
        return try SignedFile.encode(
            .letter, header: serialize(header), body: serialize(body), signingKey: identity.signingKey)
    }

    /// The file of a signed letter to this inbox's account.
    func seal(_ signed: [UInt8], for recipient: AccountEntry) throws(CloudError) -> [UInt8] {
        let (encapsulated, ciphertext) = try KeyWrap.wrap(signed, for: recipient.agreementKey, info: info)
        var wire = WireLetter()
        wire.recipient = account.digest.wireBytes
        wire.encapsulated = Data(encapsulated)
        wire.ciphertext = Data(ciphertext)
        return Self.magic + (try serialize(wire))
    }

    /// Whether the bytes of a letter are those of its name; true if it is not seen.
    public func isWhole(_ hash: Digest32, name: String) throws(CloudError) -> Bool {
        guard let path = directory.appending(name) else { return true }
        do throws(CloudError) {
            guard let bytes = try access.readKnown(path, maxBytes: Self.fileBytesMax) else { return true }
            return sha256(bytes) == hash
        } catch {
            // It has grown.
            if error.code == .damaged { return false }
            throw error
        }
    }

    /// Reads a letter.
    ///
    /// - Throws: `.notYet` if it, or its sender, is not seen yet; `.damaged` if it is no letter to this account.
    public func read(_ hash: Digest32, name: String, identity: Identity) throws(CloudError) -> ReceivedLetter {
        guard let path = directory.appending(name),
            let bytes = try access.readKnown(path, maxBytes: Self.fileBytesMax)
        else { throw .notYet("A letter is not seen yet.", path: directory.description) }
        do throws(CloudError) { return try open(bytes, hash: hash, identity: identity) } catch { throw error.at(path) }
    }

    /// The letter in the bytes of a file; see `read`.
    func open(_ bytes: [UInt8], hash: Digest32, identity: Identity) throws(CloudError) -> ReceivedLetter {
        guard sha256(bytes) == hash, bytes.starts(with: Self.magic) else {
            throw .damaged("The bytes of a letter are not those of its name.")
        }
        let wire = try parse(WireLetter.self, Array(bytes[Self.magic.count...]), "letter")
        for key in identity.accountAgreementKeys where wire.encapsulated.count == 32 {
            guard
                let signed = KeyWrap.open(
                    encapsulated: Array(wire.encapsulated), ciphertext: Array(wire.ciphertext), with: key, info: info)
            else { continue }
            return try received(signed, hash: hash)
        }
        throw .damaged("A letter is not sealed for this account.")
    }

    private func received(_ bytes: [UInt8], hash: Digest32) throws(CloudError) -> ReceivedLetter {
        let file = try SignedFile.decode(.letter, bytes)
        let header = try parse(WireLetterHeader.self, file.header, "letter header")
        let body = try parse(WireLetterBody.self, file.body, "letter body")
        let sender = AccountID(try digest(header.account, "letter.account"))
        let device = DeviceID(try digest(header.device, "letter.device"))
        guard header.recipient == account.digest.wireBytes else {
            throw .damaged("A letter was written for somebody else.")
        }
        guard file.isSigned(.letter, by: device) else { throw .damaged("The signature of a letter is wrong.") }
        guard let entry = try accounts.account(sender, having: device), let known = entry.devices[device] else {
            throw .notYet("The sender of a letter is not seen yet.", path: directory.description)
        }
        guard !known.isRetired else { throw .damaged("A letter is signed by a device that was retired.") }
        guard let kind = Letter.Kind(rawValue: header.kind), let permission = Permission(rawValue: body.permission),
            body.title.utf8.count <= Letter.textBytesMax, body.label.utf8.count <= Letter.textBytesMax,
            body.joinSignature.count <= 64, body.offer.count <= 16, body.consent.count <= 64,
            body.link.utf8.count <= Letter.textBytesMax
        else { throw .damaged("A letter has a field that is not valid.") }
        var letter = Letter(
            kind: kind, zone: ZoneID(try digest(header.zone, "letter.zone")), title: body.title, label: entry.label,
            permission: permission, generation: body.generation,
            joinKey: body.joinKey.isEmpty ? nil : try digest(body.joinKey, "letter.join_key"),
            joinSignature: Array(body.joinSignature))
        letter.replaces = body.replaces.isEmpty ? nil : ZoneID(try digest(body.replaces, "letter.replaces"))
        (letter.offer, letter.consent, letter.link) = (Array(body.offer), Array(body.consent), body.link)
        return ReceivedLetter(
            letter: letter, sender: sender, device: device, hash: hash, wallMilliseconds: header.wallMilliseconds)
    }

    private var info: [UInt8] { Array("shoebox.letter/1".utf8) + account.digest.bytes }
}
