import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// What people tell each other through the container, and carry from one device to another.
extension FuzzTests {
    static func personTarget(_ name: String, _ share: FuzzedShare) throws -> Target? {
        let (alice, bob) = (share.party.alice.identity, share.party.bob.identity)
        let inbox = Inbox(of: alice.account, mount: share.mount, accounts: share.accounts)
        switch name {
        case "letter":
            let letters = share.files("accounts/\(alice.account)/inbox/") + share.files("/inbox/")
            return Target(name: name, corpus: letters) { bytes in
                _ = try? inbox.open(bytes, hash: sha256(bytes), identity: alice)
            }
        case "signedLetter": return try letterTarget(to: alice, from: bob, inbox, share)
        case "join":
            let keys = try JoinLinkKeys(secret: FuzzedShare.randomBytes(32))
            let (folder, storage, zone) = (share.folder, share.storage, share.zone)
            try folder.publishJoin(keys, identity: bob, nowMilliseconds: 1)
            let made = storage.tree().filter { $0.key.contains("/joins/") }.map(\.value)
            let headers = try made.map { try SignedFile.decode(.join, $0).header }
            return Target(name: name, corpus: headers) { bytes in
                var header = bytes
                // Every other one the link signs, too, whatever it says.
                if bytes.count & 1 == 0, var wire = try? parse(WireJoinHeader.self, bytes, "join"),
                    let account = Digest32(bytes: wire.account),
                    let signature = try? keys.signature(zone: zone, account: AccountID(account))
                {
                    (wire.joinKey, wire.joinSignature) = (keys.joinKey.wireBytes, Data(signature))
                    header = (try? serialize(wire)) ?? bytes
                }
                guard
                    let signed = try? SignedFile.encode(.join, header: header, body: [], signingKey: bob.signingKey)
                else { return }
                _ = try? folder.join(signed, hash: sha256(signed))
            }
        case "pairing": return try pairingTarget(share)
        case "lockedFile":
            let cost = LockedFile.Cost(roundsLog2: 1, blockSize: 1, parallelism: 1)
            let file = try LockedFile.lock(
                alice.serialized(), passphrase: "horse", cost: cost, randomBytes: FuzzedShare.randomBytes)
            return Target(name: name, corpus: [file]) { bytes in
                // What may be asked of a reader takes a second; it is no news.
                let rest = Array(bytes.dropFirst(LockedFile.magic.count))
                if let wire = try? parse(WireLockedFile.self, rest, "locked file"), 10...24 ~= wire.roundsLog2 {
                    return
                }
                _ = try? LockedFile.unlock(bytes, passphrase: "horse")
            }
        default: return nil
        }
    }

    /// Letters of each kind whose header or body is another, signed by who sends them and sealed for who gets them. The
    /// first byte says which.
    private static func letterTarget(
        to alice: Identity, from bob: Identity, _ inbox: Inbox, _ share: FuzzedShare
    ) throws -> Target? {
        let recipient = try #require(try share.accounts.account(alice.account))
        let keys = try JoinLinkKeys(secret: FuzzedShare.randomBytes(32))
        let link = try ShareLink(parsing: share.party.link).description
        let zone = share.zone
        let signature = try keys.signature(zone: zone, account: bob.account)
        let letters = try Letter.Kind.allCases.map { kind in
            var letter = Letter(
                kind: kind, zone: zone, title: "Summer", label: "bob", permission: .readWrite, generation: 2,
                joinKey: keys.joinKey, joinSignature: signature)
            (letter.replaces, letter.link) = (zone, link)
            (letter.offer, letter.consent) = (FuzzedShare.randomBytes(16), FuzzedShare.randomBytes(64))
            return try SignedFile.decode(.letter, inbox.sign(letter, identity: bob, nowMilliseconds: 1))
        }
        let corpus = letters.enumerated().flatMap { index, letter in
            [[UInt8(index * 2)] + letter.header, [UInt8(index * 2 + 1)] + letter.body]
        }
        return Target(name: "signedLetter", corpus: corpus) { bytes in
            guard let choice = bytes.first else { return }
            let letter = letters[Int(choice / 2) % letters.count]
            let part = Array(bytes.dropFirst())
            let (header, body) = choice & 1 == 0 ? (part, letter.body) : (letter.header, part)
            guard
                let signed = try? SignedFile.encode(.letter, header: header, body: body, signingKey: bob.signingKey),
                let sealed = try? inbox.seal(signed, for: recipient),
                let received = try? inbox.open(sealed, hash: sha256(sealed), identity: alice)
            else { return }
            let said = received.letter
            precondition(
                max(said.title.utf8.count, said.link.utf8.count, said.label.utf8.count) <= Letter.textBytesMax,
                "no text of a letter is long")
            _ = try? ShareLink(parsing: said.link).keys
            if let key = said.joinKey {
                _ = JoinLinkKeys.isValid(said.joinSignature, of: key, zone: said.zone, account: received.sender)
            }
        }
    }

    /// What lies under a pairing code, sealed with its key, and what a person types.
    private static func pairingTarget(_ share: FuzzedShare) throws -> Target? {
        let (storage, account) = (share.storage, share.identity.account)
        let code = PairingCode(randomBytes: FuzzedShare.randomBytes)
        let pairing = try Pairing(code, mount: share.mount)
        let pending = try PendingDevice(
            label: "phone", accountLabel: "alice", code: code, randomBytes: FuzzedShare.randomBytes)
        let device = pending.publicKeys
        var request = WirePairingRequest()
        (request.device, request.accountLabel, request.wallMilliseconds) = (device.wire, "alice", 1)
        var answer = WirePairingAnswer()
        (answer.account, answer.signingKey) = (account.digest.wireBytes, device.device.digest.wireBytes)
        let corpus = [
            try serialize(request), try serialize(answer), Array(code.description.utf8), Array(device.text.utf8),
            try pending.serialized(),
        ]
        return Target(name: "pairing", corpus: corpus) { bytes in
            for name in ["request", "answer"] {
                guard let sealed = try? pairing.seal(name, bytes, FuzzedShare.randomBytes) else { continue }
                storage.rawWrite(pairing.path(name), sealed)
            }
            if let asked = try? pairing.request() {
                precondition(asked.device.label.utf8.count <= DevicePublicKeys.labelBytesMax, "no label is long")
            }
            _ = try? pairing.admittedTo(device.device)
            let text = String(decoding: bytes, as: UTF8.self)
            if let typed = try? PairingCode(text) { _ = try? PairingCode(typed.description) }
            if let read = DevicePublicKeys(text: text) {
                precondition(DevicePublicKeys(text: read.text) == read, "it says what was read")
            }
            _ = try? PendingDevice(serialized: bytes)
        }
    }
}
