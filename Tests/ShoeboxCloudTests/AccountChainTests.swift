import ShoeboxFormat
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// An account with devices, whose statements are told to nobody but by the test.
private struct Family {
    let source = Source(21)
    let first: Identity
    let recovery: [UInt8]

    init() throws {
        (first, recovery) = try Identity.create(label: "ann", nowMilliseconds: 1, randomBytes: source.bytes)
    }

    /// A device admitted by another; both know of it.
    func add(_ label: String, by admitter: inout Identity) throws -> Identity {
        let pending = try PendingDevice(label: label, accountLabel: "ann", code: nil, randomBytes: source.bytes)
        admitter = try admitter.admitting(pending.publicKeys, nowMilliseconds: 2).identity
        return try pending.admitted(
            to: admitter.account, statements: admitter.statements, randomBytes: source.bytes)
    }

    func retire(_ device: Identity, by other: Identity) throws -> Identity {
        try other.retiring(device.device, nowMilliseconds: 3, randomBytes: source.bytes).identity
    }

    /// What everybody's statements together say; the same in any order.
    func together(_ identities: Identity...) throws -> AccountEntry {
        var all: [[UInt8]] = []
        for bytes in identities.flatMap(\.statements) where !all.contains(bytes) { all.append(bytes) }
        let entry = try #require(AccountChain.evaluate(first.account, try all.map { try AccountStatement($0) }))
        for order in [all.reversed(), all.sorted { $0.lexicographicallyPrecedes($1) }] {
            #expect(AccountChain.evaluate(first.account, try order.map { try AccountStatement($0) }) == entry)
        }
        return entry
    }
}

struct AccountChainTests {
    @Test func `a device that is admitted gets all the account's keys, and nobody else can read them`() throws {
        let family = try Family()
        var laptop = family.first
        let phone = try family.add("phone", by: &laptop)
        #expect(phone.secrets == laptop.secrets)
        let statement = try #require(laptop.statements.last)
        #expect(!statement.indices.contains { statement[$0...].starts(with: laptop.namingKey) })
        let (mallory, _) = try Identity.create(label: "mallory", nowMilliseconds: 1, randomBytes: family.source.bytes)
        #expect(
            AccountSecrets.read(
                from: try AccountStatement(statement), for: phone.device, agreementKey: mallory.agreementKey,
                account: laptop.account) == nil)
    }

    @Test func `retiring a device gives the remaining ones new keys, the recovery file too, and it none`() throws {
        let family = try Family()
        var laptop = family.first
        let phone = try family.add("phone", by: &laptop)
        let tablet = try family.add("tablet", by: &laptop)
        let after = try family.retire(phone, by: laptop)
        let entry = try family.together(after, phone)
        #expect(entry.devicesInGoodStanding == [laptop.device, tablet.device])
        #expect(!entry.needsNewAgreementKey)
        #expect(try agreementPublicKey(after.secrets.agreementKeys[0]) == entry.agreementKey)
        #expect(after.secrets.agreementKeys[0] != laptop.secrets.agreementKeys[0])
        let told = try tablet.adding(after.statements)
        #expect(told.secrets.agreementKeys[0] == after.secrets.agreementKeys[0])
        #expect(told.secrets.namingKey == after.secrets.namingKey)
        #expect(told.secrets.agreementKeys.contains(laptop.secrets.agreementKeys[0]), "old wrappings still open")
        let outside = try phone.adding(after.statements)
        #expect(outside.secrets == phone.secrets)
        #expect(!outside.hasAgreementKey(of: entry))
        let restored = try Identity.restored(
            fromRecoveryFile: family.recovery, more: after.statements, nowMilliseconds: 4,
            randomBytes: family.source.bytes)
        #expect(restored.secrets.agreementKeys[0] == after.secrets.agreementKeys[0])
        #expect(try family.together(after, restored).devicesInGoodStanding.contains(restored.device))
    }

    @Test func `two devices that retire each other are both retired, in any order`() throws {
        let family = try Family()
        var laptop = family.first
        let phone = try family.add("phone", by: &laptop)
        let one = try family.retire(phone, by: laptop)
        let other = try family.retire(laptop, by: phone)
        let entry = try family.together(one, other)
        #expect(entry.retiredDevices == [laptop.device, phone.device])
        // Only the recovery key can go on.
        let restored = try Identity.restored(
            fromRecoveryFile: family.recovery, more: one.statements + other.statements, nowMilliseconds: 9,
            randomBytes: family.source.bytes)
        #expect(try family.together(one, other, restored).devicesInGoodStanding == [restored.device])
    }

    @Test func `the recovery key undoes what a thief did without having seen its retirement`() throws {
        let family = try Family()
        var laptop = family.first
        let phone = try family.add("phone", by: &laptop)
        // The thief has the phone, retires the laptop and adds a device; the owner knows of none of it.
        var thief = try family.retire(laptop, by: phone)
        let stranger = try family.add("stranger", by: &thief)
        #expect(try family.together(thief).devicesInGoodStanding == [phone.device, stranger.device])
        let kit = try RecoveryKit(serialized: family.recovery)
        let statement = try kit.retiring(
            [phone.device], more: laptop.statements, nowMilliseconds: 5, randomBytes: family.source.bytes)
        let saved = try laptop.adding([statement])
        let entry = try family.together(saved, thief, stranger)
        #expect(entry.devicesInGoodStanding == [laptop.device])
        #expect(entry.devices[stranger.device] == nil)
        #expect(saved.hasAgreementKey(of: entry) && !stranger.hasAgreementKey(of: entry))
    }

    @Test func `a device that was added while keys were made anew makes them anew`() throws {
        let family = try Family()
        var laptop = family.first
        let phone = try family.add("phone", by: &laptop)
        var elsewhere = phone
        let tablet = try family.add("tablet", by: &elsewhere)
        let watch = try family.add("watch", by: &laptop)
        let after = try family.retire(watch, by: laptop)
        let entry = try family.together(after, tablet)
        #expect(entry.devicesInGoodStanding == [laptop.device, phone.device, tablet.device])
        #expect(entry.needsNewAgreementKey, "the tablet has none of the new keys")
        let renewed = try after.adding(tablet.statements).renewingKeys(
            nowMilliseconds: 8, randomBytes: family.source.bytes)
        let healed = try family.together(renewed, tablet)
        #expect(!healed.needsNewAgreementKey)
        #expect(try tablet.adding(renewed.statements).hasAgreementKey(of: healed))
        #expect(try !watch.adding(renewed.statements).hasAgreementKey(of: healed))
    }

    @Test func `any set of branches means the same in any order, and no retirement is undone`() throws {
        for seed in 0..<60 as Range<UInt64> {
            var random = Seeded(seed)
            let family = try Family()
            var devices = [family.first]
            for step in 0..<8 {
                let actor = Int(random.next() % UInt64(devices.count))
                if random.next() % 3 == 0 { devices[actor] = try devices[actor].adding(devices.flatMap(\.statements)) }
                let entry = try #require(try devices[actor].accountEntry())
                guard entry.devicesInGoodStanding.contains(devices[actor].device) else { continue }
                if random.next() % 2 == 0 || devices.count < 3 {
                    devices.append(try family.add("d\(step)", by: &devices[actor]))
                } else if let victim = entry.devicesInGoodStanding.sorted().first(where: { _ in random.next() % 2 == 0 }
                ),
                    victim != devices[actor].device
                {
                    devices[actor] = try devices[actor].retiring(
                        victim, nowMilliseconds: 3, randomBytes: family.source.bytes
                    ).identity
                    let told = try #require(try devices[actor].accountEntry())
                    #expect(told.devices[victim]?.isRetired == true)
                }
            }
            var all: [[UInt8]] = []
            for bytes in devices.flatMap(\.statements) where !all.contains(bytes) { all.append(bytes) }
            let expected = AccountChain.evaluate(family.first.account, try all.map { try AccountStatement($0) })
            for _ in 0..<3 {
                all.shuffle(using: &random)
                #expect(
                    AccountChain.evaluate(family.first.account, try all.map { try AccountStatement($0) }) == expected,
                    "seed \(seed)")
            }
        }
    }

    @Test func `files planted among an account's statements don't crowd them out`() throws {
        let cast = try Cast()
        for number in 0..<300 {
            cast.mount[
                .of("accounts", cast.ann.account.description, numberedName(0, sha256(bigEndian(UInt64(number)))))] =
                [UInt8(truncatingIfNeeded: number)]
        }
        let entry = try #require(try AccountDirectory(mount: cast.mount).account(cast.ann.account))
        #expect(entry.devices.count == 1)
    }
}

struct PairingTests {
    private func pending(_ source: Source, _ code: PairingCode) throws -> PendingDevice {
        try PendingDevice(label: "phone", accountLabel: "ann", code: code, randomBytes: source.bytes)
    }

    @Test func `a code is read however it is typed, and every wrong one is refused`() throws {
        let source = Source(3)
        let code = PairingCode(randomBytes: source.bytes)
        #expect(code.description.count == 19)
        #expect(try PairingCode(code.description.lowercased()) == code)
        #expect(try PairingCode(code.description.replacing("-", with: " ")) == code)
        #expect(try PairingCode("oOiI-lL11-0000-0000") == PairingCode("0011-1111-0000-0000"))
        #expect(ShoeboxCloudTests.code { _ = try PairingCode("ABCD") } == .invalid)
        #expect(ShoeboxCloudTests.code { _ = try PairingCode(code.description + "0") } == .invalid)
        #expect(ShoeboxCloudTests.code { _ = try PairingCode("ABCD-EFGH-JKMN-PQR!") } == .invalid)
        #expect(ShoeboxCloudTests.code { _ = try PairingCode("") } == .invalid)
    }

    @Test func `a new device is admitted through the mount by who has its code`() throws {
        let cast = try Cast()
        let code = PairingCode(randomBytes: cast.source.bytes)
        let phone = try pending(cast.source, code)
        let there = try Pairing(code, mount: cast.mount)
        try there.ask(phone, nowMilliseconds: 1, randomBytes: cast.source.bytes)
        #expect(try there.admittedTo(phone.publicKeys.device) == nil)
        let here = try Pairing(try PairingCode(code.description), mount: cast.mount)
        let (device, label) = try #require(try here.request())
        #expect(device == phone.publicKeys && label == "ann")
        try cast.accounts.publish(try cast.ann.admitting(device, nowMilliseconds: 2).identity)
        try here.answer(device, account: cast.ann.account, nowMilliseconds: 3, randomBytes: cast.source.bytes)
        let account = try #require(try there.admittedTo(phone.publicKeys.device))
        let accounts = AccountDirectory(mount: cast.mount)
        try accounts.refresh(account)
        let stored = try PendingDevice(serialized: try phone.serialized())
        let identity = try stored.admitted(
            to: account, statements: accounts.statements(of: account), randomBytes: cast.source.bytes)
        #expect(identity.account == cast.ann.account && identity.secrets == cast.ann.secrets)
    }

    @Test func `who has the mount and not the code can't come between two devices`() throws {
        let cast = try Cast()
        let code = PairingCode(randomBytes: cast.source.bytes)
        let phone = try pending(cast.source, code)
        let pairing = try Pairing(code, mount: cast.mount)
        try pairing.ask(phone, nowMilliseconds: 1, randomBytes: cast.source.bytes)
        let path = try #require(cast.mount.all.keys.first { $0.components.first == "pairing" })
        // Mallory's request, under a code of her own, in its place.
        let other = PairingCode(randomBytes: cast.source.bytes)
        let hers = try pending(cast.source, other)
        try Pairing(other, mount: cast.mount).ask(hers, nowMilliseconds: 1, randomBytes: cast.source.bytes)
        let planted = try #require(cast.mount.all.keys.first { $0.components.first == "pairing" && $0 != path })
        let mine = cast.mount[path]
        cast.mount[path] = cast.mount[planted]
        #expect(ShoeboxCloudTests.code { _ = try pairing.request() } == .damaged)
        cast.mount[path] = mine
        #expect(try pairing.request()?.device == phone.publicKeys)
        // Her account as the answer: sealed with her code, moved to the folder of the other.
        try Pairing(other, mount: cast.mount).answer(
            phone.publicKeys, account: cast.mallory.account, nowMilliseconds: 2, randomBytes: cast.source.bytes)
        cast.mount[.of("pairing", path.components[1], "answer")] =
            cast.mount[.of("pairing", planted.components[1], "answer")]
        #expect(ShoeboxCloudTests.code { _ = try pairing.admittedTo(phone.publicKeys.device) } == .damaged)
        // The request copied over as the answer is no answer.
        cast.mount[.of("pairing", path.components[1], "answer")] = mine
        #expect(ShoeboxCloudTests.code { _ = try pairing.admittedTo(phone.publicKeys.device) } == .damaged)
    }
}

struct LockedFileTests {
    private let cost = LockedFile.Cost(roundsLog2: 4, blockSize: 8, parallelism: 1)

    @Test func `only the passphrase opens a locked file, and no bit of it can be changed`() throws {
        let source = Source(4)
        let plain = source.bytes(100)
        let file = try LockedFile.lock(plain, passphrase: "correct horse", cost: cost, randomBytes: source.bytes)
        #expect(try LockedFile.unlock(file, passphrase: "correct horse") == plain)
        #expect(code { _ = try LockedFile.unlock(file, passphrase: "correct hors") } == .damaged)
        #expect(code { _ = try LockedFile.unlock(plain, passphrase: "correct horse") } == .damaged)
        #expect(
            code { _ = try LockedFile.lock(plain, passphrase: "", cost: cost, randomBytes: source.bytes) } == .invalid)
        for index in stride(from: LockedFile.magic.count + 12, to: file.count, by: 7) {
            var changed = file
            changed[index] ^= 1
            #expect((try? LockedFile.unlock(changed, passphrase: "correct horse")) == nil, "byte \(index)")
        }
    }

    @Test(arguments: [(25, 8, 1), (20, 64, 1), (17, 0, 1), (17, 8, 0), (0, 8, 1), (4, 8, 9), (63, 8, 1), (17, 8, 3)])
    func `a file that asks for too much work is refused before any is done`(rounds: Int, size: Int, parallel: Int)
        throws
    {
        var wire = WireLockedFile()
        wire.kdf = "scrypt"
        (wire.roundsLog2, wire.blockSize, wire.parallelism) = (UInt32(rounds), UInt32(size), UInt32(parallel))
        wire.salt = .init(repeating: 1, count: 16)
        #expect(
            code { _ = try LockedFile.unlock(LockedFile.magic + (try serialize(wire)), passphrase: "x") } == .damaged)
    }
}
