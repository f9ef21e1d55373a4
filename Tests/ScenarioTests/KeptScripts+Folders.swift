import ShoeboxTestSupport
import ShoeboxWorld

extension KeptScript {
    /// What people do to folders that others write into, or have shared. Kept one by one: a literal of all of them takes the compiler minutes.
    static let folders: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(_ story: String, isVillage: Bool = true, seed: UInt64, _ steps: [SimulationStep]) {
            all.append(KeptScript(story, isVillage: isVillage, seed: seed, steps))
        }
        // What was found so far is taken while directories wait to be looked at, one of them in the renamed folder's place.
        keep(
            "what was saved in a folder that was renamed is taken at once, though another has its name by then",
            seed: 51_000_286,
            [
                .user(machine: 1, root: .library, .writeDeep(folder: 662, name: 374, bytes: 84)),
                .syncBetween(machine: 1, publications: 6, other: 6),
                .user(machine: 1, root: .library, .inMoved(folder: 452, into: 192, name: 85, .overwrite, pick: 811)),
                .user(machine: 1, root: .library, .writeDeep(folder: 537, name: 614, bytes: 116)),
            ])
        // One folder got the name that another had had, and a photo of each is in the other by now.
        keep(
            "what moved between folders that were renamed one after the other is known there at once",
            seed: 51_000_365,
            [
                .user(machine: 1, root: .library, .writeDeep(folder: 919, name: 701, bytes: 193)),
                .user(machine: 3, root: .library, .writeDeep(folder: 254, name: 161, bytes: 103)),
                .sync(machine: 3),
                .sync(machine: 1),
                .syncBetween(machine: 1, publications: 7, other: 4),
                .syncBetween(machine: 4, publications: 6, other: 3),
                .userDuring(
                    machine: 1, afterCalls: 31, root: .library,
                    .inMoved(folder: 173, into: 473, name: 32, .moveFileIn, pick: 518)),
                .userDuring(
                    machine: 1, afterCalls: 18, root: .library, .write(folder: 712, name: 290, bytes: 92)),
                .userDuring(
                    machine: 1, afterCalls: 0, root: .library,
                    .inMoved(folder: 265, into: 49, name: 54, .moveFileIn, pick: 350)),
                .syncDuring(machine: 1, afterCalls: 33, other: 3),
            ])
        // The folder of private copies was renamed, and the next private copy made another one of that name.
        keep(
            "what is in a new folder in the place of one that was moved is taken at once, wherever that is found first",
            seed: 53_000_342,
            [
                .user(machine: 5, root: .shared, .overwrite(file: 7, .replacing, bytes: 194)),
                .user(machine: 2, root: .library, .writeDeep(folder: 825, name: 807, bytes: 189)),
                .sync(machine: 2),
                .sync(machine: 5),
                .syncBetween(machine: 5, publications: 0, other: 8),
                .sync(machine: 5),
                .userDuring(
                    machine: 5, afterCalls: 15, root: .library,
                    .inMoved(folder: 875, into: 969, name: 82, .overwriteAndRename, pick: 811)),
                .userDuring(
                    machine: 5, afterCalls: 26, root: .library, .write(folder: 851, name: 418, bytes: 161)),
                .user(machine: 5, root: .shared, .write(folder: 726, name: 506, bytes: 106)),
                .user(machine: 5, root: .library, .writeDeep(folder: 106, name: 255, bytes: 119)),
                .user(machine: 5, root: .shared, .copy(file: 175, name: 396)),
                .sync(machine: 5),
            ])
        // A folder was moved by another device, and what it lay in was replaced by a file, between an edit and its publishing.
        keep(
            "an edit whose file went unnoticed is given up, and keeps nothing waiting", isVillage: false, seed: 20_025,
            [
                .fault(machine: 2, .call(after: 17, .crashTorn(keeping: 29))),
                .user(machine: 2, root: .library, .overwrite(file: 600, .inPlace, bytes: 150)),
                .user(machine: 0, root: .library, .moveFolder(folder: 1, into: 378, name: 61)),
                .user(machine: 2, root: .library, .overwrite(file: 575, .inPlace, bytes: 50)), .sync(machine: 2),
                .fault(machine: 2, .call(after: 49, .crash)), .sync(machine: 2),
                .user(machine: 2, root: .library, .folderToFile(folder: 714)),
            ])
        // Bob made a folder of a photo's name, and was told afterwards that he may only read.
        keep(
            "a photo comes back to its place when a folder of its name has gone from there", seed: 30,
            [
                .user(machine: 1, root: .shared, .fileToFolder(file: 640)), .sync(machine: 1), .sync(machine: 0),
                .command(machine: 0, root: .shared, .permit(share: 909, account: 112, .readOnly)), .sync(machine: 1),
            ])
        keep(
            "what is put into a folder left by a share that another device stops is in the library of all",
            seed: 140_000,
            [
                .user(machine: 3, root: .shared, .copy(file: 369, name: 957)),
                .user(machine: 2, root: .library, .inMoved(folder: 41, into: 747, name: 69, .moveFileOut, pick: 573)),
                .sync(machine: 3),
                .syncDuring(machine: 1, afterCalls: 8, other: 2),
                .command(machine: 2, root: .shared, .stop(share: 270)),
                .user(machine: 2, root: .library, .writeDeep(folder: 75, name: 383, bytes: 96)),
            ])
        keep(
            "a folder that was refused is shared when its user may write again, with what was put into it",
            seed: 140_123,
            [
                .user(machine: 1, root: .shared, .writeDeep(folder: 208, name: 287, bytes: 146)),
                .command(machine: 2, root: .shared, .invite(share: 418, account: 985, .readOnly)),
                .syncDuring(machine: 3, afterCalls: 82, other: 1),
                .sync(machine: 3),
                .user(machine: 1, root: .shared, .write(folder: 951, name: 350, bytes: 139)),
                .command(machine: 2, root: .shared, .permit(share: 70, account: 424, .readWrite)),
            ])
        keep(
            "a photo that is added to a share while its folder is moved into that share lies in that folder for all",
            seed: 141_139,
            [
                .user(machine: 0, root: .library, .write(folder: 175, name: 485, bytes: 29)),
                .user(machine: 4, root: .library, .makeFolder(in: 708, name: 466)),
                .sync(machine: 4),
                .sync(machine: 3),
                .sync(machine: 0),
                .user(machine: 0, root: .library, .write(folder: 645, name: 432, bytes: 169)),
                .user(machine: 3, root: .library, .inMoved(folder: 9, into: 139, name: 79, .moveFolderOut, pick: 553)),
                .sync(machine: 5),
                .user(machine: 0, root: .library, .write(folder: 238, name: 787, bytes: 70)),
                .command(machine: 0, root: .library, .add(share: 97, file: 936)),
            ])
        // A new folder in one that goes out of the share: the photo in it was taken into the share, and to where the folder is.
        keep(
            "what lies in a new folder goes with it to another zone", isVillage: false, seed: 700_048,
            [
                .user(machine: 2, root: .library, .inMoved(folder: 909, into: 912, name: 12, .write, pick: 309)),
                .user(machine: 2, root: .library, .write(folder: 204, name: 31, bytes: 85)),
                .user(machine: 2, root: .library, .write(folder: 397, name: 339, bytes: 123)),
                .user(machine: 2, root: .library, .write(folder: 665, name: 460, bytes: 5)),
                .user(machine: 2, root: .library, .fileToFolder(file: 74)), .sync(machine: 2),
                .user(machine: 2, root: .library, .overwrite(file: 529, .inPlace, bytes: 17)),
            ])
        // A file is being written in a folder that its owner renames and moves out of the share.
        keep(
            "a folder that stays for a file has the name that others show it under", seed: 800_014,
            [
                .userDuring(
                    machine: 0, afterCalls: 10, root: .library,
                    .inMoved(folder: 713, into: 949, name: 75, .write, pick: 292)),
                .user(machine: 4, root: .shared, .beginWriting(folder: 427, name: 668, bytes: 191)),
                .sync(machine: 4), .sync(machine: 0), .sync(machine: 0),
                .user(
                    machine: 0, root: .library, .inMoved(folder: 549, into: 240, name: 45, .moveFileIn, pick: 60)),
            ])
        return all
    }()
}
