import Foundation
import Shoebox
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// What somebody does, and who does it, while one operation of theirs goes wrong.
enum Deed: String, CaseIterable {
    // What users do with files, and what comes of it at the others'.
    case importing, mirroring, firstMirror, overwriting, overwritten, renaming, renamed, moving, deleting, deleted
    case deletingTheirs, deletedTheirs, droppingTheirs, swapping, swapped, conflict, readOnlyEdit
    case movingOut, movingIn, changingPlaces, movingReplaced, swappingSaved, movingSaved, swappedFolders
    // What is said of photos.
    case sidecar, sidecarSeen, sidecarMended, renamedEdited, copyingTags, tag, untag, tagRename, tagDelete,
        tagRenameOwn, tagDeleteOwn, rate
    case caption, resolve
    // Shares and people.
    case share, shareAdd, shareRemove, shareTitle, invite, accept, joinByLink, joined, publish, demote, demoted
    case revoke, revoked, leave, leaveKeeping, stop, ended, endedKeeping, restoreShare
    case transfer, takeOver, handedOver, declineTransfer, withdrawTransfer
    case acceptInvited, acceptAll, decline, makeLink, renewLink, unpublish, ask, admit, refuse, verifyAccount
    // What brings back, and what goes for good.
    case restoreTrash, restoreVersion, restoreContent, undo, emptyTrash, confirmDeletions, rejectDeletions
    // What keeps the container and the state whole.
    case compact, rebuild, repair, segmentMended, recreate, retire, retired, retireLost, copiedState, restoredContainer
    // Devices.
    case approve, admitKeys, pair

    enum Person { case alice, bob, laptop }

    /// On whose machine something goes wrong.
    var victim: Person {
        switch self {
        case .mirroring, .overwritten, .renamed, .swapped, .deleted, .deletingTheirs, .droppingTheirs, .sidecarSeen,
            .renamedEdited, .swappedFolders,
            .conflict, .movingOut, .movingIn, .changingPlaces, .readOnlyEdit, .accept, .joinByLink, .demoted, .revoked,
            .leave, .leaveKeeping, .ended, .endedKeeping, .segmentMended,
            .restoreShare, .takeOver, .declineTransfer, .acceptInvited, .acceptAll, .decline, .ask:
            .bob
        case .firstMirror, .pair: .laptop
        default: .alice
        }
    }

    /// Whether Alice has a second device.
    var hasLaptop: Bool { [.firstMirror, .retire, .retired, .retireLost].contains(self) }

    /// Whether a second device of Alice's waits to be admitted.
    var hasPendingLaptop: Bool { [.approve, .admitKeys, .pair].contains(self) }

    /// How far Bob is in Alice's share before it begins.
    enum Sharing: Int { case none, made, invited, accepted }

    var sharing: Sharing {
        switch self {
        case .share: .none
        case .invite, .joinByLink, .makeLink, .renewLink, .unpublish, .ask, .admit, .refuse: .made
        case .accept, .acceptInvited, .acceptAll, .decline: .invited
        default: .accepted
        }
    }

    /// What the share lets people do who come by its link.
    var publicPermission: String {
        [.joinByLink, .joined, .renewLink, .unpublish].contains(self) ? "readWrite" : "none"
    }

    /// Problems that are there or not by who was first: what was written too late was published, and refused, or not.
    var uncertainProblems: Set<String> { self == .demoted ? ["refused", "demoted"] : [] }

    /// How much time goes by between the rounds of the one whom it is about.
    var waitMilliseconds: UInt64 {
        switch self {
        // Until the trash has been seen to be old twice.
        case .emptyTrash: 90_000_000
        // Until what was folded may go.
        case .compact: 1_900_000
        default: 2_000
        }
    }

    /// Whether a call only looks.
    static func isLook(_ operation: String) -> Bool {
        ["identity", "list", "entry", "device", "open", "stamp", "read", "freeBytes", "hasWriter"].contains(operation)
    }

    /// A number that differs from deed to deed.
    var number: Int { rawValue.utf8.reduce(7) { ($0 * 31 + Int($1)) % 9_973 } }
}

/// How an operation goes wrong.
enum Mishap: String, CaseIterable {
    case inputOutput, answerLost, full, crash
    /// Death, and what was not made durable is lost in one of several ways.
    case powerCut

    var effect: SimulatedFaults.Effect {
        switch self {
        case .inputOutput: .fail(.inputOutput)
        case .answerLost: .failAfter(.inputOutput)
        case .full: .torn(keeping: 3, .full)
        case .crash, .powerCut: .crash
        }
    }

    /// What goes with the power at an operation; nil if it stays on.
    func loss(at number: Int) -> SimulatedPowerCut? {
        guard self == .powerCut else { return nil }
        return [.losingEverything, .emptyingFiles, .tearingFiles, .random(seed: UInt64(number))][number % 4]
    }

    /// What can go wrong with a call so that something else comes of it: dying between two calls that only look is dying
    /// before the next one that changes something; and a transaction fails as a whole.
    static func kinds(of operation: SimulatedFaults.Operation) -> [Mishap] {
        if operation.part == "store" { return [.full, .crash, .powerCut] }
        if Deed.isLook(operation.name) { return [.inputOutput] }
        let takesSpace = ["create", "write", "append", "publish", "makeDirectory", "rename"].contains(operation.name)
        return takesSpace
            ? [.inputOutput, .answerLost, .full, .crash, .powerCut] : [.inputOutput, .answerLost, .crash, .powerCut]
    }
}
