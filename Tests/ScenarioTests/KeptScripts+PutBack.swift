import ShoeboxTestSupport
import ShoeboxWorld

extension KeptScript {
    /// What a state directory or a container lost, or was put back to. Kept one by one: a literal of all of them takes the compiler minutes.
    static let putBack: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(_ story: String, isVillage: Bool = true, seed: UInt64, _ steps: [SimulationStep]) {
            all.append(KeptScript(story, isVillage: isVillage, seed: seed, steps))
        }
        // It had left, nobody had heard of it, and what it had put into the trash for that looked deleted.
        keep(
            "what was put into the trash after a backup was not deleted by its user", seed: 41_001_413,
            [
                .user(machine: 4, root: .shared, .overwrite(file: 984, .replacing, bytes: 13)), .sync(machine: 2),
                .user(machine: 5, root: .library, .breakSidecar(file: 646)), .fault(machine: 4, .backUpState),
                .command(machine: 4, root: .library, .leave(share: 642, keepsCopy: false)),
                .user(machine: 1, root: .shared, .deleteSidecar(file: 443)), .sync(machine: 5),
                .command(machine: 3, root: .library, .accept), .fault(machine: 1, .backUpState),
                .fault(machine: 4, .restoreState),
                .user(machine: 0, root: .shared, .beginWriting(folder: 522, name: 304, bytes: 72)),
            ])
        // It had uploaded the content, and died; no head of its own tells that the container was put back.
        keep(
            "a content that the container lost before a head named it is there again", seed: 37_000_354,
            [
                .backUpStorage, .user(machine: 1, root: .shared, .write(folder: 324, name: 982, bytes: 71)),
                .fault(machine: 1, .call(after: 42, .crashAfter)), .sync(machine: 1),
                .command(machine: 3, root: .library, .stop(share: 233)), .restoreStorage,
            ])
        // The photo waited when the state was backed up, and was overwritten when it was published.
        keep(
            "a photo that was published since a backup, and overwritten, does not wait for its first bytes",
            seed: 35_000_429,
            [
                .userDuring(
                    machine: 2, afterCalls: 23, root: .library, .overwrite(file: 826, .inPlace, bytes: 58)),
                .user(machine: 2, root: .library, .write(folder: 86, name: 746, bytes: 51)), .sync(machine: 2),
                .fault(machine: 2, .backUpState), .sync(machine: 2), .fault(machine: 2, .restoreState),
            ])
        // What somebody published before leaving is lost with the leave: the owner speaks for who has left.
        keep(
            "a leave that the container lost is said again, and what was published before it shown by all",
            seed: 33_000_738,
            [
                .user(machine: 1, root: .shared, .write(folder: 964, name: 931, bytes: 38)), .backUpStorage,
                .sync(machine: 1), .sync(machine: 0),
                .command(machine: 1, root: .library, .leave(share: 77, keepsCopy: false)), .sync(machine: 1),
                .restoreStorage,
            ])
        // The tag had been read when its control came, which says that it does not count.
        keep(
            "a tag that counts for nobody any more is gone from the photo's sidecar", seed: 34_000_480,
            [
                .backUpStorage, .user(machine: 1, root: .shared, .tag(file: 883)),
                .command(machine: 4, root: .library, .permit(share: 435, account: 270, .readOnly)), .restoreStorage,
            ])
        // A folder took the place of a photo that somebody edited meanwhile, before one's state was put back.
        keep(
            "a folder that took a photo's place is not moved as that photo", seed: 31_001_899,
            [
                .user(machine: 0, root: .library, .fileToFolder(file: 184)),
                .user(machine: 1, root: .shared, .overwrite(file: 602, .inPlace, bytes: 81)),
                .user(machine: 2, root: .library, .write(folder: 322, name: 96, bytes: 68)), .sync(machine: 1),
                .fault(machine: 1, .backUpState), .sync(machine: 0), .sync(machine: 2), .sync(machine: 0),
                .sync(machine: 1), .sync(machine: 1), .fault(machine: 1, .restoreState),
            ])
        // The process dies as it has published the key, and the container is put back to before that.
        keep(
            "a key that went with the container is published again by who writes with it", seed: 99_106,
            [
                .command(machine: 1, root: .shared, .leave(share: 880, keepsCopy: false)),
                .fault(machine: 0, .call(after: 41, .crash)), .backUpStorage, .sync(machine: 1), .sync(machine: 0),
                .user(machine: 0, root: .library, .write(folder: 166, name: 207, bytes: 21)), .restoreStorage,
            ])
        keep(
            "a share that was stopped just before the container was put back to a backup stays stopped", seed: 60_042,
            [
                .backUpStorage, .user(machine: 4, root: .library, .write(folder: 401, name: 184, bytes: 148)),
                .sync(machine: 4), .sync(machine: 1), .command(machine: 5, root: .library, .stop(share: 664)),
                .sync(machine: 4), .restoreStorage,
            ])
        // A tag was published, then the state directory put back to before it; what is new goes to one zone before the other.
        keep(
            "numbers that a restored device gave anew in two zones are taken back in both", seed: 615,
            [
                .fault(machine: 3, .backUpState), .user(machine: 3, root: .library, .tag(file: 755)),
                .userDuring(machine: 3, afterCalls: 37, root: .library, .rename(file: 475, name: 821)),
                .sync(machine: 3), .user(machine: 3, root: .library, .write(folder: 339, name: 251, bytes: 33)),
                .fault(machine: 3, .restoreState),
            ])
        // The head that names the removal is written over, by the restored state, before anybody has read it.
        keep(
            "a removal stands when the state of the device that made it is put back at once", seed: 165,
            [
                .fault(machine: 2, .backUpState),
                .userDuring(machine: 0, afterCalls: 0, root: .library, .swap(file: 756, with: 256)),
                .user(machine: 0, root: .library, .writeMany(folder: 549, count: 3, bytes: 78)),
                .sync(machine: 0),
                .command(machine: 2, root: .library, .revoke(share: 87, account: 595)),
                .fault(machine: 2, .restoreState),
                .sync(machine: 2),
                .user(machine: 2, root: .library, .beginWriting(folder: 649, name: 417, bytes: 105)),
            ])
        // A photo goes to the private library, and another one gets its place, after the backup that is put back.
        keep(
            "what took the place of a photo that left the share is no edit of that, for a restored state", seed: 165,
            [
                .fault(machine: 2, .backUpState),
                .userDuring(machine: 0, afterCalls: 0, root: .library, .swap(file: 756, with: 256)),
                .user(machine: 0, root: .library, .writeMany(folder: 549, count: 3, bytes: 78)),
                .sync(machine: 0), .sync(machine: 2), .fault(machine: 2, .restoreState),
            ])
        // A command is the first that looks at the folders.
        keep(
            "a command of a state that was put back takes nothing of its folders for new", seed: 5_000_341,
            [
                .user(machine: 0, root: .library, .write(folder: 969, name: 726, bytes: 10)),
                .user(machine: 0, root: .library, .folderToFile(folder: 949)), .sync(machine: 0),
                .fault(machine: 2, .backUpState), .user(machine: 0, root: .library, .delete(file: 44)),
                .sync(machine: 2), .command(machine: 0, root: .library, .add(share: 388, file: 89)),
                .sync(machine: 2), .fault(machine: 2, .restoreState),
                .command(machine: 2, root: .library, .share(folder: 503)),
            ])
        keep(
            "a state that was put back while the container is away takes nothing for new that was deleted since",
            seed: 5_000_341,
            [
                .user(machine: 0, root: .library, .write(folder: 969, name: 726, bytes: 10)),
                .sync(machine: 0),
                .fault(machine: 2, .backUpState),
                .user(machine: 0, root: .library, .delete(file: 44)),
                .sync(machine: 2),
                .fault(machine: 2, .emptyContainer),
                .fault(machine: 2, .restoreState),
                .sync(machine: 2),
            ])
        keep(
            "what changed places and back while a device's state was put back is no edit of what is shown there",
            seed: 165,
            [
                .fault(machine: 2, .backUpState),
                .user(machine: 0, root: .library, .writeMany(folder: 549, count: 3, bytes: 78)),
                .userDuring(machine: 0, afterCalls: 0, root: .library, .swap(file: 756, with: 256)),
                .sync(machine: 0),
                .sync(machine: 2),
                .fault(machine: 2, .restoreState),
                .userDuring(machine: 0, afterCalls: 0, root: .library, .swap(file: 756, with: 256)),
                .sync(machine: 0),
            ])
        keep(
            "a share that was made, and of which nothing was published when the container was put back, is made there again",
            seed: 9_000_396,
            [
                .user(machine: 5, root: .library, .writeDeep(folder: 408, name: 548, bytes: 126)),
                .user(machine: 5, root: .library, .copy(file: 549, name: 176)),
                .backUpStorage,
                .sync(machine: 2),
                .fault(machine: 5, .call(after: 58, .crashTorn(keeping: 9))),
                .command(machine: 5, root: .library, .shareSelection(file: 831, and: 847)),
                .restoreStorage,
            ])
        keep(
            "who was removed just before a state was put back is told nothing, though no head says so yet", seed: 165,
            [
                .fault(machine: 2, .backUpState),
                .fault(machine: 2, .call(after: 53, .failAfter(FileError.Code(rawValue: "inputOutput")))),
                .sync(machine: 2),
                .command(machine: 2, root: .library, .revoke(share: 87, account: 595)),
                .fault(machine: 2, .restoreState),
                .user(machine: 2, root: .library, .beginWriting(folder: 649, name: 417, bytes: 105)),
            ])
        keep(
            "a photo of which only a name that somebody else gave it counts is shown by nobody", seed: 10_000_622,
            [
                .backUpStorage,
                .user(machine: 3, root: .shared, .copy(file: 935, name: 346)),
                .user(machine: 3, root: .shared, .swap(file: 572, with: 945)),
                .sync(machine: 3),
                .sync(machine: 5),
                .sync(machine: 5),
                .restoreStorage,
                .command(machine: 0, root: .library, .invite(share: 559, account: 294, .readOnly)),
            ])
        return all
    }()
}
