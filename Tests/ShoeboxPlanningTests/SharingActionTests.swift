import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct SharingActionTests {
    enum Who: CaseIterable, Sendable { case owner, admin, writer, reader, removed, stranger }

    private func control(
        _ publicPermission: Permission = .none, kind: ZoneKind = .share, isStopped: Bool = false
    ) -> Control {
        let people: [Participant] = [
            Participant(account: account(2), label: "admin", role: .admin, permission: .readWrite, status: .accepted),
            Participant(account: account(3), label: "writer", permission: .readWrite, status: .accepted),
            Participant(account: account(4), label: "reader", permission: .readOnly, status: .accepted),
            Participant(account: account(5), label: "removed", permission: .readWrite, status: .removed),
        ]
        return Control(
            kind: kind, owner: account(1), publicPermission: publicPermission, isStopped: isStopped,
            participants: Dictionary(uniqueKeysWithValues: people.map { ($0.account, $0) }))
    }

    private func allowed(_ who: Who, in control: Control) -> Set<SharingAction> {
        let number = UInt8(Who.allCases.firstIndex(of: who).map { $0 + 1 } ?? 0)
        return Set(SharingAction.allCases.filter { can($0, account: account(number), in: control) })
    }

    static let writing: Set<SharingAction> = [.read, .addRecord, .editRecord, .deleteRecord, .tag, .rate, .comment]
    static let managing: Set<SharingAction> = [.invite, .changePermission, .removeParticipant, .rename]

    @Test(
        arguments: [
            (Who.owner, writing.union(managing).union([.setPublic, .stop])),
            (.admin, writing.union(managing).union([.leave])),
            (.writer, writing.union([.leave])),
            (.reader, [.read, .leave]),
            (.removed, []),
            (.stranger, []),
        ] as [(Who, Set<SharingAction>)])
    func `everyone may do what the table says`(who: Who, expected: Set<SharingAction>) {
        #expect(allowed(who, in: control()) == expected)
    }

    @Test func `the public may read or write, and neither leave nor manage`() {
        #expect(allowed(.stranger, in: control(.readOnly)) == [.read])
        #expect(allowed(.stranger, in: control(.readWrite)) == Self.writing)
        #expect(allowed(.reader, in: control(.readWrite)) == Self.writing.union([.leave]))
    }

    @Test func `a stopped share is its owner's alone, and a private zone is no share`() {
        for who in Who.allCases where who != .owner {
            #expect(allowed(who, in: control(.readWrite, isStopped: true)).isEmpty)
        }
        #expect(allowed(.owner, in: control(isStopped: true)) == Self.writing)
        #expect(allowed(.owner, in: control(kind: .privateZone)) == Self.writing)
    }
}
