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
    /// Fate does something to a machine.
    case fault(machine: Int, Fault)
    /// A replica does a round; a dead one is started first.
    case sync(machine: Int)
    /// Time passes everywhere.
    case pass(milliseconds: UInt64)
    /// The server's power fails.
    case serverCrash(SimulatedMountStorage.ServerLoss)

    /// The storage is backed up; the last backup counts.
    case backUpStorage
    /// The storage is put back to its last backup; nothing without one.
    case restoreStorage

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
        /// Breaks a sidecar's JSON by writing something before it.
        case breakSidecar(file: Int)
        /// Begins to write a photo and leaves it open, half written.
        case beginWriting(folder: Int, name: Int, bytes: Int)
        /// Finishes and closes what was begun.
        case endWriting
    }

    /// What fate does.
    public enum Fault: Hashable, Sendable {
        /// The call that comes after some more calls goes wrong.
        case call(after: Int, SimulatedFaults.Effect)
        /// The process dies now.
        case kill
        /// The power fails now; the disks lose what is chosen.
        case powerCut(SimulatedPowerCut)
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
        /// The mount shows things late, or not any more.
        case behaviour(SimulatedMountBehaviour)
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
