import ShoeboxFormat
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct AccountTests {
    @Test func `an identity survives storing, and another's bytes are refused`() throws {
        let cast = try Cast()
        let bytes = try cast.ann.serialized()
        let back = try Identity(serialized: bytes)
        #expect(back.replica == cast.ann.replica && back.account == cast.ann.account && back.device == cast.ann.device)
        #expect(try back.serialized() == bytes)
        #expect(code { _ = try Identity(serialized: Array(bytes.dropLast(30))) } == .damaged)
        #expect(code { _ = try Identity(serialized: []) } == .damaged)
    }

    @Test func `no secret shows in a description`() throws {
        let cast = try Cast()
        var text = ""
        dump(cast.ann, to: &text)
        dump(cast.annRing, to: &text)
        text += "\(cast.ann) \(cast.annRing)"
        #expect(!text.contains(encodeHex(cast.ann.signingKey)))
        #expect(!text.contains("\(cast.ann.signingKey[0]), \(cast.ann.signingKey[1])"))
        #expect(!text.contains("UInt8"))
    }

    @Test func `published accounts are found by others`() throws {
        let cast = try Cast()
        let directory = AccountDirectory(mount: cast.mount)
        #expect(try directory.accounts().map(\.label).sorted() == ["ann", "bob", "mallory"])
        #expect(try directory.account(AccountID(Digest32(high: 1, low: 1))) == nil)
    }

    @Test func `a second device is admitted by the first, and stays after a restart`() throws {
        let cast = try Cast()
        let reader = AccountDirectory(mount: cast.mount)
        _ = try reader.account(cast.ann.account)
        let second = try cast.ann.makeSecondDevice(nowMilliseconds: 9, randomBytes: cast.source.bytes).identity
        try AccountDirectory(mount: cast.mount).publish(second)
        let entry = try #require(try reader.account(cast.ann.account, having: second.device))
        #expect(Set(entry.devices.keys) == [cast.ann.device, second.device])
        #expect(second.replica != cast.ann.replica)
        #expect(entry.newestStatement.sequence == 1)
    }

    @Test func `two devices added at once are both admitted`() throws {
        let cast = try Cast()
        let one = try cast.ann.makeSecondDevice(nowMilliseconds: 9, randomBytes: cast.source.bytes).identity
        let other = try cast.ann.makeSecondDevice(nowMilliseconds: 9, randomBytes: cast.source.bytes).identity
        for identity in [one, other] { try cast.accounts.publish(identity) }
        #expect(cast.accounts.cached(cast.ann.account)?.devices.count == 3)
    }

    @Test func `a stranger can't add a device to an account`() throws {
        let cast = try Cast()
        // Mallory signs a statement for Ann's account with a key of her own.
        var wire = try AccountStatement(
            try cast.ann.makeSecondDevice(nowMilliseconds: 9, randomBytes: cast.source.bytes).statement
        ).wire
        wire.signer = cast.mallory.device.digest.wireBytes
        wire.added[0].signingKey = cast.mallory.device.digest.wireBytes
        let bytes = try SignedFile.encode(
            .account, header: serialize(wire), body: [], signingKey: cast.mallory.signingKey)
        cast.mount[.of("accounts", cast.ann.account.description, numberedName(1, sha256(bytes)))] = bytes
        let entry = try #require(try AccountDirectory(mount: cast.mount).account(cast.ann.account))
        #expect(entry.devices.keys.map { $0 } == [cast.ann.device])
    }

    @Test func `what a retired device adds without having seen its retirement is void`() throws {
        let cast = try Cast()
        let thief = try cast.ann.makeSecondDevice(nowMilliseconds: 9, randomBytes: cast.source.bytes).identity
        let known = try cast.ann.adding(thief.statements)
        let before = try thief.makeSecondDevice(nowMilliseconds: 10, randomBytes: cast.source.bytes).identity
        let retired = try known.retiring(
            thief.device, nowMilliseconds: 11, randomBytes: cast.source.bytes
        ).identity
        let chained = try before.makeSecondDevice(nowMilliseconds: 12, randomBytes: cast.source.bytes).identity
        for identity in [thief, before, chained] { try cast.accounts.publish(identity) }
        #expect(cast.accounts.cached(cast.ann.account)?.devices.count == 4)
        try cast.accounts.publish(retired)
        let entry = try #require(cast.accounts.cached(cast.ann.account))
        #expect(Set(entry.devices.keys) == [cast.ann.device, thief.device])
        #expect(entry.devices[thief.device]?.isRetired == true)
    }

    @Test func `the recovery file gives a new device of the same account`() throws {
        let source = Source(5)
        let (ann, recovery) = try Identity.create(label: "ann", nowMilliseconds: 1, randomBytes: source.bytes)
        let again = try Identity.restored(
            fromRecoveryFile: recovery, nowMilliseconds: 2, randomBytes: source.bytes)
        #expect(again.account == ann.account && again.device != ann.device && again.label == "ann")
        let accounts = AccountDirectory(mount: MemoryMount())
        try accounts.publish(again)
        #expect(accounts.cached(ann.account)?.devices.count == 2)
        #expect(
            code { _ = try Identity.restored(fromRecoveryFile: [1, 2], nowMilliseconds: 2, randomBytes: source.bytes) }
                == .damaged)
    }

    @Test func `an account's file under another account's name counts for nothing`() throws {
        let cast = try Cast()
        let genesis = try #require(cast.mallory.statements.first)
        cast.mount[.of("accounts", cast.ann.account.description, numberedName(0, sha256(genesis)))] = genesis
        let entry = try #require(try AccountDirectory(mount: cast.mount).account(cast.ann.account))
        #expect(entry.label == "ann" && entry.devices.count == 1)
    }

    @Test func `a container is found, and others are told apart`() throws {
        let mount = MemoryMount()
        let source = Source(8)
        #expect(code { _ = try Container.open(mount: mount) } == .notAContainer)
        let made = try Container.create(mount: mount, nowMilliseconds: 4, randomBytes: source.bytes)
        #expect(
            code { _ = try Container.create(mount: mount, nowMilliseconds: 4, randomBytes: source.bytes) }
                == .containerExists)
        let opened = try Container.open(mount: mount, expecting: made.id)
        #expect(opened.id == made.id && opened.createdMilliseconds == 4 && opened.mode == .group)
        #expect(code { _ = try Container.open(mount: mount, expecting: "00") } == .otherContainer)
        mount[.of("features", "holograms")] = []
        #expect(code { _ = try Container.open(mount: mount) } == .newerFormat)
        mount[.of("features", "holograms")] = nil
        let text = String(decoding: mount[.of("container.json")] ?? [], as: UTF8.self)
        mount[.of("container.json")] = Array(text.replacing("container/1", with: "container/2").utf8)
        #expect(code { _ = try Container.open(mount: mount) } == .newerFormat)
        mount[.of("container.json")] = Array("{".utf8)
        #expect(code { _ = try Container.open(mount: mount) } == .damaged)
    }
}
