import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// One person acts, on one device; everybody else only syncs, at any moment. So what everybody must show in the end is
/// known exactly: what that person's own disk showed after the last act.
struct ActorScript: CustomStringConvertible {
    /// Who acts, and what happens to the processes.
    enum Kind: String, CaseIterable, Sendable {
        /// The owner, in the library.
        case owner
        /// Somebody who takes part in a share, in that.
        case participant
        /// As the owner; processes are killed.
        case killed
        /// As a participant, who moves photos with their sidecars between that share and the own library as well.
        case traveller
        /// As that; processes are killed.
        case killedTraveller
        /// As the owner, whose photos have the same bytes at first.
        case twins
        /// As that; processes are killed.
        case killedTwins
        /// As the traveller, and all photos have the same bytes at first.
        case travellingTwins

        /// Whether it is about somebody else's share.
        var isParticipant: Bool { self == .participant || travels }
        var travels: Bool { self == .traveller || self == .killedTraveller || self == .travellingTwins }
        var isKilled: Bool { self == .killed || self == .killedTraveller || self == .killedTwins }
        var hasTwins: Bool { self == .twins || self == .killedTwins || self == .travellingTwins }
    }

    /// One thing that happens. Numbers are picks among what there is at that moment.
    enum Step: Hashable, Sendable {
        case moveFile(Int, into: Int)
        case moveFolder(Int, into: Int)
        case rename(Int, name: Int)
        case renameFolder(Int, name: Int)
        case swap(Int, Int)
        case overwrite(Int)
        /// Moves a file elsewhere and writes another one under its name.
        case replaceMoved(Int, into: Int)
        case write(into: Int)
        case delete(Int)
        /// Between the share and the actor's own library; and then writes another one under its former name.
        case moveOut(Int, name: Int)
        case moveIn(Int, into: Int)
        case replaceMovedOut(Int, name: Int)
        case replaceMovedIn(Int, into: Int)
        case swapAcross(Int, Int)
        case renameOwn(Int, name: Int)
        /// As an editor saves a photo: another file takes its place.
        case saveOwn(Int)
        case saveShared(Int)
        case share(Int)
        case stop(Int)
        case takeOut(Int)
        /// The actor's device looks at what changed, without the cloud folder.
        case look
        /// A machine syncs.
        case sync(Int)
        /// The actor's device syncs, and another one does just before one of its publications, or of its calls.
        case syncBetween(publications: Int, Int)
        case syncDuring(calls: Int, Int)
        /// A machine syncs, and is killed at one of its calls.
        case syncKilled(calls: Int, Int)
        case pass
    }

    var kind: Kind
    var seed: UInt64
    var steps: [Step]
    var description: String { "\(kind) \(seed): \(steps)" }

    init(_ kind: Kind, seed: UInt64, steps: [Step]) { (self.kind, self.seed, self.steps) = (kind, seed, steps) }

    /// A script that a seed decides.
    init(_ kind: Kind, seed: UInt64) {
        (self.kind, self.seed) = (kind, seed)
        var random = SeededGenerator(seed: seed, part: "actor")
        func act() -> Step {
            let (a, b) = (random.below(1_000), random.below(1_000))
            if kind.travels, random.below(2) == 0 {
                return switch random.below(9) {
                case 0: .moveOut(a, name: b)
                case 1: .moveIn(a, into: b)
                case 2: .replaceMovedOut(a, name: b)
                case 3: .replaceMovedIn(a, into: b)
                case 4, 5: .swapAcross(a, b)
                case 6: .saveOwn(a)
                case 7: .saveShared(a)
                default: .renameOwn(a, name: b)
                }
            }
            return switch random.below(16) {
            case 0, 1, 2: .moveFile(a, into: b)
            case 3, 4, 5: .moveFolder(a, into: b)
            case 6: .rename(a, name: b)
            case 7: .renameFolder(a, name: b)
            case 8: .swap(a, b)
            case 9: .overwrite(a)
            case 10: .replaceMoved(a, into: b)
            case 11: .write(into: a)
            case 12: .delete(a)
            case 13: .share(a)
            case 14: .takeOut(a)
            default: .stop(a)
            }
        }
        func meanwhile() -> Step {
            if kind.isKilled, random.below(2) == 0 {
                return .syncKilled(calls: random.below(random.below(2) == 0 ? 30 : 200), random.below(3))
            }
            return switch random.below(8) {
            case 0, 1: .look
            case 2, 3: .sync(random.below(3))
            case 4, 5: .syncBetween(publications: random.below(9), 1 + random.below(2))
            case 6: .syncDuring(calls: random.below(150), 1 + random.below(2))
            default: .pass
            }
        }
        var steps: [Step] = []
        for _ in 0..<(2 + random.below(5)) {
            steps.append(act())
            for _ in 0..<random.below(4) { steps.append(meanwhile()) }
        }
        self.steps = steps
    }

    /// What is wrong in the end; nil if nothing is.
    ///
    /// - Parameter narrates: whether what happens is printed.
    func problem(narrates: Bool = false) -> String? {
        SeededWrapping.run(seed: seed) { outcome(narrates: narrates) }
    }

    private func outcome(narrates: Bool) -> String? {
        do {
            let stage = try ActorStage(kind, seed: seed)
            if narrates { stage.narrate() }
            for step in steps {
                if narrates { print(step) }
                try stage.perform(step)
            }
            if narrates { print("the end") }
            return try stage.finish()
        } catch { return "\(error)" }
    }
}
