import ShoeboxTestSupport

@testable import Shoebox

extension KeptScript {
    /// People do something just before the engine renames, makes or removes something.
    static let raced: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(_ story: String, seed: UInt64, _ steps: [SimulationStep]) {
            all.append(KeptScript(story, seed: seed, steps))
        }
        keep(
            "what comes from another device is not put into the folder of a share that took its folder's place in between",
            seed: 10156,
            [
                .userBefore(
                    machine: 0, afterChanges: 0, root: .library,
                    .replaceFolder(folder: 814, .newAround, with: 68, name: 45, pick: 218)),
                .user(machine: 0, root: .library, .writeMany(folder: 997, count: 3, bytes: 51)),
                .sync(machine: 0),
                .syncDuring(machine: 0, afterCalls: 148, other: 5),
                .userBefore(
                    machine: 0, afterChanges: 1, root: .library,
                    .replaceFolder(folder: 196, .otherOfDeleted, with: 244, name: 19, pick: 884)),
                .user(machine: 5, root: .library, .writeDeep(folder: 152, name: 418, bytes: 136)),
                .syncDuring(machine: 5, afterCalls: 18, other: 4),
                .sync(machine: 0),
            ])
        keep(
            "a folder that its user moves to where a new one is to be made is not taken for that", seed: 5292,
            [
                .user(machine: 4, root: .library, .write(folder: 271, name: 554, bytes: 49)),
                .sync(machine: 4),
                .userBefore(
                    machine: 1, afterChanges: 3, root: .shared,
                    .inMoved(folder: 924, into: 452, name: 94, .write, pick: 644)),
                .sync(machine: 1),
                .userBefore(
                    machine: 5, afterChanges: 1, root: .library,
                    .replaceFolder(folder: 105, .new, with: 799, name: 68, pick: 111)),
                .sync(machine: 3),
                .userBefore(machine: 3, afterChanges: 4, root: .shared, .makeFolder(in: 166, name: 628)),
                .sync(machine: 1),
                .sync(machine: 3),
                .userBefore(machine: 5, afterChanges: 2, root: .library, .makeFolder(in: 379, name: 662)),
                .command(machine: 0, root: .shared, .revoke(share: 372, account: 972)),
                .userBefore(
                    machine: 6, afterChanges: 4, root: .shared,
                    .replaceFolder(folder: 195, .new, with: 302, name: 43, pick: 400)),
                .syncBetween(machine: 3, publications: 7, other: 0),
                .sync(machine: 5),
                .userBefore(machine: 5, afterChanges: 0, root: .shared, .tag(file: 711)),
            ])
        keep(
            "a folder that is replaced while photos are put into it is known at once", seed: 5174,
            [
                .sync(machine: 2),
                .userBefore(machine: 0, afterChanges: 1, root: .library, .deleteFolder(folder: 104)),
                .user(machine: 1, root: .library, .deleteFolder(folder: 985)),
                .userBefore(machine: 0, afterChanges: 3, root: .library, .makeFolder(in: 128, name: 712)),
                .user(machine: 1, root: .shared, .overwrite(file: 144, .inPlace, bytes: 94)),
                .user(machine: 1, root: .shared, .makeFolder(in: 391, name: 262)),
                .user(machine: 2, root: .library, .delete(file: 597)),
                .sync(machine: 1),
                .sync(machine: 0),
                .userBefore(
                    machine: 2, afterChanges: 3, root: .shared, .beginWriting(folder: 142, name: 282, bytes: 173)),
                .sync(machine: 0),
                .userBefore(machine: 2, afterChanges: 3, root: .library, .deleteSidecar(file: 807)),
                .syncDuring(machine: 0, afterCalls: 0, other: 2),
                .userBefore(
                    machine: 1, afterChanges: 0, root: .library,
                    .replaceFolder(folder: 695, .other, with: 37, name: 41, pick: 102)),
                .user(machine: 0, root: .library, .write(folder: 296, name: 546, bytes: 40)),
                .syncBetween(machine: 2, publications: 1, other: 3),
                .user(machine: 0, root: .library, .writeMany(folder: 261, count: 8, bytes: 67)),
                .userBefore(machine: 2, afterChanges: 1, root: .library, .writeDeep(folder: 91, name: 546, bytes: 147)),
                .user(machine: 1, root: .shared, .writeDeep(folder: 845, name: 198, bytes: 95)),
                .user(machine: 0, root: .library, .write(folder: 390, name: 260, bytes: 46)),
                .userBefore(machine: 2, afterChanges: 2, root: .library, .rate(file: 49, stars: 5)),
                .user(machine: 0, root: .library, .makeFolder(in: 100, name: 983)),
                .user(machine: 2, root: .library, .write(folder: 835, name: 483, bytes: 134)),
                .userBefore(
                    machine: 2, afterChanges: 1, root: .library,
                    .replaceFolder(folder: 675, .otherOfDeleted, with: 512, name: 47, pick: 716)),
                .userDuring(machine: 2, afterCalls: 56, root: .library, .delete(file: 941)),
                .syncDuring(machine: 0, afterCalls: 40, other: 1),
                .userBefore(machine: 0, afterChanges: 1, root: .shared, .caption(file: 21)),
                .sync(machine: 2),
                .pass(milliseconds: 14477),
                .sync(machine: 2),
                .sync(machine: 0),
                .sync(machine: 2),
            ])
        keep(
            "what was to be removed from a folder that is elsewhere by now does not come back as new", seed: 10337,
            [
                .user(machine: 2, root: .library, .fileToFolder(file: 972)),
                .userDuring(machine: 2, afterCalls: 26, root: .library, .writeDeep(folder: 591, name: 78, bytes: 117)),
                .sync(machine: 2),
                .userBefore(machine: 2, afterChanges: 0, root: .library, .fileToFolder(file: 252)),
                .user(machine: 0, root: .library, .writeDeep(folder: 826, name: 862, bytes: 89)),
                .user(machine: 0, root: .library, .replaceFolder(folder: 439, .other, with: 318, name: 88, pick: 776)),
                .sync(machine: 2),
                .syncBetween(machine: 2, publications: 7, other: 5),
                .sync(machine: 0),
                .sync(machine: 2),
                .sync(machine: 3),
                .command(machine: 2, root: .shared, .undo),
                .userBefore(
                    machine: 3, afterChanges: 0, root: .library,
                    .inMoved(folder: 570, into: 756, name: 69, .moveFileOut, pick: 882)),
                .sync(machine: 2),
                .user(machine: 3, root: .shared, .inMoved(folder: 755, into: 601, name: 27, .moveFileOut, pick: 670)),
                .pass(milliseconds: 13890),
                .sync(machine: 3),
            ])
        // Its record was in the share already, its file not yet.
        keep(
            "what lies elsewhere yet is not gone with the folder of the share that it goes to", seed: 10120,
            [
                .user(
                    machine: 3, root: .shared, .replaceFolder(folder: 48, .newAround, with: 471, name: 82, pick: 474)),
                .user(machine: 0, root: .library, .writeDeep(folder: 976, name: 687, bytes: 144)),
                .sync(machine: 3),
                .sync(machine: 0),
                .syncDuring(machine: 1, afterCalls: 18, other: 2),
                .sync(machine: 5),
                .user(machine: 5, root: .shared, .swap(file: 387, with: 259)),
                .user(machine: 1, root: .shared, .replaceFolder(folder: 356, .other, with: 618, name: 84, pick: 714)),
                .sync(machine: 1),
                .user(machine: 0, root: .library, .replaceFolder(folder: 581, .other, with: 990, name: 78, pick: 273)),
                .sync(machine: 0),
                .sync(machine: 5),
                .user(machine: 1, root: .shared, .writeMany(folder: 589, count: 9, bytes: 72)),
                .userBefore(
                    machine: 5, afterChanges: 0, root: .shared,
                    .replaceFolder(folder: 462, .other, with: 566, name: 22, pick: 381)),
                .sync(machine: 4),
                .syncDuring(machine: 1, afterCalls: 94, other: 2),
                .userBefore(machine: 4, afterChanges: 0, root: .library, .deleteFolder(folder: 931)),
                .sync(machine: 5),
                .sync(machine: 5),
                .sync(machine: 4),
            ])
        // Two zones had a record of one name, the conflict copy that was made in both; then one came to the other.
        keep(
            "a file whose record became that of another one is found", seed: 70000923,
            [
                .user(machine: 0, root: .library, .tag(file: 283)),
                .userBefore(machine: 0, afterChanges: 3, root: .library, .write(folder: 932, name: 263, bytes: 103)),
                .userBefore(
                    machine: 2, afterChanges: 2, root: .library, .copyTo(.library, file: 650, folder: 69, name: 5)),
                .user(machine: 2, root: .library, .inMoved(folder: 261, into: 213, name: 73, .write, pick: 293)),
                .sync(machine: 0),
                .user(machine: 0, root: .library, .inMoved(folder: 25, into: 310, name: 78, .write, pick: 615)),
                .userBefore(machine: 1, afterChanges: 1, root: .shared, .write(folder: 885, name: 145, bytes: 166)),
                .sync(machine: 1),
                .syncBetween(machine: 0, publications: 6, other: 9),
                .syncDuring(machine: 3, afterCalls: 13, other: 2),
                .sync(machine: 1),
                .userBefore(machine: 0, afterChanges: 2, root: .library, .writeDeep(folder: 564, name: 788, bytes: 90)),
                .sync(machine: 0),
                .syncDuring(machine: 1, afterCalls: 38, other: 0),
                .user(machine: 0, root: .library, .move(file: 88, folder: 255)),
            ])
        // A file is read by what was opened, wherever it is by then.
        keep(
            "what is saved in a photo that was just taken out of a share again is not told there", seed: 1047,
            [
                .userDuring(
                    machine: 0, afterCalls: 10, root: .library,
                    .overwriteMoved(file: 4, folder: 0, .inPlace, isBefore: false, bytes: 132)),
                .user(machine: 0, root: .library, .part(file: 0, folder: 1, isFolder: false)),
                .sync(machine: 0),
            ])
        return all
    }()
}
