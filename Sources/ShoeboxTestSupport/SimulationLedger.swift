public import ShoeboxModel

/// All that users ever wrote in a simulation, and whether it must still be found somewhere.
public struct SimulationLedger: Sendable {
    /// What kind of thing was written.
    public enum Kind: Hashable, Sendable {
        /// A file's bytes, unique to this entry.
        case content
        /// A word that is unique to this entry, somewhere in a sidecar: a caption.
        case caption
        /// A word that is unique to this entry, among the tags of a sidecar.
        case tag
    }

    /// One thing that a user wrote.
    public struct Entry: Hashable, Sendable, CustomStringConvertible {
        /// From 0, in order of writing.
        public var number: Int
        /// What kind.
        public var kind: Kind
        /// The bytes of the file, or the word's.
        public var bytes: [UInt8]
        /// By whom.
        public var machine: String
        /// In which root: `library` or `shared`.
        public var root: String
        /// Where.
        public var path: RelativePath
        /// The number of the step that closed the file.
        public var step: Int
        /// The true time at which the file was closed.
        public var closedAtMilliseconds: UInt64
        /// The step in which a user who was shown it deleted or overwrote it, so that no copy was left on that
        /// machine; nil while it must be kept.
        public var waivedInStep: Int?
        /// Whether a new file was made for it, and no other overwritten.
        public var isNewFile = false
        /// How many acts of users moved, copied, overwrote or deleted it, or changed what its sidecar says.
        public var touches = 0
        /// The step, and the machine, in which a user deleted it and had no other copy there; nil if that did not happen.
        public var deletedInStep: Int?
        /// See `deletedInStep`.
        public var deletedOn: String?
        /// Where it was on that machine until then, each place with the root before it; empty if that did not happen.
        public var deletedFrom: Set<String> = []
        /// Whether a user removed one of several copies of it on a machine. Which of them was the one to stay, nobody asked:
        /// the other may be what a change that did not count left behind, and go to the trash.
        public var isOneCopyRemoved = false
        /// Whether it is a word in a sidecar, and its user has given another one to the photo by a command since, or may have
        /// taken it back by one.
        public var isOverwrittenByCommand = false
        /// Whether a device deleted it whose state was put back and had not been compared yet: such a state may not know that the
        /// folder ever showed it. Or its state was put back to before it was there, and had told nobody yet.
        public var wasDeletedUnknowing = false
        /// Whether it went with a whole folder, which may be that of a share: those come back.
        public var wentWithFolder = false
        /// Whether somebody moved or copied it to where others share something with them.
        public var wasCarriedIn = false
        /// Whether nobody's folder showed it when days passed: trash and history keep it for a while only.
        public var isLongAgo = false
        /// Whether it was given by a command, and not written into a file.
        public var isByCommand = false
        /// Whether it was in two places of a machine at once.
        public var wasCopied = false
        /// The machines on which users moved, copied, overwrote or deleted it, or changed what is said of it.
        public var touchedOn: Set<String> = []
        /// Whether a user put it back, or it was in a trash from which somebody had it put back.
        public var wasPutBack = false
        /// The bytes of the photo that it was said of, if they were known.
        public var photo: [UInt8]?
        /// One line for people.
        public var description: String {
            "\(kind) \(describeBytes(bytes, limit: 24)) written by \(machine) in step \(step) at \(root)/\(path)"
        }
    }

    /// All entries, oldest first.
    public private(set) var entries: [Entry] = []

    /// An empty ledger.
    public init() {}

    /// The entries that must be found.
    public var required: [Entry] { entries.filter { $0.waivedInStep == nil } }

    mutating func add(
        _ kind: Kind, _ bytes: [UInt8], machine: String, root: String, path: RelativePath, step: Int, now: UInt64,
        isNewFile: Bool = false, of photo: [UInt8]? = nil
    ) {
        var entry = Entry(
            number: entries.count, kind: kind, bytes: bytes, machine: machine, root: root, path: path, step: step,
            closedAtMilliseconds: now)
        entry.isNewFile = isNewFile
        entry.photo = photo
        entries.append(entry)
    }

    /// Adds what a command said of a photo. Of captions that one user gave to one photo, the last one counts, also when the
    /// earlier ones never got into a file. While the folder is not mounted, its path is all that tells which photo it is.
    mutating func addCommand(
        _ kind: Kind, _ bytes: [UInt8], of photo: [UInt8]?, machine: String, root: String, path: RelativePath,
        step: Int,
        now: UInt64
    ) {
        if kind == .caption {
            let replaced = entries.filter {
                $0.isByCommand && $0.kind == .caption && $0.machine == machine && $0.root == root && $0.path == path
                    && ($0.photo == photo || $0.photo == nil || photo == nil)
            }
            waive(Set(replaced.map(\.number)), step: step)
            for index in entries.indices where entries[index].kind == .caption && !entries[index].isByCommand {
                let entry = entries[index]
                guard entry.machine == machine, entry.root == root, "\(entry.path)" == "\(path).json" else { continue }
                entries[index].isOverwrittenByCommand = true
            }
        }
        add(kind, bytes, machine: machine, root: root, path: path, step: step, now: now)
        entries[entries.count - 1].isByCommand = true
        entries[entries.count - 1].photo = photo
    }

    /// Notes what an act did to contents, from where each was shown on a machine before and after it.
    ///
    /// - Parameter replaced: the start of the paths in a folder in whose place another one was put: what is there was moved.
    mutating func noteAct(
        before: [Int: Set<String>], after: [Int: Set<String>], isDeletion: Bool, isOfFolder: Bool, machine: String,
        step: Int, knowsFolder: Bool, replaced: String? = nil
    ) {
        for (number, places) in before where entries.indices.contains(number) {
            let now = after[number] ?? []
            let isReplaced = replaced.map { folder in now.contains { $0.hasPrefix(folder) } } ?? false
            guard now != places || isReplaced else { continue }
            entries[number].touches += 1
            entries[number].touchedOn.insert(machine)
            if now.count > 1 { entries[number].wasCopied = true }
            if now.contains(where: { $0.hasPrefix("shared/") }) { entries[number].wasCarriedIn = true }
            if now.count < places.count { entries[number].isOneCopyRemoved = true }
            guard isDeletion, now.isEmpty else { continue }
            entries[number].deletedInStep = step
            entries[number].deletedOn = machine
            entries[number].deletedFrom = places
            entries[number].wentWithFolder = isOfFolder
            if !knowsFolder { entries[number].wasDeletedUnknowing = true }
        }
    }

    /// Notes that a folder went as a whole: if what was deleted in it before had not been looked at yet, nobody can tell
    /// that from what went with it.
    mutating func noteFolderGone(_ folder: String, on machine: String) {
        for index in entries.indices where entries[index].deletedOn == machine {
            guard entries[index].deletedFrom.contains(where: { $0.hasPrefix(folder + "/") }) else { continue }
            entries[index].wentWithFolder = true
        }
    }

    /// Notes that a folder was moved: where something was deleted in it before is elsewhere now.
    mutating func noteFolderMoved(from former: String, to folder: String, on machine: String) {
        for index in entries.indices where entries[index].deletedOn == machine {
            let places = entries[index].deletedFrom.filter { $0.hasPrefix(former + "/") }
            entries[index].deletedFrom.formUnion(places.map { folder + $0.dropFirst(former.count) })
        }
    }

    /// Notes that an act changed what is said of a file with these bytes.
    mutating func touch(_ bytes: [UInt8], on machine: String) {
        for index in entries.indices where entries[index].kind == .content && entries[index].bytes == bytes {
            entries[index].touches += 1
            entries[index].touchedOn.insert(machine)
        }
    }

    /// Notes that an act changed what is said of whatever was written at a path.
    mutating func touch(_ path: RelativePath, in root: String) {
        for index in entries.indices
        where entries[index].kind == .content && entries[index].path == path && entries[index].root == root {
            entries[index].touches += 1
            // By whomever: nobody knows whose it is now.
            entries[index].touchedOn.insert("")
        }
    }

    /// What was given by commands on a machine may go with its state directory, and what they have taken the place of, which
    /// only its history had.
    mutating func waiveCommands(of machine: String, step: Int) {
        let gone = entries.filter { ($0.isByCommand || $0.isOverwrittenByCommand) && $0.machine == machine }
        waive(Set(gone.map(\.number)), step: step)
    }

    /// What was given by the last command of a machine may have been taken back by its user.
    mutating func waiveLastCommand(of machine: String, step: Int) {
        // Or it was what its user wrote last into a sidecar; then only the history there still has it.
        let words = entries.filter { $0.kind != .content && !$0.isByCommand && $0.machine == machine }
        for word in words where word.step == words.map(\.step).max() {
            entries[word.number].isOverwrittenByCommand = true
        }
        let commands = entries.filter { $0.isByCommand && $0.machine == machine }
        guard let last = commands.map(\.step).max() else { return }
        waive(Set(commands.filter { $0.step == last }.map(\.number)), step: step)
    }

    /// What was given by commands on a machine to photos that its user has now deleted there goes with them, also where it
    /// never got into a file.
    ///
    /// - Parameters:
    ///   - gone: the entries that are shown there no more.
    ///   - isFile: whether a file is in a root, at a path: a photo that was only edited, or replaced, is.
    mutating func waiveCommands(
        of gone: Set<Int>, on machine: String, step: Int, isFile: (_ root: String, _ path: RelativePath) -> Bool
    ) {
        let photos = Set(gone.filter(entries.indices.contains).map { entries[$0].bytes })
        let words = entries.filter { entry in
            entry.isByCommand && entry.machine == machine && entry.photo.map(photos.contains) == true
                && !isFile(entry.root, entry.path)
        }
        waive(Set(words.map(\.number)), step: step)
    }

    /// Where contents are in some files: the paths of each, by number.
    func places(in files: [String: [UInt8]]) -> [Int: Set<String>] {
        var numbers: [[UInt8]: Int] = [:]
        for entry in entries where entry.kind == .content { numbers[entry.bytes] = entry.number }
        var result: [Int: Set<String>] = [:]
        for (path, bytes) in files {
            if let number = numbers[bytes] { result[number, default: []].insert(path) }
        }
        return result
    }

    /// The entries that are found in some files, by number.
    func found(in files: some Collection<[UInt8]>) -> Set<Int> {
        let whole = Set(files)
        var result: Set<Int> = []
        var words: [[UInt8]: [Int]] = [:]
        for entry in entries {
            if entry.kind == .content {
                if whole.contains(entry.bytes) { result.insert(entry.number) }
            } else {
                words[entry.bytes, default: []].append(entry.number)
            }
        }
        guard !words.isEmpty else { return result }
        // The words are made of lower-case letters and digits, and end where those end.
        for file in whole {
            for word in file.split(whereSeparator: { !Self.isWordByte($0) }) {
                if let numbers = words[Array(word)] { result.formUnion(numbers) }
            }
        }
        return result
    }

    private static func isWordByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// Notes that no state knows of a deletion.
    mutating func noteDeletedUnknowing(_ number: Int) {
        if entries.indices.contains(number) { entries[number].wasDeletedUnknowing = true }
    }

    /// Notes that a user put back what had been deleted: contents are to be kept again. What was said of them may be told by
    /// others in another way by now.
    mutating func require(_ numbers: Set<Int>) {
        for number in numbers where entries.indices.contains(number) && entries[number].kind == .content {
            entries[number].waivedInStep = nil
            entries[number].deletedInStep = nil
            entries[number].wasPutBack = true
        }
    }

    /// Notes what may have been put back from a trash.
    mutating func notePutBack(_ numbers: Set<Int>) {
        for number in numbers where entries.indices.contains(number) { entries[number].wasPutBack = true }
    }

    /// Notes that days pass, in which only what is shown is sure to stay. What is said of photos stays with their records.
    mutating func noteLongAgo(except shown: Set<Int>) {
        for index in entries.indices where entries[index].kind == .content && !shown.contains(index) {
            entries[index].isLongAgo = true
        }
    }

    mutating func waive(_ numbers: Set<Int>, step: Int) {
        for number in numbers where entries.indices.contains(number) && entries[number].waivedInStep == nil {
            entries[number].waivedInStep = step
        }
    }
}
