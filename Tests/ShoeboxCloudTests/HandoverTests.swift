import ShoeboxModel
import ShoeboxWorld
import Testing

@testable import ShoeboxCloud

/// Ann's zone, which is Bob's since.
struct HandoverTests {
    let cast: Cast
    let handover: VerifiedControl
    let last: VerifiedControl

    init() throws {
        let cast = try Cast()
        var ring = cast.annRing
        let offer = TransferOffer(
            account: cast.bob.account, permission: .readWrite, staysAdmin: true, number: cast.source.bytes(16))
        let consent = try TransferConsent(offer, of: cast.folder.zone, by: cast.ann.account, identity: cast.bob)
        let current = try cast.folder.currentControl(identity: cast.ann, keyring: &ring)
        var control = current.control
        control.offer = offer
        control.handOver(offer, at: [:])
        handover = try cast.folder.publishControl(
            control, replacing: current, keyring: &ring, consent: consent, identity: cast.ann, nowMilliseconds: 5,
            randomBytes: cast.source.bytes
        ).verified
        let next = try cast.folder.currentControl(identity: cast.bob, keyring: &ring)
        control = next.control
        control.title = "Sea"
        last = try cast.folder.publishControl(
            control, replacing: next, keyring: &ring, identity: cast.bob, nowMilliseconds: 6,
            randomBytes: cast.source.bytes
        ).verified
        self.cast = cast
    }

    private func current(known: [ControlVersion]) throws -> CurrentControl {
        var ring = ZoneKeyring()
        return try cast.folder.currentControl(known: known, identity: cast.ann, keyring: &ring)
    }

    /// Each read once; the former owner must not take itself for the owner for that, nor anybody for somebody else's device.
    private func failingEachRead(_ body: () throws -> Void) throws {
        for count in 0..<1_000 {
            cast.mount.failRead(after: count)
            do { try body() } catch let error as CloudError { #expect(error.code == .mount, "read \(count): \(error)") }
            guard !cast.mount.hasFailureLeft else {
                cast.mount.failRead(after: nil)
                return #expect(count > 2)
            }
        }
        Issue.record("it reads without end")
    }

    @Test func `a read that fails makes nobody the owner who is it no more`() throws {
        for known in [[], [cast.first.version], [handover.version], [last.version]] {
            try failingEachRead {
                let found = try current(known: known)
                #expect(found.control.owner == cast.bob.account && found.control.title == "Sea", "\(known)")
                #expect(found.problems.isEmpty, "\(found.problems)")
            }
        }
        try failingEachRead {
            let owner = try cast.folder.presentOwner()
            #expect(owner == cast.bob.account)
        }
        try failingEachRead {
            let signature = try cast.folder.newestSignature(
                of: [last.version], after: handover.version, admins: [cast.ann.account])
            #expect(signature?.signer == cast.bob.account)
        }
    }

    @Test func `a hand-over that is gone again leaves the zone with whom it was known to be`() throws {
        let path = cast.folder.path("control", handover.version.description)
        let bytes = try #require(cast.mount[path])
        let end = try #require(bytes.last)
        for damaged in [nil, bytes.dropLast(1) + [end ^ 1]] as [[UInt8]?] {
            cast.mount[path] = damaged
            let code = code { _ = try current(known: [last.version]) }
            #expect(code == .rolledBack)
        }
        cast.mount[path] = bytes
        let owner = try current(known: [last.version]).control.owner
        #expect(owner == cast.bob.account)
    }

    /// Another hand-over by Ann, by the same consent or another one, over what was before the first.
    private func handOverAgain(to receiver: Identity, title: String = "Lake") throws -> VerifiedControl {
        var ring = cast.annRing
        let offer = TransferOffer(
            account: receiver.account, permission: .readWrite, staysAdmin: false, number: cast.source.bytes(16))
        let consent = try TransferConsent(offer, of: cast.folder.zone, by: cast.ann.account, identity: receiver)
        var before = try cast.folder.currentControl(identity: cast.ann, keyring: &ring)
        before.control = cast.first.control
        (before.tips, before.lineage) = ([cast.first.version], [])
        before.control.participants[receiver.account] = Participant(
            account: receiver.account, label: "b", permission: .readWrite, status: .accepted)
        var control = before.control
        control.title = title
        control.offer = offer
        control.handOver(offer, at: [:])
        return try cast.folder.publishControl(
            control, replacing: before, keyring: &ring, consent: consent, identity: cast.ann, nowMilliseconds: 4,
            randomBytes: cast.source.bytes
        ).verified
    }

    @Test func `two devices of the owner hand over to the same person: it is one hand-over for everybody`() throws {
        let second = try handOverAgain(to: cast.bob, title: "Moor")
        for known in [[], [handover.version], [second.version], [last.version]] {
            for identity in [cast.ann, cast.bob] {
                var ring = ZoneKeyring()
                let found = try cast.folder.currentControl(
                    named: [last.version], known: known, identity: identity, keyring: &ring)
                #expect(found.control.owner == cast.bob.account && found.control.title == "Sea", "\(known)")
                #expect(found.control.isAdmin(cast.ann.account), "as the hand-over says that counts")
                #expect(found.lineage == [handover.version] && found.tips == [last.version] && found.isTakenUp)
                #expect(found.problems.isEmpty, "\(found.problems)")
            }
        }
        // Where the mount does not show yet what the new owner's head leads to.
        cast.mount[cast.folder.path("control", handover.version.description)] = nil
        let code = code {
            var ring = ZoneKeyring()
            _ = try cast.folder.currentControl(
                named: [last.version], known: [second.version], identity: cast.bob, keyring: &ring)
        }
        #expect(code == .notYet)
    }

    @Test func `of two hand-overs to two people, who has known one stays with it`() throws {
        let second = try handOverAgain(to: cast.mallory)
        #expect(try current(known: [last.version]).control.owner == cast.bob.account)
        #expect(try current(known: [second.version]).control.owner == cast.mallory.account)
    }

    /// A control by Ann with a key of her own, wrapped for these people only.
    private func publish(
        _ control: Control, over parent: VerifiedControl, epoch number: UInt64, for readers: [Identity]
    ) throws -> EpochID {
        var ring = ZoneKeyring()
        let key = cast.source.bytes(32)
        let epoch = EpochID(number: number, key: key)
        try ring.insert(key, for: epoch)
        ring.current = epoch
        let bytes = try ControlFile.encode(
            control, zone: cast.folder.zone, version: parent.version.version + 1, parents: [parent.version.hash],
            lineage: parent.lineage + (parent.newOwner == nil ? [] : [parent.version]), identity: cast.ann,
            keyring: ring, recipients: readers.map { try agreementPublicKey($0.accountAgreementKeys[0]) },
            nowMilliseconds: 9, randomBytes: cast.source.bytes)
        cast.mount[cast.folder.path("control", try ControlFile(bytes).version.description)] = bytes
        return epoch
    }

    @Test func `who owns a zone no more chooses no key that others seal with`() throws {
        let epoch = try publish(cast.first.control, over: cast.first, epoch: 2, for: [cast.ann, cast.bob])
        var ring = ZoneKeyring()
        let found = try cast.folder.currentControl(known: [last.version], identity: cast.bob, keyring: &ring)
        #expect(ring.current != nil && ring.current != epoch && found.newestEpoch == ring.current)
        #expect(found.problems.map(\.code) == [.notPermitted])
    }

    @Test func `a number that no other can follow is not taken`() throws {
        let code = code { _ = try publish(cast.first.control, over: cast.first, epoch: .max, for: [cast.ann]) }
        #expect(code == .damaged)
    }

    @Test func `an admin's control that is closed to the owner counts for nothing and is named`() throws {
        var control = last.control
        control.title = "Mine"
        _ = try publish(control, over: last, epoch: 2, for: [cast.ann])
        var ring = ZoneKeyring()
        let found = try cast.folder.currentControl(known: [last.version], identity: cast.bob, keyring: &ring)
        #expect(found.control.title == "Sea" && found.problems.map(\.code) == [.notInvited])
    }

    @Test func `who was an admin leaves the key of a control that counts no more to those who have sealed with it`()
        throws
    {
        var control = last.control
        control.title = "Mine"
        let epoch = try publish(control, over: last, epoch: 2, for: [cast.ann, cast.bob])
        // Bob has not seen it, and puts her down.
        var ring = ZoneKeyring()
        let name = try #require(cast.mount.all.keys.first { $0.description.contains("/0000000000000004-") })
        let bytes = cast.mount[name]
        cast.mount[name] = nil
        let before = try cast.folder.currentControl(identity: cast.bob, keyring: &ring)
        var next = before.control
        next.participants[cast.ann.account]?.role = .participant
        _ = try cast.folder.publishControl(
            next, replacing: before, keyring: &ring, identity: cast.bob, nowMilliseconds: 8,
            randomBytes: cast.source.bytes)
        cast.mount[name] = bytes
        var others = ZoneKeyring()
        let found = try cast.folder.currentControl(identity: cast.bob, keyring: &others)
        #expect(found.control.title == "Sea" && !found.control.isAdmin(cast.ann.account))
        #expect(others.key(epoch) != nil && others.current != epoch)
    }

    @Test func `files that have the hash of a control in their name hide it from nobody`() throws {
        for version in [handover.version, last.version, cast.first.version] {
            for number in [1, 2, 7] as [UInt64] where number != version.version {
                let name = ControlVersion(version: number, hash: version.hash).description
                cast.mount[cast.folder.path("control", name)] = [1, 2, 3]
            }
        }
        for known in [[], [cast.first.version], [last.version]] {
            let found = try current(known: known)
            #expect(found.control.owner == cast.bob.account && found.control.title == "Sea", "\(known)")
        }
        #expect(try cast.folder.presentOwner() == cast.bob.account)
    }

    @Test func `who has known who owns the zone is not turned by a hand-over that is not theirs to make`() throws {
        _ = try handOverAgain(to: cast.mallory)
        #expect(try cast.folder.presentOwner(after: last.version) == cast.bob.account)
        #expect(try cast.folder.handover(by: cast.ann.account, after: cast.first.version) != nil)
        #expect(try cast.folder.handover(by: cast.ann.account, after: handover.version) == nil)
    }
}
