import ShoeboxFormat
import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

struct ControlTests {
    /// What somebody makes of the zone, knowing nothing.
    func current(
        _ cast: Cast, _ who: Identity, known: [ControlVersion] = []
    ) throws(CloudError) -> (CurrentControl, ZoneKeyring) {
        var ring = ZoneKeyring()
        let control = try cast.folder.currentControl(known: known, identity: who, keyring: &ring)
        return (control, ring)
    }

    func publish(
        _ cast: Cast, _ change: (inout Control) -> Void, ring: ZoneKeyring? = nil
    ) throws -> (VerifiedControl, ZoneKeyring) {
        var ring = ring ?? cast.annRing
        let current = try cast.folder.currentControl(identity: cast.ann, keyring: &ring)
        var control = current.control
        change(&control)
        let version = try cast.folder.publishControl(
            control, replacing: current, keyring: &ring, identity: cast.ann, nowMilliseconds: 5,
            randomBytes: cast.source.bytes)
        return (version.verified, ring)
    }

    @Test func `who is invited opens the zone, a stranger doesn't`() throws {
        let cast = try Cast()
        let (control, ring) = try current(cast, cast.bob)
        #expect(control.control == cast.first.control && control.tips == [cast.first.version])
        #expect(ring == cast.annRing && control.isEpochClean && control.problems.isEmpty)
        #expect(try cast.folder.owner() == cast.ann.account)
        #expect(code { _ = try current(cast, cast.mallory) } == .notInvited)
        let everything = cast.mount.all.values.flatMap { $0 }
        #expect(!String(decoding: everything, as: UTF8.self).contains("Lake"))
    }

    @Test func `a plain zone is readable by everybody and writable by its owner`() throws {
        let cast = try Cast(isSealed: false)
        #expect(try current(cast, cast.mallory).0.control.title == "Lake")
    }

    @Test func `a removed participant can't read the new epoch, and the others can`() throws {
        let cast = try Cast()
        let (_, bobRing) = try current(cast, cast.bob)
        let (version, ring) = try publish(cast) { $0.participants[cast.bob.account]?.status = .removed }
        #expect(version.epoch?.number == 2 && ring.current == version.epoch)
        var old = bobRing
        #expect(code { _ = try cast.folder.currentControl(identity: cast.bob, keyring: &old) } == .notInvited)
        #expect(old == bobRing)
        let (_, position) = (0, try cast.push(cast.ann, after: .start, ring: ring).position)
        let page = try cast.folder.readSegments(
            of: cast.ann.replica, after: .start, upTo: cast.head(cast.ann, at: position), isSealed: true,
            keyring: bobRing)
        #expect(page.end.name == "missingKey" && page.segments.isEmpty)
    }

    @Test func `who is invited later reads what was sealed in earlier epochs`() throws {
        let cast = try Cast()
        let position = try cast.push(cast.ann, after: .start).position
        let (_, second) = try publish(cast) { $0.participants[cast.bob.account]?.status = .removed }
        _ = try publish(
            cast, { $0.participants[cast.mallory.account] = Participant(account: cast.mallory.account, label: "m") },
            ring: second)
        let (_, ring) = try current(cast, cast.mallory)
        #expect(ring.epochs.map(\.number) == [1, 2])
        let page = try cast.folder.readSegments(
            of: cast.ann.replica, after: .start, upTo: cast.head(cast.ann, at: position), isSealed: true, keyring: ring)
        #expect(page.end == .complete && page.segments.count == 1)
    }

    @Test func `a control signed by anyone but the owner counts for nothing`() throws {
        let cast = try Cast()
        var ring = cast.annRing
        var control = cast.first.control
        control.participants[cast.mallory.account] = Participant(
            account: cast.mallory.account, label: "m", permission: .readWrite)
        // Bob knows the key, and so can make everything but Ann's signature.
        let bytes = try ControlFile.encode(
            control, zone: cast.folder.zone, version: 2, parents: [cast.first.version.hash], identity: cast.bob,
            keyring: ring, recipients: [], nowMilliseconds: 1, randomBytes: cast.source.bytes)
        let version = ControlVersion(version: 2, hash: sha256(bytes))
        cast.mount[cast.folder.path("control", version.description)] = bytes
        let (seen, _) = try current(cast, cast.bob)
        #expect(seen.tips == [cast.first.version] && seen.problems.map(\.code) == [.notPermitted])
        #expect(code { _ = try cast.folder.readControl(version, identity: cast.bob, keyring: &ring) } == .notPermitted)
        // And with Ann's name on it, but Bob's device.
        let file = try ControlFile(bytes)
        var wire = file.wire
        wire.account = cast.ann.account.digest.wireBytes
        let forged = try SignedFile.encode(
            .control, header: serialize(wire), body: file.file.body, signingKey: cast.bob.signingKey)
        cast.mount[cast.folder.path("control", ControlVersion(version: 2, hash: sha256(forged)).description)] = forged
        #expect(try current(cast, cast.bob).0.tips == [cast.first.version])
        #expect(throws: CloudError.self) {
            var ring = cast.annRing
            let seen = try cast.folder.currentControl(identity: cast.bob, keyring: &ring)
            _ = try cast.folder.publishControl(
                seen.control, replacing: seen, keyring: &ring, identity: cast.bob, nowMilliseconds: 1,
                randomBytes: cast.source.bytes)
        }
    }

    @Test func `an old control presented as the newest is seen to be old`() throws {
        let cast = try Cast()
        let (second, _) = try publish(cast) { $0.title = "Sea" }
        #expect(try current(cast, cast.bob).0.control.title == "Sea")
        cast.mount[cast.folder.path("control", second.version.description)] = nil
        #expect(code { _ = try current(cast, cast.bob, known: [second.version]) } == .rolledBack)
        var ring = ZoneKeyring()
        #expect(
            code { _ = try cast.folder.currentControl(named: [second.version], identity: cast.bob, keyring: &ring) }
                == .notYet)
    }

    @Test func `an old version named by a late head doesn't undo a newer one`() throws {
        let cast = try Cast()
        let (second, _) = try publish(cast) { $0.title = "Sea" }
        let (third, _) = try publish(cast) { $0.title = "Hill" }
        var ring = ZoneKeyring()
        let seen = try cast.folder.currentControl(
            named: [cast.first.version], known: [third.version], identity: cast.bob, keyring: &ring)
        #expect(seen.tips == [third.version] && seen.control.title == "Hill")
        #expect(third.parents == [second.version.hash])
    }

    @Test func `two tips mean the more restrictive, and the next control replaces both`() throws {
        let cast = try Cast()
        var ring = cast.annRing
        let base = try cast.folder.currentControl(identity: cast.ann, keyring: &ring)
        var (one, other) = (base.control, base.control)
        one.title = "One"
        one.participants[cast.mallory.account] = Participant(account: cast.mallory.account, label: "m")
        other.participants[cast.bob.account]?.status = .removed
        var (ringOne, ringOther) = (ring, ring)
        for (control, ring) in [(one, 0), (other, 1)] {
            var mine = ring == 0 ? ringOne : ringOther
            _ = try cast.folder.publishControl(
                control, replacing: base, keyring: &mine, identity: cast.ann, nowMilliseconds: 1,
                randomBytes: cast.source.bytes)
            if ring == 0 { ringOne = mine } else { ringOther = mine }
        }
        let seen = try cast.folder.currentControl(identity: cast.ann, keyring: &ring)
        for tip in seen.tips {
            #expect(
                try cast.folder.currentControl(known: [tip], identity: cast.ann, keyring: &ring).tips == seen.tips)
        }
        #expect(seen.tips.count == 2 && seen.control.participants[cast.bob.account]?.status == .removed)
        #expect(seen.control.participants[cast.mallory.account] != nil)
        // Bob got the first epoch's key, so only the second is fit to seal with; Mallory lacks it until the next one.
        #expect(seen.isEpochClean && ring.current?.number == 2)
        let (next, _) = try publish(cast) { $0.title = "Both" }
        #expect(Set(next.parents) == Set(seen.tips.map(\.hash)))
        #expect(try current(cast, cast.mallory).0.tips == [next.version])
        #expect(code { _ = try current(cast, cast.bob) } == .notInvited)
    }

    @Test func `a link's fingerprint must be the owner's`() throws {
        let cast = try Cast()
        #expect(try cast.folder.owner(expecting: cast.ann.account.fingerprint) == cast.ann.account)
        #expect(code { _ = try cast.folder.owner(expecting: cast.mallory.account.fingerprint) } == .damaged)
        let absent = ZoneFolder(zone: ZoneID(Digest32(high: 1, low: 2)), mount: cast.mount, accounts: cast.accounts)
        #expect(code { _ = try absent.owner() } == .notYet)
    }

    @Test func `a control with any one bit changed is refused`() throws {
        let cast = try Cast()
        let path = cast.folder.path("control", cast.first.version.description)
        let bytes = try #require(cast.mount[path])
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 1 << UInt8(index % 8)
            cast.mount[path] = damaged
            #expect(throws: CloudError.self, "byte \(index)") { _ = try current(cast, cast.bob) }
            // Under the name of its new hash it is another zone's, or nobody's.
            if let file = try? ControlFile(damaged) {
                #expect(!file.file.isSigned(.control, by: cast.ann.device), "byte \(index)")
            }
        }
    }

    @Test func `a keyring survives storing, and a wrong key is refused`() throws {
        let cast = try Cast()
        #expect(try ZoneKeyring(serialized: cast.annRing.serialized()) == cast.annRing)
        var ring = ZoneKeyring()
        let epoch = try #require(cast.annRing.current)
        #expect(code { try ring.insert([UInt8](repeating: 1, count: 32), for: epoch) } == .damaged)
        #expect(code { _ = try ZoneKeyring(serialized: [0xff]) } == .damaged)
    }
}
