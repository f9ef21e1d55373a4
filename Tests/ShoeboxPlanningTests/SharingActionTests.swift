import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct SharingActionTests {
    enum Who: CaseIterable, Sendable { case owner, admin, writer, reader, removed, contributor, stranger }

    private func control(
        _ publicPermission: Permission = .none, kind: ZoneKind = .share, isStopped: Bool = false
    ) -> Control {
        let people: [Participant] = [
            Participant(account: account(2), label: "admin", role: .admin, permission: .readWrite, status: .accepted),
            Participant(account: account(3), label: "writer", permission: .readWrite, status: .accepted),
            Participant(account: account(4), label: "reader", permission: .readOnly, status: .accepted),
            Participant(account: account(5), label: "removed", permission: .readWrite, status: .removed),
            Participant(account: account(6), label: "adds", permission: .contribute, status: .accepted),
        ]
        return Control(
            kind: kind, owner: account(1), publicPermission: publicPermission, isStopped: isStopped,
            participants: Dictionary(uniqueKeysWithValues: people.map { ($0.account, $0) }))
    }

    private func number(_ who: Who) -> UInt8 { UInt8(Who.allCases.firstIndex(of: who).map { $0 + 1 } ?? 0) }

    /// What somebody may do, with records of its own and with those of others.
    private func allowed(_ who: Who, in control: Control, own: Bool = false) -> Set<SharingAction> {
        let me = account(number(who))
        let author = own ? me : account(99)
        return Set(SharingAction.allCases.filter { can($0, account: me, author: author, in: control) })
    }

    static let writing: Set<SharingAction> = [.read, .addRecord, .editRecord, .deleteRecord, .tag, .rate, .comment]
    static let managing: Set<SharingAction> = [.invite, .changePermission, .removeParticipant, .rename]

    @Test(
        arguments: [
            (Who.owner, writing.union(managing).union([.setPublic, .stop, .transfer])),
            (.admin, writing.union(managing).union([.leave])),
            (.writer, writing.union([.leave])),
            (.contributor, [.read, .addRecord, .rate, .comment, .leave]),
            (.reader, [.read, .leave]),
            (.removed, []),
            (.stranger, []),
        ] as [(Who, Set<SharingAction>)])
    func `everyone may do what the table says`(who: Who, expected: Set<SharingAction>) {
        #expect(allowed(who, in: control()) == expected)
        let own = who == .contributor ? Self.writing.union([.leave]) : expected
        #expect(allowed(who, in: control(), own: true) == own)
        // Of a record that is not known nobody is the author.
        let me = account(number(who))
        #expect(Set(SharingAction.allCases.filter { can($0, account: me, in: control()) }) == expected)
    }

    @Test func `an admin manages people, but no admin, not itself and not the owner`() {
        let control = control()
        for action in [SharingAction.changePermission, .removeParticipant] {
            for who in Who.allCases {
                let isManaged = [.writer, .reader, .removed, .contributor, .stranger].contains(who)
                #expect(can(action, account: account(2), to: account(number(who)), in: control) == isManaged)
                #expect(can(action, account: account(1), to: account(number(who)), in: control) == (who != .owner))
                #expect(!can(action, account: account(3), to: account(number(who)), in: control))
            }
        }
    }

    @Test func `the public may read or write, and neither leave nor manage`() {
        #expect(allowed(.stranger, in: control(.readOnly)) == [.read])
        #expect(allowed(.stranger, in: control(.readWrite)) == Self.writing)
        #expect(allowed(.stranger, in: control(.contribute)) == [.read, .addRecord, .rate, .comment])
        #expect(allowed(.stranger, in: control(.contribute), own: true) == Self.writing)
        // Who is listed has what it is listed with, who was removed nothing.
        #expect(allowed(.reader, in: control(.readWrite)) == [.read, .leave])
        #expect(allowed(.removed, in: control(.readWrite)).isEmpty)
    }

    @Test func `a stopped share is its owner's alone, and a private zone is no share`() {
        for who in Who.allCases where who != .owner {
            #expect(allowed(who, in: control(.readWrite, isStopped: true)).isEmpty)
        }
        #expect(allowed(.owner, in: control(isStopped: true)) == Self.writing)
        #expect(allowed(.owner, in: control(kind: .privateZone)) == Self.writing)
    }
}
