import ShoeboxTestSupport
import ShoeboxWorld

extension KeptScript {
    /// What goes from one share to another, or home, while the share ends or another device moves it. Kept one by one, see `shares`.
    static let crossings: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(
            _ story: String, isVillage: Bool = true, segmentChangesMax: Int? = nil, seed: UInt64,
            _ steps: [SimulationStep]
        ) {
            all.append(
                KeptScript(story, isVillage: isVillage, segmentChangesMax: segmentChangesMax, seed: seed, steps))
        }
        keep(
            "what is saved in a photo that goes over the library from one share to another is not lost", seed: 8,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .sync(machine: 1),
                .command(machine: 1, root: .library, .share(folder: 15)),
                .command(machine: 1, root: .library, .share(folder: 2)),
                .command(machine: 1, root: .library, .invite(share: 1, account: 3, .readWrite)),
                .command(machine: 1, root: .library, .invite(share: 9, account: 0, .readWrite)),
                .command(machine: 1, root: .library, .invite(share: 9, account: 3, .readWrite)),
                .command(machine: 1, root: .library, .invite(share: 17, account: 0, .readWrite)),
                .command(machine: 0, root: .library, .accept),
                .command(machine: 4, root: .library, .accept),
                .sync(machine: 0),
                .sync(machine: 4),
                .user(machine: 4, root: .shared, .overwrite(file: 2, .replacing, bytes: 191)),
                .command(machine: 0, root: .shared, .caption(file: 0)),
                .user(machine: 0, root: .shared, .carryOver(file: 0, folder: 1)),
                .user(machine: 0, root: .library, .moveOn(folder: 2, isOver: true)),
                .sync(machine: 0),
                .user(machine: 0, root: .shared, .moveOn(folder: 1, isOver: false)),
                .user(machine: 0, root: .shared, .editMoved(bytes: 28)),
                .sync(machine: 0),
            ])
        keep(
            "a photo that was taken to a share which another device of its owner left just then shows where it was",
            seed: 31,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 0, root: .library, .share(folder: 12)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 2, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 17, account: 2, .readWrite)),
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 1, root: .library, .share(folder: 0)),
                .command(machine: 1, root: .library, .invite(share: 17, account: 0, .readWrite)),
                .command(machine: 1, root: .library, .invite(share: 17, account: 2, .readWrite)),
                .command(machine: 3, root: .library, .accept),
                .command(machine: 4, root: .library, .accept),
                .sync(machine: 3),
                .user(machine: 3, root: .shared, .part(file: 1, folder: 5, isFolder: false)),
                .command(machine: 4, root: .library, .leave(share: 0, keepsCopy: true)),
            ])
        keep(
            "what comes to a share whose folder was just deleted here is no new photo where it lay", seed: 3_121,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 0, root: .library, .share(folder: 5)),
                .command(machine: 0, root: .library, .invite(share: 1, account: 1, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 2, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 3, .readWrite)),
                .command(machine: 1, root: .library, .accept),
                .command(machine: 4, root: .library, .accept),
                .sync(machine: 0),
                .sync(machine: 1),
                .sync(machine: 4),
                .user(machine: 1, root: .shared, .part(file: 2, folder: 3, isFolder: true)),
                .user(machine: 4, root: .shared, .deleteShareFolder(share: 0)),
            ])
        keep(
            "what was written over while its move was looked at does not keep the way back from being told",
            seed: 7_088,
            [
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 1, root: .library, .share(folder: 1)),
                .user(machine: 1, root: .library, .write(folder: 0, name: 2, bytes: 13)),
                .sync(machine: 1),
                .userDuring(
                    machine: 1, afterCalls: 49, root: .library,
                    .overwriteMoved(file: 1, folder: 1, .inPlace, isBefore: true, bytes: 17)),
                .user(
                    machine: 1, root: .library,
                    .overwriteMoved(file: 1, folder: 2, .inPlace, isBefore: false, bytes: 88)),
                .sync(machine: 1),
            ])
        keep(
            "a photo that was taken to a share of the same owner which had just been stopped is where it was",
            seed: 7_082,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 0, bytes: 10)),
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 1, bytes: 11)),
                .command(machine: 0, root: .library, .share(folder: 18)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 3, .readWrite)),
                .command(machine: 4, root: .library, .accept),
                .sync(machine: 0),
                .sync(machine: 4),
                .user(machine: 4, root: .shared, .write(folder: 1, name: 1, bytes: 26)),
                .command(machine: 2, root: .shared, .stop(share: 4)),
                .user(machine: 4, root: .shared, .part(file: 4, folder: 3, isFolder: false)),
            ])
        keep(
            "a photo that goes a second time to a share where it is dead lies there where it was put, not where it was before",
            seed: 9_421,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 0, bytes: 10)),
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 1, bytes: 11)),
                .user(machine: 0, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 0, root: .library, .share(folder: 17)),
                .command(machine: 0, root: .library, .share(folder: 10)),
                .command(machine: 0, root: .library, .invite(share: 1, account: 3, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 0, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 9, account: 3, .readWrite)),
                .command(machine: 0, root: .library, .invite(share: 17, account: 0, .readWrite)),
                .command(machine: 4, root: .library, .accept),
                .command(machine: 6, root: .library, .accept),
                .sync(machine: 4),
                .user(machine: 4, root: .shared, .part(file: 3, folder: 0, isFolder: false)),
                .sync(machine: 4),
                .user(machine: 4, root: .shared, .moveOn(folder: 1, isOver: true)),
                .sync(machine: 4),
                .sync(machine: 4),
                .sync(machine: 4),
                .user(machine: 6, root: .shared, .caption(file: 3)),
                .sync(machine: 6),
                .user(machine: 6, root: .shared, .part(file: 3, folder: 2, isFolder: true)),
                .user(machine: 6, root: .shared, .moveOn(folder: 3, isOver: true)),
                .user(machine: 6, root: .library, .moveOn(folder: 0, isOver: true)),
            ])
        keep(
            "what was said of a photo before it was taken home is not told where another device takes its folder then",
            seed: 10_022,
            [
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 0, bytes: 10)),
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 1, bytes: 11)),
                .user(machine: 1, root: .library, .writeDeep(folder: 0, name: 2, bytes: 12)),
                .command(machine: 1, root: .library, .share(folder: 8)),
                .command(machine: 1, root: .library, .share(folder: 6)),
                .command(machine: 1, root: .library, .invite(share: 17, account: 3, .readWrite)),
                .command(machine: 0, root: .library, .accept),
                .command(machine: 2, root: .library, .accept),
                .sync(machine: 1),
                .sync(machine: 2),
                .sync(machine: 3),
                .sync(machine: 0),
                .sync(machine: 2),
                .sync(machine: 3),
                .command(machine: 3, root: .library, .caption(file: 1)),
                .user(machine: 3, root: .library, .part(file: 1, folder: 0, isFolder: false)),
                .sync(machine: 3),
                .user(machine: 0, root: .library, .carryOver(file: 4, folder: 2)),
                .sync(machine: 0),
                .user(machine: 2, root: .library, .inMoved(folder: 2, into: 1, name: 49, .moveFileIn, pick: 861)),
                .userDuring(machine: 2, afterCalls: 15, root: .library, .moveFolder(folder: 3, into: 2, name: 96)),
                .sync(machine: 2),
            ])
        // The share's people hear of it without its bytes, that it is deleted there, and that its owner has edited it at home.
        keep(
            "what was written over on its way to a share, and deleted there, is not waited for where another device keeps it",
            segmentChangesMax: 3, seed: 1185,
            [
                .user(
                    machine: 5, root: .library,
                    .overwriteMoved(file: 3, folder: 1, .inPlace, isBefore: false, bytes: 17)),
                .userDuring(machine: 0, afterCalls: 7, root: .library, .write(folder: 3, name: 2, bytes: 143)),
                .fault(machine: 5, .unmountContainer),
                .sync(machine: 5),
                .user(
                    machine: 5, root: .library,
                    .overwriteMoved(file: 1, folder: 2, .replacing, isBefore: true, bytes: 172)),
                .sync(machine: 5),
                .sync(machine: 5),
                .sync(machine: 0),
            ])
        // The share had no bytes of it, and those of the library before it came there are not for the share.
        keep(
            "what was written over on its way to a share, and deleted there, is gone though another device said something of it",
            seed: 1002,
            [
                .user(machine: 3, root: .shared, .writeMany(folder: 2, count: 4, bytes: 138)),
                .sync(machine: 3),
                .sync(machine: 0),
                .user(
                    machine: 0, root: .library,
                    .overwriteMoved(file: 3, folder: 3, .replacing, isBefore: true, bytes: 31)),
                .fault(machine: 0, .unmountContainer),
                .user(
                    machine: 0, root: .library,
                    .overwriteMoved(file: 1, folder: 2, .inPlace, isBefore: false, bytes: 120)),
                .sync(machine: 0),
                .command(machine: 2, root: .library, .caption(file: 192)),
                .user(machine: 0, root: .library, .deleteMany(keeping: 0)),
            ])
        // Of two devices one takes a folder into a share, the other one moves the folder elsewhere and saves something else in it.
        keep(
            "what is saved in a photo whose folder does not go to a share after all is not told there",
            isVillage: false,
            seed: 7003,
            [
                .user(machine: 3, root: .shared, .makeFolder(in: 643, name: 321)),
                .userDuring(machine: 0, afterCalls: 44, root: .library, .moveFolder(folder: 359, into: 309, name: 0)),
                .sync(machine: 3),
                .sync(machine: 0),
                .user(machine: 2, root: .library, .writeDeep(folder: 297, name: 870, bytes: 31)),
                .sync(machine: 2),
                .sync(machine: 0),
                .user(machine: 2, root: .library, .makeFolder(in: 267, name: 320)),
                .sync(machine: 2),
                .user(
                    machine: 2, root: .library,
                    .inMoved(folder: 442, into: 651, name: 27, .overwriteAndRename, pick: 644)),
                .user(machine: 0, root: .library, .moveFolder(folder: 438, into: 230, name: 61)),
            ])
        return all
    }()
}
