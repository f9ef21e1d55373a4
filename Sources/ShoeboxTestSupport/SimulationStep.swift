/// One step of a simulation: a value, so that a script can be printed, kept and shrunk.
///
/// Machines are numbered as in `SimulationSetup.machines`, modulo their count. Files and folders are *picks*: the number,
/// modulo how many there are when the step runs, in the order of their paths; so steps keep a meaning when others are
/// dropped. A step with nothing to pick does nothing.
public enum SimulationStep: Hashable, Sendable {
    /// A user does something in a root of a machine.
    case user(machine: Int, root: Root, Act)
    /// As `user`, but just before the engine's call that comes after some more calls, so in the middle of a round.
    case userDuring(machine: Int, afterCalls: Int, root: Root, Act)
    /// As `userDuring`, just before the engine renames, makes or removes something in a watched folder, after some more such
    /// changes: between its look and its deed.
    case userBefore(machine: Int, afterChanges: Int, root: Root, Act)
    /// Fate does something to a machine.
    case fault(machine: Int, Fault)
    /// A replica does a round; a dead one is started first.
    case sync(machine: Int)
    /// A replica does a round, and just before the call that comes after some more calls of it, another replica does one.
    case syncDuring(machine: Int, afterCalls: Int, other: Int)
    /// As `syncDuring`, between what the one publishes: the other comes before one of its publications. The other is a
    /// pick among the devices of the same account, if there are any, or, half of the time, among all.
    case syncBetween(machine: Int, publications: Int, other: Int)
    /// Time passes everywhere.
    case pass(milliseconds: UInt64)
    /// The server's power fails.
    case serverCrash(SimulatedMountStorage.ServerLoss)

    /// A person gives a command on a machine, in the library or the shared folder; a dead process is started first.
    case command(machine: Int, root: Root, Command)
    /// The storage is backed up; the last backup counts.
    case backUpStorage
    /// The storage is put back to its last backup; nothing without one.
    case restoreStorage
    /// A file of a kind in the storage is damaged, or lost.
    case spoilStorage(Stored, file: Int, SimulatedMountStorage.Spoiling)
    /// All files in the storage have room for so many more bytes; nil for any.
    case storageRoom(bytes: Int?)

    /// What is in the folders of zones.
    public enum Stored: String, Hashable, Sendable, CaseIterable {
        /// What devices published: the segments of their chains, snapshots among them.
        case log
        /// What names the newest of them.
        case heads
        /// Who owns a zone, and who may do what in it.
        case control
    }

    /// A watched root.
    public enum Root: Hashable, Sendable, CaseIterable {
        /// The library folder.
        case library
        /// The shared folder, where only what is at least two directories deep is touched.
        case shared
    }

    /// What a user does.
    public enum Act: Hashable, Sendable {
        /// Writes a new photo into a folder; an existing one of that name is overwritten.
        case write(folder: Int, name: Int, bytes: Int)
        /// Writes a new photo into a folder in a folder in a folder, which are made if they are not there.
        case writeDeep(folder: Int, name: Int, bytes: Int)
        /// Saves other bytes over a file.
        case overwrite(file: Int, SimulatedDisk.Saving, bytes: Int)
        /// Renames a file in its folder, over whatever file is there.
        case rename(file: Int, name: Int)
        /// Moves a file to another folder, over whatever file is there.
        case move(file: Int, folder: Int)
        /// Swaps the names of two files in one step.
        case swap(file: Int, with: Int)
        /// Removes a file and makes a folder of its name, with a photo in it.
        case fileToFolder(file: Int)
        /// Removes a folder and makes a file of its name.
        case folderToFile(folder: Int)
        /// Makes a folder.
        case makeFolder(in: Int, name: Int)
        /// Renames a folder or moves it into another.
        case moveFolder(folder: Int, into: Int, name: Int)
        /// Removes a folder with everything in it.
        case deleteFolder(folder: Int)
        /// Removes a file.
        case delete(file: Int)
        /// Copies a photo, and its sidecar if it has one, to a new name.
        case copy(file: Int, name: Int)
        /// Writes a caption into a photo's sidecar, keeping the rest, making the sidecar if need be.
        case caption(file: Int)
        /// Adds a tag in a photo's sidecar.
        case tag(file: Int)
        /// Removes every photo of a root, or leaves the first so many.
        case deleteMany(keeping: Int)
        /// Writes a whole set of new photos into a folder, as a camera's card is copied.
        case writeMany(folder: Int, count: Int, bytes: Int)
        /// Removes a photo's sidecar.
        case deleteSidecar(file: Int)
        /// Sets the rating in a photo's sidecar.
        case rate(file: Int, stars: Int)
        /// Removes the folder of a share of others as a whole, in the shared folder.
        case deleteShareFolder(share: Int)
        /// Breaks a sidecar's JSON by writing something before it.
        case breakSidecar(file: Int)
        /// Begins to write a photo and leaves it open, half written.
        case beginWriting(folder: Int, name: Int, bytes: Int)
        /// Finishes and closes what was begun.
        case endWriting
        /// Renames a folder or moves it into another, and at once does something in it.
        case inMoved(folder: Int, into: Int, name: Int, Inside, pick: Int)
        /// Swaps the names of two files by way of a third name, as a person does; sidecars stay.
        case swapThrough(file: Int, with: Int, name: Int)
        /// Swaps the names of two folders in one step.
        case swapFolders(folder: Int, with: Int)
        /// Copies a folder with everything in it to a new name.
        case copyFolder(folder: Int, into: Int, name: Int)
        /// Moves a photo, and its sidecar if it has one, to a folder of the machine's other watched folder.
        case carry(file: Int, folder: Int)
        /// Moves a folder with everything in it to the machine's other watched folder.
        case carryFolder(folder: Int, into: Int, name: Int)
        /// Does something to the folder in which a share of others shows.
        case shareFolder(share: Int, OnShareFolder, name: Int)
        /// Does something to the file of a tag.
        case tagFile(pick: Int, OnTagFile)
        /// Copies a photo, without its sidecar, to a folder of either watched folder.
        case copyTo(Root, file: Int, folder: Int, name: Int)
        /// Moves a photo, and another one with the same bytes if there is one, each to a folder, at once.
        case moveTwins(file: Int, folder: Int, and: Int)
        /// Swaps a photo with one of the same name in another folder, in one step or by way of a third name; sidecars stay.
        /// Before a change of the engine, most often the photo that it is about to rename.
        case swapNamesakes(file: Int, with: Int, isAtOnce: Bool)
        /// Moves a photo, with its sidecar if it has one, to another folder, and saves something else in it just before that or
        /// just after; half of the time, a caption in its sidecar, too.
        case overwriteMoved(file: Int, folder: Int, SimulatedDisk.Saving, isBefore: Bool, bytes: Int)
        /// Moves a photo, or the folder that it lies in, to another folder, with its sidecar.
        case part(file: Int, folder: Int, isFolder: Bool)
        /// Edits the photo that its user moved last by one of those, if it is where they left it: saves something else in it, or
        /// says something else of it (no bytes).
        case editMoved(bytes: Int)
        /// Deletes it.
        case deleteMoved
        /// Moves a photo, with its sidecar, to a folder of the machine's other watched folder.
        case carryOver(file: Int, folder: Int)
        /// Moves the photo that its user moved last, with its sidecar, to another folder of the same or the other watched folder.
        case moveOn(folder: Int, isOver: Bool)
        /// Puts photos back where the last deletion on the machine took them from, as far as nothing else is there: so many, from
        /// a pick on, with their sidecars or without.
        case putBack(first: Int, count: Int, withSidecars: Bool)
        /// Writes another photo where that deletion took one from.
        case writeInPlace(pick: Int, bytes: Int)
        /// Puts another folder in the place of one, and at once moves a photo.
        case replaceFolder(folder: Int, InPlace, with: Int, name: Int, pick: Int)
    }

    /// What a user puts in the place of a folder.
    public enum InPlace: Hashable, Sendable, CaseIterable {
        /// A new folder with a photo of the former, which was renamed.
        case new
        /// Another folder; the former was renamed.
        case other
        /// Another folder; the former is deleted.
        case otherOfDeleted
        /// A new folder that has the former in it.
        case newAround
    }

    /// What a user does to the folder in which a share of others shows.
    public enum OnShareFolder: Hashable, Sendable, CaseIterable {
        /// Renames it.
        case rename
        /// Moves it out of the folder of its owner.
        case moveUp
        /// Moves it into a folder of another share.
        case moveInto
        /// Moves it with all that is in it into the library.
        case carry
        /// Copies it to a name beside it.
        case copy
        /// Swaps it with the folder of another share.
        case swap
        /// Renames the folder of its owner.
        case renameOwner
        /// Removes the folder of its owner, with all of that owner's shares.
        case deleteOwner
    }

    /// What a user does to the file of a tag.
    public enum OnTagFile: Hashable, Sendable, CaseIterable {
        /// Gives the tag a new title.
        case retitle
        /// Gives the tag the title of another one.
        case unite
        /// Makes a file for a new tag.
        case make
        /// Removes the file.
        case remove
        /// Renames the file, not the tag.
        case rename
        /// Breaks its JSON by writing something before it.
        case breakIt
        /// Removes the folder of all tag files.
        case removeAll
    }

    /// What a user does in a folder that was moved in the same moment.
    public enum Inside: Hashable, Sendable, CaseIterable {
        /// Writes a new photo into it.
        case write
        /// Saves other bytes over a file of it.
        case overwrite
        /// Saves other bytes beside a file of it, and gives them its name.
        case replace
        /// Moves a file from elsewhere into it, over whatever file is there.
        case moveFileIn
        /// Moves another folder into it.
        case moveFolderIn
        /// Moves a file of it elsewhere, over whatever file is there.
        case moveFileOut
        /// Moves a folder of it elsewhere.
        case moveFolderOut
        /// Removes a file of it.
        case delete
        /// Saves other bytes over a file of it, and renames it once more.
        case overwriteAndRename
    }

    /// What a person asks of the engine. Shares are picks among those that the account owns, or, one in eight, among all;
    /// accounts are picks among all accounts.
    public enum Command: Hashable, Sendable {
        /// Makes a share of a folder of the library.
        case share(folder: Int)
        /// Makes a share of two photos of the library.
        case shareSelection(file: Int, and: Int)
        /// Invites an account, or invites it again.
        case invite(share: Int, account: Int, Grant)
        /// Changes what a participant may do.
        case permit(share: Int, account: Int, Grant)
        /// Removes a participant.
        case revoke(share: Int, account: Int)
        /// Accepts every invitation that is there.
        case accept
        /// Leaves a share; a pick among all shares.
        case leave(share: Int, keepsCopy: Bool)
        /// Stops a share.
        case stop(share: Int)
        /// Moves a photo of the library into a share.
        case add(share: Int, file: Int)
        /// Takes a photo out of a share.
        case remove(share: Int, file: Int)
        /// Adds two new tags to a photo in one transaction.
        case tagTwice(file: Int)
        /// Sets the own rating.
        case rate(file: Int, stars: Int)
        /// Sets a new caption.
        case caption(file: Int)
        /// Takes back the last transaction.
        case undo
        /// Brings back everything that is in the trash.
        case restoreTrash
        /// Brings back from the trash what the last deletion on the machine took: one photo, or all that its folder had.
        case restoreSome(pick: Int, isFolder: Bool)
        /// Gives a photo the content before its present one.
        case restoreVersion(file: Int)
        /// Offers a share to an account; its owner stays as what is said.
        case offer(share: Int, account: Int, Grant)
        /// Takes such an offer back.
        case withdrawOffer(share: Int)
        /// Accepts such an offer, or declines it; a pick among all shares.
        case answerOffer(share: Int, accepts: Bool)
        /// Has whoever has a share's link take part; with nil, nobody any more who was not invited.
        case open(share: Int, Grant?)
        /// Makes a link by which people ask to be admitted; a person decides, or all of them are.
        case makeLink(share: Int, Grant, asks: Bool)
        /// Goes by the newest link to a share; a pick among all shares.
        case come(share: Int)
        /// Admits an account that has asked, or refuses it.
        case answerRequest(share: Int, account: Int, admits: Bool)
        /// Retires another device of the account; its user sets it up anew when it says so.
        case retire(device: Int)
    }

    /// What somebody is invited to do.
    public enum Grant: String, Hashable, Sendable, CaseIterable {
        /// See everything.
        case readOnly
        /// Also add, and change what oneself added.
        case contribute
        /// Also change what others added.
        case readWrite
        /// Also invite and remove others.
        case admin
    }

    /// How late a mount is.
    public enum MountKind: Hashable, Sendable, CaseIterable {
        /// Not at all.
        case perfect
        /// `SimulatedMountBehaviour.nfs`.
        case nfs
        /// `SimulatedMountBehaviour.sshfs`.
        case sshfs
        /// `SimulatedMountBehaviour.glusterfs`.
        case glusterfs
        /// `SimulatedMountBehaviour.slowest`.
        case slowest
        /// `SimulatedMountBehaviour.uneven`.
        case uneven

        /// The behaviour of the name.
        public var behaviour: SimulatedMountBehaviour {
            switch self {
            case .perfect: SimulatedMountBehaviour()
            case .nfs: .nfs
            case .sshfs: .sshfs
            case .glusterfs: .glusterfs
            case .slowest: .slowest
            case .uneven: .uneven
            }
        }
    }

    /// What fate does.
    public enum Fault: Hashable, Sendable {
        /// The call that comes after some more calls goes wrong.
        case call(after: Int, SimulatedFaults.Effect)
        /// The process dies now.
        case kill
        /// The power fails now; the disks lose what is chosen.
        case powerCut(SimulatedPowerCut)
        /// The power fails before the call that comes after so many more: what was not synchronised by then is in danger.
        case cutDuring(after: Int, SimulatedPowerCut)
        /// A root goes, or another directory is in its place.
        case unmount(Root, SimulatedDisk.Attachment)
        /// A root comes back.
        case mount(Root)
        /// The container goes.
        case unmountContainer
        /// An empty directory is in the container's place.
        case emptyContainer
        /// The container comes back.
        case mountContainer
        /// Another container is in the container's place.
        case foreignContainer
        /// Every listing of the container stops after so many names, until it comes back.
        case halfContainerListing(keeping: Int)
        /// Calls on the container hang, until it comes back.
        case hangContainer
        /// The mount shows things late, or not any more.
        case mountKind(MountKind)
        /// The next call of a name, such as `rename`, goes wrong.
        case next(String, SimulatedFaults.Effect)
        /// The user puts a copy of the root's marker into the directory that is in the root's place.
        case copyMarker(Root)
        /// The state directory is backed up; the last backup counts.
        case backUpState
        /// The process dies and the state directory is put back to its last backup; nothing without one.
        case restoreState
        /// The process dies and the state directory is lost; the account is set up anew over its folders.
        case loseState
        /// The wall clock is set.
        case stepClock(milliseconds: Int64)
        /// Events are lost from now on.
        case events(Root, SimulatedDisk.EventLoss)
        /// A root has room for so many more bytes; nil for any.
        case room(Root, bytes: Int?)
        /// A folder is listed by half, silently or with an error.
        case halfListing(Root, folder: Int, keeping: Int, fails: Bool)
    }
}

extension SimulationStep {
    /// Whether the step is something that goes wrong, and not what people do.
    var isFate: Bool {
        switch self {
        case .user, .userDuring, .userBefore, .sync, .syncDuring, .syncBetween, .pass, .command: false
        case .fault, .serverCrash, .backUpStorage, .restoreStorage, .spoilStorage, .storageRoom: true
        }
    }

    /// The step as Swift text, to be pasted into a script.
    public var swiftText: String {
        // What the compiler prints for a value says whole names of types.
        var result = "."
        var word = ""
        for character in "\(self)" + " " {
            if character.isLetter || character.isNumber || character == "." || character == "_" {
                word.append(character)
                continue
            }
            let names = word.split(separator: ".", omittingEmptySubsequences: false)
            switch names.first {
            case "ShoeboxTestSupport": result += ".\(names.last ?? "")"
            case "ShoeboxWorld": result += names.dropFirst().joined(separator: ".")
            default: result += word
            }
            result.append(character)
            word = ""
        }
        return String(result.dropLast())
    }
}

extension SimulationStep.Act {
    /// Whether it only saves something in a photo, or says something of it, where it is.
    var isOverwriting: Bool {
        switch self {
        case .overwrite, .editMoved, .caption, .tag: true
        default: false
        }
    }

    /// Whether something is deleted for good by it, and not only written over or moved.
    var isDeletion: Bool {
        switch self {
        case .delete, .deleteMany, .deleteMoved, .inMoved(_, _, _, .delete, _): true
        default: isDeletionOfFolder
        }
    }

    /// Whether a folder is deleted for good by it.
    var isDeletionOfFolder: Bool {
        switch self {
        case .deleteFolder, .replaceFolder(_, .otherOfDeleted, _, _, _): true
        default: false
        }
    }
}
