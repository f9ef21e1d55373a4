import ShoeboxModel
import ShoeboxWorld

/// The users of a simulation: they act in the roots of their machines, and all they write goes into the ledger.
final class SimulationUsers: Sendable {
    struct State: Sendable {
        var ledger = SimulationLedger()
        var random: SeededGenerator
        var words = 0
        var retitled: Set<String> = []
        /// The photos whose sidecars a user broke or deleted.
        var silenced: Set<[UInt8]> = []
        var hasChangedTags = false
        /// The machines whose state was put back and not compared yet.
        var uncompared: Set<String> = []
        /// All files as users left them.
        var touched: Set<SimulationPrivacy.Touched> = []
        /// Those of them that were not looked at since, with where they were left.
        var fresh: [(path: String, file: SimulationPrivacy.Touched)] = []
        /// What is said instead, by a command, of the captions in sidecars, by their inodes.
        var outdated: [SimulationPrivacy.Touched: [UInt8]] = [:]
        /// What commands said last of photos.
        var spoken: [SimulationPrivacy.Photo: [UInt8]] = [:]
        /// The photos that the last deletion on each machine took, each with its sidecar.
        var removed: [String: [Removed]] = [:]
        /// The photo that each machine's user moved last by one of the acts that say so.
        var lastMoved: [String: (root: String, path: RelativePath)] = [:]
        var begun: [(machine: String, disk: SimulatedDisk, path: String, rest: [UInt8])] = []
    }

    let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed, part: "users"))) }

    var ledger: SimulationLedger { state.withLock { $0.ledger } }

    /// All files as users left them, those that are gone by now among them.
    var touched: Set<SimulationPrivacy.Touched> { state.withLock { $0.touched } }

    private func noteTouched(
        on machine: SimulatedMachine, since before: [String: SimulationPrivacy.Touched] = [:],
        _ captions: [String: [UInt8]] = [:]
    ) {
        let changed = SimulationPrivacy.files(on: machine).filter { before[$0.key] != $0.value }
        let spoken = state.withLock { $0.spoken }
        // What is said of a photo goes with it, though its sidecar stays behind for now.
        let said = changed.flatMap { path, file in
            before.filter { $0.value.inode == file.inode && $0.value.root == file.root }.compactMap { former in
                (captions[former.key] ?? spoken[SimulationPrivacy.Photo(former.value)]).map { caption in
                    let words = SimulationPrivacy.Touched(
                        machine: machine.name, root: file.root, inode: 0, bytes: caption)
                    return (path, words)
                }
            }
        }
        state.withLock { state in
            state.touched.formUnion(changed.values)
            state.fresh += changed.map { ($0.key, $0.value) } + said
        }
    }

    /// Notes where the photo was of which a user wrote a caption.
    func noteCaption(_ word: String, of photo: RelativePath, on disk: SimulatedDisk, _ machine: String) {
        let touched = SimulationPrivacy.Touched(machine: machine, root: disk.name, inode: 0, bytes: Array(word.utf8))
        state.withLock { $0.fresh.append(("\(disk.name)/\(photo)", touched)) }
    }

    /// What is said instead, by a command, of the captions in sidecars that were not written since.
    var outdated: [SimulationPrivacy.Touched: [UInt8]] { state.withLock { $0.outdated } }

    /// The caption in the sidecar of a photo that a command gives another one, and that one.
    func said(by request: SimulationRequest, on machine: SimulatedMachine) -> [SimulationPrivacy.Touched: [UInt8]] {
        guard case .caption(let root, let path, let word) = request else { return [:] }
        let disk = root == .library ? machine.library : machine.shared
        guard let sidecar = Names.sidecar(of: path, on: disk), let inode = disk.entries()[sidecar]?.stamp.inode,
            let caption = SimulationPrivacy.captions(on: machine)["\(disk.name)/\(path)"]
        else { return [:] }
        let shown = SimulationPrivacy.Touched(machine: machine.name, root: "", inode: inode, bytes: caption)
        return [shown: Array(word.utf8)]
    }

    /// Notes what a command has given another caption; one that brings back, and a process that died, leave nothing certain.
    func noteOutdated(
        _ said: [SimulationPrivacy.Touched: [UInt8]], keepingOthers: Bool, on machine: SimulatedMachine, step: Int
    ) {
        let captions = Set(said.keys.map(\.bytes))
        state.withLock { state in
            // Its user has written that over, though the history that tells may end with the share.
            let former = state.ledger.entries.filter { $0.kind == .caption && captions.contains($0.bytes) }
            state.ledger.waive(Set(former.map(\.number)), step: step)
            if !keepingOthers { state.outdated = state.outdated.filter { $0.key.machine != machine.name } }
            state.outdated.merge(said) { $1 }
        }
    }

    /// The files that were not looked at since users left them on a machine, with where they were left.
    func takeFresh(on machine: SimulatedMachine) -> [(path: String, file: SimulationPrivacy.Touched)] {
        state.withLock { state in
            let fresh = state.fresh.filter { $0.file.machine == machine.name }
            state.fresh.removeAll { $0.file.machine == machine.name }
            return fresh
        }
    }

    /// The titles that tags had before a user gave them others.
    var retitled: Set<String> { state.withLock { $0.retitled } }

    func noteRetitled(_ title: String) { state.withLock { _ = $0.retitled.insert(title) } }

    /// Whether a machine's state was put back and not compared yet.
    func isUncompared(_ machine: String) -> Bool { state.withLock { $0.uncompared.contains(machine) } }

    /// Notes that a machine's state was put back, or was compared since.
    func noteCompared(_ isCompared: Bool, on machine: String) {
        state.withLock { state in
            if isCompared { state.uncompared.remove(machine) } else { state.uncompared.insert(machine) }
        }
    }

    /// Carries out one act. An act that the file system refuses (no room, a folder where a file should go) is left
    /// undone, as users must.
    func perform(
        _ act: SimulationStep.Act, on machine: SimulatedMachine, _ root: SimulationStep.Root, step: Int
    ) {
        let disk = root == .library ? machine.library : machine.shared
        guard disk.isMounted else { return }
        let filesBefore = SimulationPrivacy.files(on: machine)
        let captionsBefore = SimulationPrivacy.captions(on: machine, outdated: outdated)
        defer { noteTouched(on: machine, since: filesBefore, captionsBefore) }
        let before = shown(on: machine)
        let placesBefore = places(on: machine)
        let treeBefore = act.isDeletion ? disk.tree(without: ".shoebox") : [:]
        defer { if act.isDeletion { noteRemoved(on: machine, disk, root, since: treeBefore) } }
        var gone: RelativePath?
        var moved: (from: RelativePath, to: RelativePath)?
        let pointed = Places(disk, root)
        switch act {
        case .deleteFolder(let folder), .folderToFile(let folder): gone = pointed.subfolder(folder)
        case .moveFolder(let folder, let parent, let name), .inMoved(let folder, let parent, let name, _, _):
            if let from = pointed.subfolder(folder), let to = pointed.child(of: parent, Names.folder(name)) {
                moved = (from, to)
            }
        case .part(let file, let folder, let isFolder): moved = isFolder ? pointed.parting(file, folder, true) : nil
        case .carryFolder(let folder, _, _), .replaceFolder(let folder, .otherOfDeleted, _, _, _):
            gone = pointed.subfolder(folder)
        case .deleteShareFolder(let share): gone = pointed.shareFolder(share)
        case .shareFolder(let share, let deed, _) where deed == .carry || deed == .deleteOwner:
            gone = Places(machine.shared, .shared).shareFolder(share)
            if deed == .deleteOwner { gone = gone?.parent }
        default: break
        }
        noteSilence(act, pointed, disk)
        // What is in a folder of the same name afterwards was moved all the same.
        var replaced: RelativePath?
        if case .replaceFolder(let folder, _, _, _, _) = act { replaced = pointed.subfolder(folder) }
        do throws(FileError) {
            try carryOut(act, machine, disk, root, step)
        } catch {
            // What was refused is not written; nothing was promised about it.
        }
        let after = shown(on: machine)
        let placesAfter = places(on: machine)
        state.withLock { state in
            if case .putBack = act { state.ledger.require(after.subtracting(before)) }
            state.ledger.waive(before.subtracting(after), step: step)
            // What commands said of a photo goes nowhere with it, unless its sidecar does.
            let carried = placesBefore.filter { number, places in
                let roots = Set(placesAfter[number, default: []].map { $0.prefix { $0 != "/" } })
                return !Set(places.map { $0.prefix { $0 != "/" } }).isSubset(of: roots)
            }.keys
            state.ledger.waiveCommands(
                of: before.subtracting(after).union(carried), on: machine.name, step: step
            ) { root, path in
                let disk = root == machine.library.name ? machine.library : machine.shared
                return (try? disk.read(path)) != nil
            }
            state.ledger.noteAct(
                before: placesBefore, after: placesAfter, isDeletion: act.isDeletion,
                isOfFolder: act.isDeletionOfFolder,
                machine: machine.name, step: step,
                knowsFolder: !state.uncompared.contains(machine.name),
                replaced: replaced.map { "\(disk.name)/\($0)/" })
            if let gone {
                let isShare = if case .shareFolder = act { true } else { false }
                let root = isShare ? machine.shared.name : disk.name
                state.ledger.noteFolderGone("\(root)/\(gone)", on: machine.name)
            }
            if let moved {
                state.ledger.noteFolderMoved(
                    from: "\(disk.name)/\(moved.from)", to: "\(disk.name)/\(moved.to)", on: machine.name)
            }
        }
    }

    /// Notes what a user may make unsaid.
    private func noteSilence(_ act: SimulationStep.Act, _ places: Places, _ disk: SimulatedDisk) {
        switch act {
        case .deleteSidecar(let file), .breakSidecar(let file), .rate(let file, _):
            guard let path = places.file(file), let bytes = try? disk.read(path) else { return }
            state.withLock { _ = $0.silenced.insert(bytes) }
        case .tagFile: state.withLock { $0.hasChangedTags = true }
        default: break
        }
    }

    /// A word that nothing else has, for what a command writes.
    func freshWord() -> String {
        state.withLock { state in
            state.words += 1
            return "word\(state.words)"
        }
    }

    /// What was there before the first step is to be kept as well.
    func noteAll(on machines: [SimulatedMachine]) {
        for machine in machines { noteTouched(on: machine) }
        state.withLock { state in
            for machine in machines {
                for (path, bytes) in machine.library.tree(without: ".shoebox").sorted(by: { $0.key < $1.key }) {
                    guard let place = RelativePath(path), !path.hasSuffix(".json"),
                        !state.ledger.entries.contains(where: { $0.bytes == bytes })
                    else { continue }
                    state.ledger.add(
                        .content, bytes, machine: machine.name, root: machine.library.name, path: place, step: -1,
                        now: machine.clock.trueTime.milliseconds)
                }
            }
        }
    }

    /// Notes what a command wrote, which was done.
    func noteCommand(
        _ kind: SimulationLedger.Kind, _ word: String, _ machine: SimulatedMachine, _ root: SimulationStep.Root,
        _ path: RelativePath, step: Int
    ) {
        let now = machine.clock.trueTime.milliseconds
        let disk = root == .library ? machine.library : machine.shared
        let photo = try? disk.read(path)
        if kind == .caption { noteCaption(word, of: path, on: disk, machine.name) }
        let inode = disk.entries()[path]?.stamp.inode
        state.withLock {
            if kind == .caption, let inode {
                $0.spoken[.init(machine: machine.name, root: disk.name, inode: inode)] = Array(word.utf8)
            }
            $0.ledger.addCommand(
                kind, Array(word.utf8), of: photo, machine: machine.name, root: disk.name, path: path, step: step,
                now: now)
        }
    }

    /// What a command does to a photo is no deletion by somebody who has only seen the file. Where the folder is away, the
    /// file that was there may be that of any device of the account.
    func touch(_ path: RelativePath, _ disk: SimulatedDisk, on machine: SimulatedMachine) {
        let bytes = try? disk.read(path)
        state.withLock { state in
            guard let bytes else { return state.ledger.touch(path, in: disk.name) }
            state.ledger.touch(bytes, on: machine.name)
        }
    }

    /// What may have been put back from the trash of a machine.
    func notePutBack(_ numbers: Set<Int>) { state.withLock { $0.ledger.notePutBack(numbers) } }

    /// The photos whose sidecars a user broke or deleted.
    var silenced: Set<[UInt8]> { state.withLock { $0.silenced } }
    /// Whether a user changed what the file of a tag says.
    var hasChangedTags: Bool { state.withLock { $0.hasChangedTags } }

    /// Days pass: what nobody's folder shows may be gone after them.
    func noteLongAgo(except shown: Set<Int>) { state.withLock { $0.ledger.noteLongAgo(except: shown) } }

    /// A machine's state directory was lost, or is an earlier one.
    func waiveCommands(of machine: String, step: Int) {
        state.withLock { state in
            state.ledger.waiveCommands(of: machine, step: step)
            state.outdated = state.outdated.filter { $0.key.machine != machine }
        }
    }

    /// The contents that were deleted on a machine.
    func deleted(on machine: String) -> [SimulationLedger.Entry] {
        state.withLock { state in
            state.ledger.entries.filter { $0.kind == .content && $0.deletedOn == machine }
        }
    }

    /// The state that could tell of deletions is gone, and the one in its place does not know what was deleted.
    func noteDeletedUnknowing(_ entries: [SimulationLedger.Entry]) {
        state.withLock { state in entries.forEach { state.ledger.noteDeletedUnknowing($0.number) } }
    }

    /// The last transaction of a machine was taken back.
    func waiveLastCommand(of machine: String, step: Int) {
        state.withLock { $0.ledger.waiveLastCommand(of: machine, step: step) }
    }

    private func places(on machine: SimulatedMachine) -> [Int: Set<String>] {
        var files: [String: [UInt8]] = [:]
        for disk in [machine.library, machine.shared] {
            for (path, bytes) in disk.tree(without: ".shoebox") { files["\(disk.name)/\(path)"] = bytes }
        }
        return state.withLock { $0.ledger.places(in: files) }
    }

    /// Closes everything that is still being written. What the user had saved over such a file is written over by that.
    func endAllWriting(on machines: [SimulatedMachine], step: Int) {
        for machine in machines {
            let filesBefore = SimulationPrivacy.files(on: machine)
            defer { noteTouched(on: machine, since: filesBefore) }
            let before = shown(on: machine)
            for held in state.withLock({ $0.begun }) where held.machine == machine.name {
                do throws(FileError) {
                    try endWriting(held.disk, held.machine, step)
                } catch {
                    // The root is gone, or the disk is full: the half file stays what it is.
                }
            }
            let after = shown(on: machine)
            state.withLock { $0.ledger.waive(before.subtracting(after), step: step) }
        }
    }

    /// The numbers of the entries that the roots of a machine show its user.
    private func shown(on machine: SimulatedMachine) -> Set<Int> {
        let files = [machine.library, machine.shared].flatMap { $0.tree(without: ".shoebox").values }
        return state.withLock { $0.ledger.found(in: files) }
    }

    /// Whether somebody has a file open: it is closed under the name by which it was opened.
    func isBeingWritten(_ path: RelativePath, _ disk: SimulatedDisk) -> Bool {
        state.withLock { $0.begun.contains { $0.disk === disk && $0.path == path.description } }
    }
}

/// What a user can point at in a root now.
struct Places {
    private(set) var files: [RelativePath]
    private(set) var folders: [RelativePath]
    private(set) var subfolders: [RelativePath]
    private(set) var shareFolders: [RelativePath]

    /// The folder of the library in which nobody does anything, so that what is in it can be found wherever it gets to.
    static let untouched = "Private"

    init(_ disk: SimulatedDisk, _ root: SimulationStep.Root) {
        // In the shared folder, `owner/title` is the share; only what is in it is touched.
        let depth = root == .library ? 0 : 2
        let visible = disk.entries().filter { path, _ in
            !path.names.contains { $0.bytes.first == UInt8(ascii: ".") }
                && (root == .shared || path.names.first?.description != Self.untouched)
        }
        files = visible.filter { path, entry in
            entry.kind == .file && path.names.count > depth && path.last?.lowercasedExtension != "json"
        }.keys.sorted()
        let directories = visible.filter { $0.value.kind == .directory && $0.key.names.count >= depth }.keys.sorted()
        folders = (depth == 0 ? [.root] : []) + directories
        subfolders = directories.filter { $0.names.count > depth }
        shareFolders = depth == 0 ? [] : directories.filter { $0.names.count == depth }
    }

    /// Those of some paths only.
    func only(_ isMeant: (RelativePath) -> Bool) -> Places {
        var result = self
        result.files = files.filter(isMeant)
        result.folders = folders.filter(isMeant)
        result.subfolders = subfolders.filter(isMeant)
        result.shareFolders = shareFolders.filter(isMeant)
        return result
    }

    func file(_ pick: Int) -> RelativePath? { files.isEmpty ? nil : files[pick % files.count] }
    func folder(_ pick: Int) -> RelativePath? { folders.isEmpty ? nil : folders[pick % folders.count] }
    func subfolder(_ pick: Int) -> RelativePath? { subfolders.isEmpty ? nil : subfolders[pick % subfolders.count] }
    func shareFolder(_ pick: Int) -> RelativePath? {
        shareFolders.isEmpty ? nil : shareFolders[pick % shareFolders.count]
    }
    /// Where a photo, or its folder, goes that is taken to another folder.
    func parting(_ file: Int, _ folder: Int, _ isFolder: Bool) -> (from: RelativePath, to: RelativePath)? {
        guard let photo = self.file(file), let folder = self.folder(folder) else { return nil }
        let source = isFolder ? photo.parent : photo
        guard let name = source.last, !isFolder || subfolders.contains(source), !folder.isAtOrBelow(source) else {
            return nil
        }
        return (source, folder.appending(name))
    }
    func child(of pick: Int, _ name: String) -> RelativePath? {
        guard let folder = folder(pick), let name = FileName(name) else { return nil }
        return folder.appending(name)
    }
}

/// Few names, so that they collide.
enum Names {
    static func photo(_ pick: Int) -> String { "IMG_\(pick % 6).jpg" }
    static func folder(_ pick: Int) -> String { ["Lake", "Sea", "Hill", "Träd"][pick % 4] }

    /// The sidecar that a photo has; nil if it has none.
    static func sidecar(of photo: RelativePath, on disk: SimulatedDisk) -> RelativePath? {
        let entries = disk.entries()
        for suffix in [".shoebox.json", ".json"] {
            guard let name = photo.last?.appending(suffix) else { continue }
            let path = photo.parent.appending(name)
            if entries[path]?.kind == .file { return path }
        }
        return nil
    }
}
