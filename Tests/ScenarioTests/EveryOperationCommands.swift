import Foundation
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

// The commands of the deeds.

extension Stage {
    /// Gives the command of a deed, again if need be.
    func command() -> Reply? {
        let photo = alice.path("Summer/a.jpg")
        switch deed {
        case .share: return share()
        case .shareAdd: return alice.request(.shareAdd(share: "Summer", paths: [alice.path("Private/c.jpg")]))
        case .shareRemove: return alice.request(.shareRemove(share: "Summer", paths: [photo]))
        case .shareTitle: return alice.request(.shareTitle(share: zone, title: "Sommer"))
        case .invite: return invite()
        case .accept, .joinByLink: return bob.request(.accept(link: link))
        case .publish:
            return alice.request(.setPublic(share: "Summer", permission: "readOnly", renews: false, announces: true))
        case .demote: return alice.request(.permission(share: "Summer", account: "bob", permission: "readOnly"))
        case .revoke: return alice.request(.uninvite(share: "Summer", accounts: ["bob"]))
        case .leave: return bob.request(.leave(share: "Summer", keepCopy: false))
        case .leaveKeeping: return bob.request(.leave(share: "Summer", keepCopy: true))
        case .stop: return alice.request(.stop(share: "Summer"))
        case .restoreShare: return bob.request(.restoreShare(share: "Summer"))
        case .transfer: return alice.request(.transfer(share: "Summer", account: "bob", stays: "readWrite"))
        case .takeOver: return bob.request(.transferAnswer(share: "Summer", accepts: true))
        case .tag: return alice.request(.tag(path: photo, titles: ["new", "old"], isMember: true))
        case .tagRename: return alice.request(.tagRename(title: "old", newTitle: "former", scope: .share("Summer")))
        case .tagDelete: return alice.request(.tagDelete(title: "old", scope: .share("Summer")))
        case .untag: return alice.request(.tag(path: alice.path("Summer/deep/b.jpg"), titles: ["old"], isMember: false))
        case .tagRenameOwn: return alice.request(.tagRename(title: "own", newTitle: "mine", scope: .library))
        case .tagDeleteOwn: return alice.request(.tagDelete(title: "own", scope: .library))
        case .declineTransfer: return bob.request(.transferAnswer(share: "Summer", accepts: false))
        case .withdrawTransfer: return alice.request(.transferWithdraw(share: "Summer"))
        case .acceptInvited: return bob.request(.acceptInvitations(names: ["Summer"]))
        case .acceptAll: return bob.request(.acceptAllPending)
        case .decline: return bob.request(.decline(names: ["Summer"]))
        case .makeLink:
            return alice.request(
                .makeLink(share: "Summer", permission: "readOnly", expiresMilliseconds: 0, count: 3, asks: false))
        case .renewLink:
            return alice.request(.setPublic(share: "Summer", permission: "readOnly", renews: true))
        case .unpublish: return alice.request(.setPublic(share: "Summer", permission: "none", renews: false))
        case .ask:
            // That somebody has to answer is reported, not done.
            let reply = bob.request(.ask(link: link))
            return reply.code == ExitCode.reported ? Reply(lines: reply.lines) : reply
        case .admit:
            return alice.request(.answerRequests(share: "Summer", accounts: ["bob"], permission: ""))
        case .refuse:
            return alice.request(.answerRequests(share: "Summer", accounts: ["bob"], permission: nil))
        case .verifyAccount: return alice.request(.verifyAccount(name: "bob", isCompared: true))
        case .approve: return alice.request(.deviceApprove(code: pending?.code?.description ?? ""))
        case .admitKeys: return alice.request(.deviceAdmit(device: pending?.publicKeys.text ?? ""))
        case .pair, .retireLost:
            do {
                if deed == .retireLost { return try retireLost() }
                try pair()
                return Reply()
            } catch { return Reply(code: ExitCode.failed, lines: ["\(error)"]) }
        case .rate: return alice.request(.rate(path: photo, value: 4))
        case .caption: return caption("said")
        case .resolve: return alice.request(.resolveConflict(path: photo, field: "caption", choice: "1"))
        case .restoreTrash: return alice.request(.restoreTrash(paths: [alice.path("Summer")]))
        case .restoreVersion: return alice.request(.restoreVersion(path: photo, version: "2"))
        case .restoreContent: return alice.request(.restoreContent(path: photo))
        case .undo: return alice.request(.undo(token: undone))
        case .confirmDeletions: return alice.request(.confirmDeletions)
        case .rejectDeletions: return alice.request(.rejectDeletions)
        case .compact: return alice.request(.compact)
        case .recreate: return alice.request(.recreateContainer)
        case .retire: return alice.request(.deviceRetire(name: "laptop"))
        case .repair:
            // As the command does it: what is left is what it says at the end, and whoever reads that does it again.
            do {
                if let request = try alice.engine.verify().repair {
                    let reply = alice.request(request)
                    guard reply.code == 0 else { return reply }
                }
                let left = try alice.engine.verify()
                let isWell = left.faults.isEmpty && !left.isOffline
                return Reply(code: isWell ? ExitCode.done : ExitCode.reported)
            } catch { return Reply(code: ExitCode.failed, lines: ["\(error)"]) }
        default: return nil
        }
    }

    /// Retires the laptop with the recovery file, as the command does it.
    private func retireLost() throws -> Reply {
        let kit = try RecoveryKit(serialized: village.recoveryFiles["alice"] ?? [])
        let world = alice.machine.world
        let account = try kit.account
        let directory = AccountDirectory(mount: world.mount)
        let entry = try #require(try directory.refresh(account))
        let devices = entry.devices.filter { $0.value.label == "laptop" }.map(\.key)
        let statement = try kit.retiring(
            devices, more: directory.statements(of: account), nowMilliseconds: world.nowMilliseconds(),
            randomBytes: world.randomBytes)
        try directory.publish(statement: statement, of: account)
        return alice.request(.deviceRetired(devices: devices.map(\.description)))
    }

    /// Whether what a command does is done, so that it must not be given again.
    func isDone() throws -> Bool {
        func shares(_ replica: Replica) throws -> Int {
            try replica.store.read { db in try db.zones() }.filter { $0.kind == .share && $0.state == .active }.count
        }
        switch deed {
        case .share, .stop: return try (shares(alice) == 1) == (deed == .share)
        case .leave, .leaveKeeping: return try shares(bob) == 0
        case .decline: return try InvitationListing(reading: bob.engine).invitations.isEmpty
        case .refuse: return try InvitationListing(reading: alice.engine).requests.isEmpty
        case .makeLink: return try !links(alice).isEmpty
        case .pair: return laptop.map { laptop in village.replicas.contains { $0 === laptop } } ?? false
        case .restoreTrash: return alice.tree(.library)["Summer/deep/b.jpg"] != nil
        case .restoreVersion: return alice.tree(.library)["Summer/a.jpg"] == "aaa"
        case .restoreContent: return alice.tree(.library)["Summer/a.jpg"] == "aaa"
        case .undo, .resolve:
            let caption = alice.sidecar("Summer/a.jpg", .library)?.fields.caption ?? ""
            return caption == (deed == .undo ? "" : resolved)
        default: return false
        }
    }
}
