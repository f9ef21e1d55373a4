import ShoeboxTestSupport
import ShoeboxWorld

extension KeptScript {
    /// Shares that get another owner, and devices that are retired meanwhile.
    static let handing: [KeptScript] = {
        var all: [KeptScript] = []
        func keep(_ story: String, seed: UInt64, _ steps: [SimulationStep]) {
            all.append(KeptScript(story, isVillage: true, seed: seed, steps))
        }
        keep(
            "a photo that was added to a share from elsewhere in the library stays there when the share is handed over",
            seed: 8048,
            [
                .command(machine: 2, root: .library, .add(share: 1, file: 0)),
                .command(machine: 0, root: .library, .offer(share: 31, account: 1, .contribute)), .sync(machine: 3),
                .command(machine: 3, root: .library, .answerOffer(share: 160, accepts: true)),
            ])
        keep(
            "two devices of the owner hand a share over by one consent, one of which is retired meanwhile: it is one share still",
            seed: 8034,
            [
                .command(machine: 0, root: .library, .offer(share: 13, account: 0, .readWrite)), .sync(machine: 1),
                .command(machine: 1, root: .library, .answerOffer(share: 582, accepts: true)), .sync(machine: 4),
                .command(machine: 0, root: .library, .retire(device: 936)),
                .user(machine: 6, root: .shared, .fileToFolder(file: 4)), .sync(machine: 4),
            ])
        keep(
            "a device that has not heard yet of its account's new key is put out of no share by it",
            seed: 8154,
            [
                .command(machine: 4, root: .library, .offer(share: 31, account: 2, .readOnly)), .sync(machine: 1),
                .command(machine: 1, root: .library, .answerOffer(share: 86, accepts: true)),
                .command(machine: 0, root: .library, .retire(device: 60)),
            ])
        keep(
            "a photo that a former owner may not add, beside those in the library, keeps no folder from becoming a file",
            seed: 8265,
            [
                .command(machine: 0, root: .library, .offer(share: 25, account: 2, .readOnly)), .sync(machine: 1),
                .command(machine: 1, root: .library, .answerOffer(share: 78, accepts: true)), .sync(machine: 3),
                .user(machine: 1, root: .shared, .folderToFile(folder: 2)),
                .user(machine: 3, root: .library, .writeDeep(folder: 2, name: 3, bytes: 56)),
            ])
        keep(
            "who leaves a share on one device and takes it over on another one takes part on both",
            seed: 8194,
            [
                .command(machine: 3, root: .library, .leave(share: 4, keepsCopy: false)),
                .command(machine: 2, root: .library, .offer(share: 4, account: 0, .readOnly)), .sync(machine: 4),
                .command(machine: 4, root: .library, .answerOffer(share: 137, accepts: true)),
            ])
        keep(
            "who takes a share over on one device and leaves it on another one takes part on both",
            seed: 8244,
            [
                .command(machine: 0, root: .library, .offer(share: 9, account: 2, .readOnly)), .sync(machine: 4),
                .command(machine: 4, root: .library, .answerOffer(share: 642, accepts: true)),
                .command(machine: 1, root: .library, .leave(share: 501, keepsCopy: false)),
            ])
        keep(
            "a hand-over whose device is retired by another one, which was put out of the share meanwhile, holds there too",
            seed: 8051,
            [
                .command(machine: 2, root: .library, .offer(share: 20, account: 3, .contribute)), .sync(machine: 3),
                .command(machine: 3, root: .library, .answerOffer(share: 306, accepts: true)), .sync(machine: 2),
                .sync(machine: 1), .command(machine: 1, root: .shared, .revoke(share: 3, account: 0)),
                .command(machine: 0, root: .library, .retire(device: 631)),
            ])
        keep(
            "what was sealed with the key of a control is read after the device that signed it was retired",
            seed: 8288,
            [
                .command(machine: 0, root: .library, .retire(device: 863)), .sync(machine: 0),
                .command(machine: 0, root: .library, .invite(share: 0, account: 1, .contribute)),
                .user(machine: 0, root: .library, .fileToFolder(file: 0)),
                .user(machine: 0, root: .library, .copy(file: 2, name: 0)), .sync(machine: 2),
                .user(machine: 2, root: .library, .write(folder: 2, name: 1, bytes: 173)), .sync(machine: 2),
                .syncBetween(machine: 0, publications: 3, other: 1), .sync(machine: 0), .sync(machine: 0),
                .command(machine: 2, root: .library, .retire(device: 703)), .sync(machine: 1), .sync(machine: 1),
                .sync(machine: 0), .sync(machine: 0),
                .command(machine: 0, root: .library, .answerOffer(share: 527, accepts: true)),
                .syncBetween(machine: 2, publications: 7, other: 2),
                .command(machine: 0, root: .library, .retire(device: 606)),
            ])
        return all
    }()
}
