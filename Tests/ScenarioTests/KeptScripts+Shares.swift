import ShoeboxTestSupport
import ShoeboxWorld

extension KeptScript {
    /// What people do to shares and what is in them, and what fails meanwhile. Kept one by one: a literal of all of them takes the compiler minutes.
    static let shares: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(_ story: String, isVillage: Bool = true, seed: UInt64, _ steps: [SimulationStep]) {
            all.append(KeptScript(story, isVillage: isVillage, seed: seed, steps))
        }
        // Of the record's payload all was written, of its signature a part: the next record begins where that would end.
        keep(
            "what is published after a head's record was torn in its signature is read", seed: 33_000_066,
            [
                .command(machine: 1, root: .library, .leave(share: 352, keepsCopy: true)), .sync(machine: 1),
                .user(machine: 2, root: .library, .write(folder: 701, name: 656, bytes: 138)),
                .command(machine: 3, root: .shared, .caption(file: 424)), .sync(machine: 3), .sync(machine: 2),
                .storageRoom(bytes: 1_450),
                .command(machine: 0, root: .shared, .invite(share: 775, account: 693, .admin)),
                .user(machine: 0, root: .library, .deleteMany(keeping: 1)), .sync(machine: 0), .sync(machine: 0),
            ])
        keep(
            "what came while a folder with a copied marker was mounted is not deleted when the right one is back",
            seed: 37_000_321,
            [
                .user(machine: 1, root: .library, .writeMany(folder: 713, count: 6, bytes: 102)),
                .fault(machine: 2, .unmount(.library, .replaced)), .sync(machine: 1),
                .fault(machine: 2, .copyMarker(.library)), .sync(machine: 2),
            ])
        // One device moves a photo out of a share, another makes a photo in it and the third deletes that; then it is stopped.
        keep(
            "what was deleted in a share that another device brought home is shown by none", seed: 50_098,
            [
                .command(machine: 2, root: .shared, .remove(share: 844, file: 863)),
                .user(machine: 3, root: .library, .makeFolder(in: 650, name: 390)),
                .user(machine: 3, root: .library, .write(folder: 471, name: 5, bytes: 195)), .sync(machine: 3),
                .sync(machine: 2), .userDuring(machine: 2, afterCalls: 16, root: .library, .delete(file: 99)),
                .sync(machine: 2), .sync(machine: 2), .sync(machine: 2),
                .command(machine: 0, root: .library, .stop(share: 328)),
            ])
        // The deletion waits to be sure of it when the photo, and all beside it, go to the private library.
        keep(
            "what was deleted just before another device stopped the share is deleted", seed: 83_029,
            [
                .user(machine: 6, root: .library, .write(folder: 163, name: 549, bytes: 14)), .sync(machine: 6),
                .user(machine: 6, root: .library, .delete(file: 862)),
                .command(machine: 0, root: .library, .stop(share: 392)),
            ])
        // Two devices share a folder at once, and a third one hears of one of the shares only after it gave way to the other.
        keep(
            "what moved through a share that a device never joined is followed", seed: 86_057,
            [
                .command(machine: 0, root: .library, .share(folder: 232)), .sync(machine: 2),
                .fault(machine: 2, .call(after: 13, .crash)), .sync(machine: 0),
                .user(machine: 1, root: .library, .makeFolder(in: 512, name: 970)),
                .user(machine: 1, root: .library, .writeMany(folder: 142, count: 10, bytes: 194)),
                .user(machine: 3, root: .shared, .delete(file: 395)), .sync(machine: 0),
                .user(machine: 3, root: .shared, .caption(file: 414)), .sync(machine: 1),
                .user(machine: 2, root: .shared, .breakSidecar(file: 399)), .sync(machine: 1),
                .user(machine: 1, root: .library, .makeFolder(in: 779, name: 602)),
                .command(machine: 0, root: .library, .restoreTrash),
                .command(machine: 0, root: .library, .leave(share: 78, keepsCopy: false)),
                .command(machine: 1, root: .library, .leave(share: 831, keepsCopy: true)),
                .command(machine: 3, root: .library, .permit(share: 292, account: 650, .readWrite)),
                .user(machine: 0, root: .shared, .makeFolder(in: 233, name: 6)), .sync(machine: 3),
                .command(machine: 3, root: .library, .accept), .sync(machine: 2),
                .user(machine: 3, root: .shared, .write(folder: 39, name: 31, bytes: 127)), .sync(machine: 3),
                .user(machine: 0, root: .library, .move(file: 867, folder: 852)),
                .fault(machine: 1, .powerCut(.random(seed: 17258516903130127306))),
                .user(machine: 3, root: .shared, .write(folder: 221, name: 139, bytes: 24)),
                .userDuring(machine: 3, afterCalls: 22, root: .library, .copy(file: 291, name: 167)), .sync(machine: 1),
                .fault(machine: 3, .call(after: 57, .crash)), .user(machine: 1, root: .library, .delete(file: 299)),
                .sync(machine: 2), .command(machine: 0, root: .shared, .restoreVersion(file: 602)),
                .user(machine: 3, root: .shared, .tag(file: 0)), .sync(machine: 2), .sync(machine: 0),
                .user(machine: 3, root: .shared, .overwrite(file: 148, .inPlace, bytes: 76)),
                .command(machine: 1, root: .shared, .share(folder: 244)), .sync(machine: 3),
                .user(machine: 3, root: .library, .write(folder: 984, name: 433, bytes: 120)),
                .command(machine: 1, root: .shared, .invite(share: 560, account: 619, .readWrite)),
                .user(machine: 0, root: .shared, .moveFolder(folder: 852, into: 975, name: 62)),
                .command(machine: 3, root: .library, .share(folder: 43)), .sync(machine: 0),
                .command(machine: 0, root: .library, .permit(share: 799, account: 669, .admin)),
            ])
        // The caption was replaced before anything of it was written, and then the share ended.
        keep(
            "a caption that its writer replaced at once is not missed where a copy is kept", seed: 86_056,
            [
                .command(machine: 4, root: .shared, .caption(file: 988)),
                .command(machine: 3, root: .shared, .stop(share: 68)),
                .command(machine: 4, root: .shared, .caption(file: 428)),
            ])
        keep(
            "a file shows in place of a folder that was shared, had tags, and was stopped", seed: 88_021,
            [
                .command(machine: 3, root: .library, .tagTwice(file: 622)), .sync(machine: 3), .sync(machine: 0),
                .command(machine: 4, root: .shared, .stop(share: 86)), .sync(machine: 0),
                .userDuring(machine: 0, afterCalls: 51, root: .library, .folderToFile(folder: 528)),
                .sync(machine: 0),
            ])
        keep(
            "a folder that left a share and became one of its own is shown as that one by every device", seed: 94_025,
            [
                .user(machine: 0, root: .library, .fileToFolder(file: 522)), .sync(machine: 0), .sync(machine: 0),
                .sync(machine: 2), .user(machine: 2, root: .library, .moveFolder(folder: 104, into: 488, name: 30)),
                .command(machine: 2, root: .library, .share(folder: 6)),
            ])
        keep(
            "what a share's people deleted as folders goes though another device has stopped the share meanwhile",
            seed: 99_049,
            [
                .user(machine: 1, root: .shared, .writeDeep(folder: 800, name: 703, bytes: 173)), .sync(machine: 1),
                .sync(machine: 3), .sync(machine: 0), .command(machine: 3, root: .library, .undo), .sync(machine: 3),
                .command(machine: 2, root: .library, .stop(share: 599)),
            ])
        keep(
            "what was taken back before anybody heard of it is not missed where a share ended", seed: 99_098,
            [
                .command(machine: 1, root: .shared, .tagTwice(file: 289)),
                .command(machine: 0, root: .library, .stop(share: 134)), .command(machine: 1, root: .library, .undo),
            ])
        keep(
            "a copy made in a share that another device stops, and of which it shares a part, is there on both",
            seed: 101_109,
            [
                .user(machine: 3, root: .library, .copy(file: 350, name: 490)),
                .command(machine: 0, root: .library, .stop(share: 823)),
                .command(machine: 0, root: .library, .share(folder: 847)),
            ])
        keep(
            "a photo put into a folder that was deleted, of a share that was stopped meanwhile, comes home",
            seed: 101_101,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 278, name: 498, bytes: 150)), .sync(machine: 0),
                .sync(machine: 3), .sync(machine: 4), .user(machine: 4, root: .library, .deleteFolder(folder: 698)),
                .user(machine: 3, root: .library, .write(folder: 98, name: 841, bytes: 96)), .sync(machine: 4),
                .sync(machine: 5), .command(machine: 4, root: .library, .stop(share: 145)),
            ])
        keep(
            "a photo of a share, in a folder that goes to that share, lies in that folder for all", seed: 100_097,
            [
                .user(machine: 0, root: .library, .inMoved(folder: 283, into: 489, name: 41, .write, pick: 612)),
                .user(
                    machine: 0, root: .library,
                    .inMoved(folder: 621, into: 759, name: 98, .overwriteAndRename, pick: 84)),
                .command(machine: 0, root: .library, .add(share: 993, file: 632)),
                .user(
                    machine: 0, root: .library, .inMoved(folder: 551, into: 100, name: 25, .moveFolderOut, pick: 230)),
            ])
        keep(
            "what others put into a folder taken out of a share comes home with the share, and is known there",
            seed: 100_293,
            [
                .user(machine: 1, root: .shared, .writeDeep(folder: 186, name: 777, bytes: 160)),
                .user(machine: 0, root: .library, .inMoved(folder: 603, into: 759, name: 72, .moveFileIn, pick: 793)),
                .sync(machine: 1), .sync(machine: 0), .sync(machine: 0),
                .command(machine: 0, root: .library, .stop(share: 286)),
            ])
        // On one device a photo waits aside to swap places with another, whose folder is gone; on another it is deleted.
        keep(
            "a photo that is deleted while it is aside does not come back", isVillage: false, seed: 60_052,
            [
                .user(machine: 2, root: .library, .swap(file: 849, with: 53)),
                .user(machine: 0, root: .library, .folderToFile(folder: 336)), .sync(machine: 2),
                .user(machine: 2, root: .library, .delete(file: 914)),
            ])
        // First its user is asked whether so many deletions were meant, then whether the share is left.
        keep(
            "a share's folder that was deleted just after photos came into it comes back when its user asks",
            seed: 121_119,
            [
                .user(machine: 3, root: .library, .writeMany(folder: 413, count: 4, bytes: 39)),
                .sync(machine: 3), .sync(machine: 4),
                .fault(machine: 0, .call(after: 30, .torn(keeping: 0, .full))),
                .user(machine: 4, root: .shared, .deleteShareFolder(share: 208)),
            ])
        // It goes on to the new share, and the mark of that is in the old one, which the first device reads no more.
        keep(
            "a photo that is added to a share which another device stops and makes anew is followed", seed: 141_041,
            [
                .user(machine: 0, root: .library, .folderToFile(folder: 712)),
                .sync(machine: 0),
                .sync(machine: 0),
                .sync(machine: 2),
                .command(machine: 0, root: .library, .stop(share: 419)),
                .command(machine: 2, root: .library, .add(share: 615, file: 188)),
                .command(machine: 0, root: .shared, .share(folder: 854)),
            ])
        keep(
            "a private copy is made though its user renames the folder that it goes to", seed: 143_173,
            [
                .user(machine: 3, root: .shared, .write(folder: 855, name: 259, bytes: 53)),
                .userDuring(
                    machine: 3, afterCalls: 51, root: .library,
                    .inMoved(folder: 650, into: 106, name: 44, .replace, pick: 212)),
                .sync(machine: 3),
            ])
        keep(
            "a reader's version is copied though its folder was moved into one that is not shared", seed: 144_398,
            [
                .user(machine: 0, root: .library, .writeDeep(folder: 127, name: 71, bytes: 113)),
                .user(machine: 5, root: .shared, .writeDeep(folder: 434, name: 663, bytes: 118)),
                .user(
                    machine: 5, root: .shared, .inMoved(folder: 582, into: 231, name: 78, .overwrite, pick: 77)),
            ])
        keep(
            "what went out of a share and back is there though another device sees one half of that before the other",
            seed: 180_062,
            [
                .syncBetween(machine: 2, publications: 1, other: 5),
                .user(
                    machine: 0, root: .library, .inMoved(folder: 967, into: 174, name: 22, .moveFolderOut, pick: 431)),
                .sync(machine: 0),
                .sync(machine: 2),
                .user(machine: 2, root: .library, .inMoved(folder: 910, into: 662, name: 91, .moveFolderIn, pick: 59)),
                .sync(machine: 2),
            ])
        keep(
            "a private copy that its user goes on with is not replaced by the next one", seed: 190_431,
            [
                .userDuring(machine: 1, afterCalls: 46, root: .shared, .fileToFolder(file: 610)),
                .user(machine: 6, root: .shared, .writeDeep(folder: 879, name: 222, bytes: 23)),
                .syncBetween(machine: 6, publications: 3, other: 3),
                .sync(machine: 3),
                .sync(machine: 1),
                .sync(machine: 1),
                .user(machine: 3, root: .shared, .write(folder: 395, name: 583, bytes: 138)),
                .sync(machine: 2),
                .syncBetween(machine: 1, publications: 0, other: 11),
                .syncBetween(machine: 3, publications: 4, other: 4),
                .user(machine: 3, root: .library, .write(folder: 555, name: 397, bytes: 190)),
                .user(
                    machine: 3, root: .shared, .inMoved(folder: 727, into: 791, name: 48, .overwrite, pick: 151)),
            ])
        for command in [SimulationStep.Command.remove(share: 12, file: 768), .stop(share: 12)] {
            keep(
                "what is back from a share is there though another device moved it into the share once more",
                seed: 191_110,
                [
                    .user(machine: 1, root: .library, .writeDeep(folder: 591, name: 926, bytes: 126)),
                    .syncBetween(machine: 1, publications: 5, other: 6),
                    .command(machine: 1, root: .shared, .share(folder: 881)),
                    .command(machine: 1, root: .library, command),
                ])
        }
        keep(
            "what is moved into a new folder where nothing may be added comes back", seed: 380,
            [
                .user(machine: 2, root: .shared, .writeDeep(folder: 325, name: 639, bytes: 100)),
                .user(machine: 2, root: .shared, .move(file: 313, folder: 739)),
            ])
        keep(
            "what changes places with something in a new folder where nothing may be added comes back", seed: 400_014,
            [
                .user(machine: 2, root: .shared, .writeDeep(folder: 605, name: 719, bytes: 131)),
                .user(machine: 2, root: .shared, .swap(file: 665, with: 742)),
            ])
        // A device deletes in a share that another one stops and shares anew: the photo went on before the deletion arrived.
        keep(
            "what was deleted in a share that was stopped and made anew is deleted", seed: 700_093,
            [
                .user(machine: 6, root: .library, .write(folder: 152, name: 340, bytes: 20)), .sync(machine: 6),
                .user(machine: 6, root: .library, .delete(file: 871)), .sync(machine: 6),
                .command(machine: 5, root: .library, .stop(share: 390)),
                .command(machine: 5, root: .library, .share(folder: 12)),
            ])
        // What overwrote its bytes waits behind a move, and nobody has the bytes before any more.
        keep(
            "what was overwritten before it was published is not given up with what overwrote it", seed: 700_154,
            [
                .user(machine: 2, root: .library, .fileToFolder(file: 986)), .sync(machine: 2), .sync(machine: 0),
                .command(machine: 2, root: .library, .share(folder: 759)),
                .user(machine: 2, root: .library, .overwrite(file: 626, .inPlace, bytes: 51)),
                .user(machine: 2, root: .library, .swap(file: 915, with: 398)),
            ])
        // Two photos swap, one of them is aside when the folder that it goes to is moved out of the share.
        keep(
            "a photo that is aside while its folder is moved to another zone gets to its place", seed: 1353,
            [
                .user(machine: 0, root: .library, .swap(file: 924, with: 794)),
                .user(machine: 1, root: .shared, .move(file: 198, folder: 913)),
                .userDuring(
                    machine: 2, afterCalls: 48, root: .library, .moveFolder(folder: 819, into: 492, name: 58)),
                .sync(machine: 1), .sync(machine: 0), .sync(machine: 2),
                .user(machine: 0, root: .library, .move(file: 94, folder: 775)),
            ])
        // The folders of the deleted photo have the names of others, which come home with the share.
        keep(
            "what was deleted in folders that others of their name replace is gone though the share was stopped",
            seed: 99_049,
            [
                .user(machine: 1, root: .shared, .writeDeep(folder: 800, name: 703, bytes: 173)),
                .fault(machine: 3, .call(after: 54, .crashAfter)), .sync(machine: 1), .sync(machine: 3),
                .sync(machine: 0), .command(machine: 3, root: .library, .undo), .sync(machine: 3),
                .command(machine: 2, root: .library, .stop(share: 599)),
            ])
        // The folder of the copy is deleted, its share stopped, and the folder of that shared anew.
        keep(
            "what was copied in a folder that is gone, of a share that was made anew, is shown by all", seed: 101_109,
            [
                .user(machine: 0, root: .library, .deleteFolder(folder: 841)),
                .user(machine: 3, root: .library, .copy(file: 350, name: 490)),
                .command(machine: 0, root: .library, .stop(share: 823)),
                .command(machine: 0, root: .library, .share(folder: 847)),
            ])
        keep(
            "a command puts nothing into another container that was mounted in the place of its own", seed: 6_000_035,
            [
                .command(machine: 0, root: .shared, .invite(share: 150, account: 297, .contribute)),
                .fault(machine: 0, .foreignContainer),
                .command(machine: 0, root: .library, .revoke(share: 646, account: 111)),
            ])
        keep(
            "what is aside and was taken out of the share goes to the trash, though another has its place by now",
            isVillage: false, seed: 15,
            [
                .user(machine: 2, root: .library, .writeDeep(folder: 614, name: 246, bytes: 99)),
                .sync(machine: 2),
                .user(machine: 1, root: .shared, .swap(file: 344, with: 953)),
                .user(machine: 1, root: .shared, .copy(file: 789, name: 712)),
                .sync(machine: 1),
                .sync(machine: 0),
                .user(machine: 3, root: .shared, .deleteFolder(folder: 110)),
                .user(machine: 0, root: .library, .inMoved(folder: 273, into: 685, name: 65, .overwrite, pick: 399)),
                .sync(machine: 3),
            ])
        keep(
            "an edit where one may only read is kept, though it changes places with another photo at once", seed: 383,
            [
                .user(machine: 0, root: .library, .write(folder: 901, name: 133, bytes: 126)),
                .command(machine: 0, root: .shared, .invite(share: 942, account: 841, .readOnly)),
                .user(machine: 0, root: .library, .inMoved(folder: 509, into: 996, name: 48, .delete, pick: 476)),
                .sync(machine: 0),
                .sync(machine: 1),
                .sync(machine: 0),
                .user(machine: 1, root: .shared, .overwrite(file: 900, .replacing, bytes: 138)),
                .sync(machine: 1),
                .userDuring(
                    machine: 1, afterCalls: 11, root: .shared, .swapThrough(file: 354, with: 519, name: 0)),
                .sync(machine: 1),
            ])
        keep(
            "an edit where one may only read, over which another photo is moved while it is copied, holds up nothing",
            seed: 40_293,
            [
                .userDuring(machine: 2, afterCalls: 19, root: .shared, .caption(file: 413)),
                .user(machine: 2, root: .shared, .overwrite(file: 919, .inPlace, bytes: 44)),
                .userDuring(machine: 2, afterCalls: 58, root: .library, .carry(file: 311, folder: 909)),
                .user(machine: 2, root: .library, .write(folder: 720, name: 115, bytes: 184)),
                .sync(machine: 2),
            ])
        keep(
            "an edit that counts for nobody is kept though its share is closed while the library is away", seed: 20_703,
            [
                .fault(machine: 1, .unmount(.library, .missing)),
                .command(machine: 0, root: .library, .permit(share: 893, account: 99, .readOnly)),
                .user(machine: 1, root: .shared, .overwrite(file: 413, .inPlace, bytes: 9)),
                .sync(machine: 1),
                .command(machine: 2, root: .library, .revoke(share: 849, account: 151)),
                .sync(machine: 1),
            ])
        keep(
            "what was put into the folder of a share that was deleted there is taken when that is brought back",
            seed: 139,
            [
                .user(machine: 4, root: .library, .shareFolder(share: 428, .deleteOwner, name: 86)),
                .sync(machine: 4),
                .sync(machine: 4),
                .user(machine: 4, root: .shared, .write(folder: 189, name: 544, bytes: 127)),
                .user(machine: 0, root: .library, .move(file: 719, folder: 574)),
            ])
        keep(
            "a folder is not made in the directory of another one that can't go to its place yet", seed: 50_512,
            [
                .user(machine: 4, root: .shared, .writeDeep(folder: 448, name: 222, bytes: 43)),
                .user(machine: 3, root: .library, .swapThrough(file: 759, with: 239, name: 0)),
                .sync(machine: 3),
                .user(machine: 1, root: .shared, .folderToFile(folder: 699)),
                .sync(machine: 1),
                .user(machine: 4, root: .shared, .write(folder: 55, name: 316, bytes: 140)),
                .fault(machine: 0, .call(after: 13, .crash)),
                .sync(machine: 4),
                .sync(machine: 1),
                .user(machine: 4, root: .shared, .swapFolders(folder: 85, with: 974)),
                .sync(machine: 4),
            ])
        keep(
            "what went to the trash while a clock was years behind is there when that is set right in two steps",
            seed: 10_000_267,
            [
                .user(machine: 2, root: .shared, .caption(file: 175)),
                .fault(machine: 2, .stepClock(milliseconds: -1_349_175_917_446)),
                .sync(machine: 2),
                .fault(machine: 2, .stepClock(milliseconds: 966_021_317_579)),
                .fault(machine: 2, .kill),
                .sync(machine: 2),
            ])
        // The process dies between the deletion of the share's folder and the question whether to leave.
        keep(
            "whoever deleted somebody's share is asked, though the device died just then", seed: 20_000_029,
            [
                .user(machine: 2, root: .library, .write(folder: 697, name: 894, bytes: 199)),
                .sync(machine: 2),
                .user(machine: 4, root: .shared, .shareFolder(share: 863, .deleteOwner, name: 88)),
                .sync(machine: 4),
                .fault(machine: 4, .call(after: 17, .crashAfter)),
                .sync(machine: 4),
            ])
        // The folder's making was published in between, and the photo in it afterwards.
        keep(
            "what is put into a folder that was made while its maker was out of the share shows when they are in again",
            seed: 655,
            [
                .syncDuring(machine: 3, afterCalls: 169, other: 4),
                .userDuring(machine: 4, afterCalls: 45, root: .shared, .writeDeep(folder: 828, name: 325, bytes: 1)),
                .command(machine: 3, root: .library, .tagTwice(file: 663)),
                .command(machine: 3, root: .library, .revoke(share: 594, account: 477)),
                .sync(machine: 3),
                .command(machine: 2, root: .library, .invite(share: 907, account: 922, .admin)),
            ])
        // It was written when its author might do that no more and had not heard of it; then another device of theirs left.
        keep(
            "what was said without a right to, and told to nobody, is not lost with the history of a share that is left",
            seed: 7029,
            [
                .command(machine: 3, root: .library, .invite(share: 217, account: 428, .readOnly)),
                .user(machine: 1, root: .shared, .caption(file: 877)),
                .command(machine: 5, root: .library, .leave(share: 324, keepsCopy: true)),
            ])
        keep(
            "what only one device of the owner has read, and the container lost, reaches the other one after the share was stopped",
            seed: 7123,
            [
                .user(machine: 0, root: .library, .write(folder: 1, name: 3, bytes: 86)),
                .user(machine: 3, root: .shared, .write(folder: 0, name: 2, bytes: 106)),
                .user(machine: 6, root: .library, .writeDeep(folder: 1, name: 3, bytes: 106)), .sync(machine: 6),
                .sync(machine: 0), .sync(machine: 3), .spoilStorage(.log, file: 244, .removed),
                .spoilStorage(.log, file: 834, .flipped(byte: 420)),
                .command(machine: 5, root: .shared, .stop(share: 2)),
            ])
        keep(
            "who left a share that is open to all, while another device of theirs published, is not waited for",
            seed: 8028,
            [
                .command(machine: 0, root: .library, .invite(share: 1, account: 1, .contribute)),
                .command(machine: 0, root: .library, .open(share: 5, .contribute)),
                .command(machine: 2, root: .library, .leave(share: 2, keepsCopy: false)), .sync(machine: 6),
                .user(machine: 6, root: .shared, .overwrite(file: 0, .replacing, bytes: 121)),
                .user(machine: 6, root: .shared, .makeFolder(in: 1, name: 1)),
            ])
        keep(
            "who left an open share while the mount was away there, and published elsewhere before that was known, is not waited for",
            seed: 8028,
            [
                .command(machine: 0, root: .library, .invite(share: 1, account: 1, .contribute)),
                .command(machine: 0, root: .library, .open(share: 5, .contribute)),
                .fault(machine: 2, .unmountContainer),
                .command(machine: 2, root: .library, .leave(share: 2, keepsCopy: false)), .sync(machine: 6),
                .user(machine: 6, root: .shared, .makeFolder(in: 1, name: 1)),
            ])
        return all
    }()
}
