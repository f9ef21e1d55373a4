import Foundation
import Glibc
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

/// Sets an account up on this machine: configuration, folders, keys, container. Doing it again with the same values
/// goes on where it was interrupted, and changes nothing when all is done.
public struct Setup {
    /// The account's label.
    public var account: String
    /// The cloud folder, as it was written.
    public var container: String
    /// The library folder, as it was written.
    public var library: String
    /// The shared folder, as it was written.
    public var shared: String
    /// Whether a new container is for everybody on the machines, not for its folder's group.
    public var isOpen = false
    /// Whether folders that another replica serves are taken over.
    public var takesOver = false
    /// A file that `account export` wrote, as it was written; nil makes a new account.
    public var importFile: String?
    /// Asks for the passphrase of that file.
    public var passphrase: () throws -> String = { "" }
    /// Whether this device joins an account that has others, one of which is to approve it.
    public var joins: Joining?

    /// How a device joins its account.
    public struct Joining {
        /// The code that the other device has shown; nil for one that is made here.
        public var code: String?
        /// How long to wait to be approved.
        public var waitMilliseconds: UInt64
        /// Called with the code to be typed on the other device, before waiting.
        public var show: (String) -> Void

        /// Joining from its parts.
        public init(code: String?, waitMilliseconds: UInt64, show: @escaping (String) -> Void) {
            self.code = code
            self.waitMilliseconds = waitMilliseconds
            self.show = show
        }
    }

    /// A setup from the values without which there is none.
    public init(account: String, container: String, library: String, shared: String) {
        self.account = account
        self.container = container
        self.library = library
        self.shared = shared
    }

    /// What was made.
    public struct Outcome: Sendable {
        /// The installation.
        public var installation: Installation
        /// The account's fingerprint.
        public var fingerprint: String
        /// Whether this made the container.
        public var madeContainer: Bool
        /// Whether this made the account.
        public var madeAccount: Bool
        /// The fingerprints of other accounts of this name in the container, as far as they are seen, if it was made now.
        public var namesakes: [String] = []
        /// The file that restores the account; nil if it is not here (any more).
        public var recoveryFile: AbsolutePath?
    }

    /// Does it.
    ///
    /// - Parameter option: the configuration file that an option names.
    public func run(option: String?) throws -> Outcome {
        let environment = ConfigurationEnvironment.current()
        let file = try environment.configurationFile(option: option)
        let (installation, isNew) = try configuration(at: file, environment)
        let configuration = installation.configuration
        try makeContainerFolder(configuration)
        try makeFolder(configuration.library)
        try makeFolder(configuration.shared)
        if isNew { try refuseOverlap(installation) }
        let state = installation.state
        try state.make()
        if !isNew, let done = try outcomeWhileRunning(installation) { return done }
        let lock = try LibraryLock.acquire(state)
        defer { lock.release() }
        let world = installation.world()
        let store = try state.openStore()
        let bound = try store.read { db in (try db.metaText("container"), try db.meta("account")) }
        let isBound = bound.0 != nil
        if importFile != nil { try state.putAsideDamagedIdentity() }
        let lostState = !isBound && state.isSetUp
        var madeContainer = false
        if try state.readIdentity() == nil {
            if isBound, joins == nil, importFile == nil { throw lostKeysError(state) }
            if !takesOver { try refuseServed(world, by: store.read { db in try db.metaText(Engine.servedKey) }) }
            if joins == nil, importFile == nil { try refuseWaiting(state) }
        }
        if joins != nil {
            // A device that joins an account finds the account's container there; a new one would be another place.
            try openContainer(world)
        } else if !isBound {
            madeContainer = try openOrMakeContainer(world, configuration)
        }
        let madeAccount = try makeIdentity(state, world, bound: bound.1)
        let engine = try installation.makeEngine(store)
        try engine.setUp(
            host: ProcessInfo.processInfo.hostName, takeOver: takesOver, lostState: lostState,
            isJoining: joins != nil)
        // Last: what is written down works. Until then everything above can be done again.
        if isNew { try configuration.save(to: file) }
        let recovery = state.recoveryFile(account: configuration.account)
        let namesakes = madeAccount ? try namesakes(engine) : []
        return Outcome(
            installation: installation, fingerprint: engine.identity.account.fingerprint, madeContainer: madeContainer,
            madeAccount: madeAccount, namesakes: namesakes,
            recoveryFile: access(recovery.text, F_OK) == 0 ? recovery : nil)
    }

    /// What is set up already, if another process serves it.
    private func outcomeWhileRunning(_ installation: Installation) throws -> Outcome? {
        guard !takesOver, importFile == nil, joins == nil, LibraryLock.holder(of: installation.state) != nil,
            let identity = try installation.state.readIdentity(), identity.label == account
        else { return nil }
        // The folders' markers are written last.
        let world = installation.world()
        for files in [world.library, world.shared] {
            guard try RootMarker.read(from: files)?.replica == identity.replica else { return nil }
        }
        let recovery = installation.state.recoveryFile(account: account)
        return Outcome(
            installation: installation, fingerprint: identity.account.fingerprint, madeContainer: false,
            madeAccount: false, recoveryFile: access(recovery.text, F_OK) == 0 ? recovery : nil)
    }

    private func namesakes(_ engine: Engine) throws -> [String] {
        try engine.directory.accounts().filter { $0.label == account && $0.account != engine.account }
            .map(\.account.fingerprint)
    }

    // MARK: Configuration

    private func configuration(
        at file: AbsolutePath, _ environment: ConfigurationEnvironment
    ) throws -> (Installation, isNew: Bool) {
        if let reason = Configuration.reasonAgainst(label: account) {
            throw RequestError(64, "The account '\(account)' \(reason).", "Choose a short name, such as alice.")
        }
        let here = environment.currentDirectory
        let wanted = (
            container: here.appending(container), library: here.appending(library), shared: here.appending(shared)
        )
        if access(file.text, F_OK) == 0 {
            let existing = try Configuration.load(file, environment: environment)
            for (key, old, new) in [
                ("account", existing.account, account), ("container", existing.container.text, wanted.container.text),
                ("library", existing.library.text, wanted.library.text),
                ("shared", existing.shared.text, wanted.shared.text),
            ] where old != new {
                throw RequestError(
                    ExitCode.failed, "\(file) is set up already, with \"\(key)\": \"\(old)\", not \"\(new)\".",
                    "Edit that file to move a folder, or write --config with another file for another account.")
            }
            return (Installation(configuration: existing, file: file, environment: environment), false)
        }
        guard let state = environment.state(of: account) else {
            throw RequestError(
                ExitCode.failed, "HOME is not set, so there is no place for the keys.", "Set HOME or XDG_STATE_HOME.")
        }
        var configuration = Configuration(
            account: account, container: wanted.container, library: wanted.library, shared: wanted.shared, state: state)
        if isOpen { configuration.mode = .open }
        return (Installation(configuration: configuration, file: file, environment: environment), true)
    }

    /// The check that reading the file would do, before it is written.
    private func refuseOverlap(_ installation: Installation) throws {
        _ = try Configuration.parse(
            installation.configuration.encoded(withDefaults: true), file: installation.file,
            environment: installation.environment, resolve: { Installation.resolved($0) ?? $0 })
    }

    // MARK: Folders

    /// Folders that another shoebox serves are refused before an account is made, or anybody is asked to admit this device.
    ///
    /// - Parameter own: the replica that the local database is of, whose keys are to come.
    private func refuseServed(_ world: World, by own: String?) throws {
        for (root, files) in [(RootKind.library, world.library), (.shared, world.shared)] {
            guard let marker = try RootMarker.read(from: files), marker.replica.description != own else { continue }
            var error = marker.servedError(root)
            let isNew = importFile == nil && joins == nil
            error.remedy =
                "Use another folder. If that other shoebox is gone for good, repeat this command with --take-over"
                + (isNew
                    ? "; if its account was yours, with --join or --import FILE as well, or this makes a new one."
                    : ".")
            throw error
        }
    }

    private func makeFolder(_ path: AbsolutePath) throws {
        do {
            try FileManager.default.createDirectory(atPath: path.text, withIntermediateDirectories: true)
        } catch {
            throw RequestError(
                ExitCode.failed, "The folder \(path) cannot be made: \(error.localizedDescription)",
                "Check that its disk is mounted, and the permissions of the folder above it.")
        }
    }

    /// Makes the container's folder if only that is missing: a whole path that is missing is more likely a mount that is
    /// not there.
    private func makeContainerFolder(_ configuration: Configuration) throws {
        let path = configuration.container
        var status = stat()
        if stat(path.text, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw RequestError(ExitCode.failed, "\(path) is not a folder.", "Choose another cloud folder.")
            }
            return
        }
        guard stat(path.parent.text, &status) == 0 else {
            throw RequestError(
                ExitCode.offline, "The cloud folder \(path) is not there, nor is the folder above it.",
                "Mount it, or make it.")
        }
        let mode: mode_t = configuration.mode == .open ? 0o3777 : 0o3770
        guard mkdir(path.text, mode) == 0 || errno == EEXIST else {
            throw RequestError(
                ExitCode.failed, "The cloud folder \(path) cannot be made: \(String(cString: strerror(errno)))",
                "Make it, or choose another one.")
        }
        // As far as the file system lets it; the umask has taken something away.
        _ = chmod(path.text, mode)
    }

    /// Opens the container, or makes one in an empty folder; whether it was made.
    private func openOrMakeContainer(_ world: World, _ configuration: Configuration) throws -> Bool {
        try tryOut(world, configuration.container)
        let known = try markedContainer(world)
        do {
            // Who takes folders over for an account of another container says so.
            try openContainer(world, expecting: takesOver && importFile == nil ? nil : known)
            return false
        } catch let error as CloudError {
            guard error.code == .notAContainer else { throw error }
        }
        guard known == nil else {
            throw RequestError(
                ExitCode.offline,
                "The cloud folder \(configuration.container) is empty, and the library or shared folder belongs to a container.",
                "Mount the cloud folder. If that container is gone for good, and a new one is to be made, remove '.shoebox/root.json' from both folders first."
            )
        }
        do {
            try makeContainer(world, configuration)
            return true
        } catch let error as CloudError {
            guard error.code == .containerExists else { throw error }
        }
        // Somebody else made it in between.
        try openContainer(world)
        return false
    }

    // Not with the type of its error: a compiler of today fails on it.
    private func openContainer(_ world: World, expecting id: String? = nil) throws {
        _ = try Container.open(mount: world.mount, expecting: id)
    }

    /// The container that a watched folder's marker names: to make another one, as on a mount point with nothing mounted there,
    /// would be to leave everything behind.
    private func markedContainer(_ world: World) throws -> String? {
        for files in [world.library, world.shared] {
            if let marker = try RootMarker.read(from: files) { return marker.container }
        }
        return nil
    }

    private func makeContainer(_ world: World, _ configuration: Configuration) throws {
        _ = try Container.create(
            mount: world.mount, mode: configuration.mode == .open ? .open : .group,
            nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
    }

    /// Writes, lists, reads and removes a small file: what every later step needs.
    private func tryOut(_ world: World, _ path: AbsolutePath) throws {
        let isGood: Bool
        do { isGood = try writesAndReads(world) } catch let error as FileError {
            let remedy =
                error.code == .denied
                ? "You need to be allowed to write there: ask for its group ('chgrp', 'chmod g+rws'), or for a writable export."
                : "Check that the cloud folder is mounted and works."
            throw RequestError(
                error.code == .offline || error.code == .timedOut ? ExitCode.offline : ExitCode.failed,
                "The cloud folder \(path) cannot be used: \(error.description)", remedy)
        }
        guard isGood else {
            throw RequestError(
                ExitCode.failed, "What is written into the cloud folder \(path) is not there afterwards.",
                "This mount can't hold a container; run 'shoebox init' with a folder on another one.")
        }
    }

    private func writesAndReads(_ world: World) throws -> Bool {
        let mount = world.mount
        guard let probe = MountPath("probe-" + encodeHex(world.randomBytes(8))) else { return false }
        let content = world.randomBytes(64)
        try mount.publish(probe, content)
        let names = try mount.list(.root)
        let found = try mount.read(probe, from: 0, maxBytes: 4096)
        try mount.remove(probe)
        return names.contains(probe.last) && found == content
    }

    // MARK: Keys

    private func lostKeysError(_ state: StateDirectory) -> RequestError {
        RequestError(
            ExitCode.failed,
            "The keys of this library are gone: its database is in \(state.path), and the file 'identity' is not.",
            "Restore that file from a backup; or repeat this command with --import FILE, the account's recovery file, or with --join, if the account has another device."
        )
    }

    private func otherAccountError(_ state: StateDirectory) -> RequestError {
        RequestError(
            ExitCode.failed, "The database in \(state.path) is of another account than these keys.",
            "Use the recovery file of that account; or move \(state.path) away first, and use folders of their own.")
    }

    /// Refuses a file of another account than the one that is set up here already, and one that can't be read: nothing would
    /// come of it.
    private func refuseOther(
        _ file: String, than existing: Identity, _ state: StateDirectory, _ world: World
    ) throws {
        let wanted = try imported(file, world, deviceLabel: ProcessInfo.processInfo.hostName)
        guard wanted.account != existing.account else { return }
        throw RequestError(
            ExitCode.failed,
            "\(state.path) holds the keys of another account '\(account)' (\(existing.account.fingerprint)); \(file) is of \(wanted.account.fingerprint).",
            "Set it up with --config and another file, and with folders and a \"state\" of its own; or move \(state.path) away first."
        )
    }

    /// Makes the keys, or takes those of a file; whether a new account was made. Done again after a failure, it goes on.
    ///
    /// - Parameter bound: the account that the local database is of; nil for a new one.
    func makeIdentity(_ state: StateDirectory, _ world: World, bound: Data? = nil) throws -> Bool {
        if let existing = try state.readIdentity() {
            guard existing.label == account else {
                throw RequestError(
                    ExitCode.failed, "\(state.path) holds the keys of '\(existing.label)', not of '\(account)'.",
                    "Use that name, or write another \"state\" into the configuration.")
            }
            if let importFile { try refuseOther(importFile, than: existing, state, world) }
            if joins != nil { try refuseUnjoined(existing, state) }
            try finishJoining(state, world)
            return false
        }
        let host = ProcessInfo.processInfo.hostName
        if let importFile {
            let keys = try imported(importFile, world, deviceLabel: host)
            guard bound.map({ $0 == keys.account.data }) ?? true else { throw otherAccountError(state) }
            try state.save(keys)
            return false
        }
        if let joins {
            let keys = try joined(joins, state, world, deviceLabel: host)
            guard bound.map({ $0 == keys.account.data }) ?? true else { throw otherAccountError(state) }
            try state.save(keys)
            try finishJoining(state, world)
            return false
        }
        let made = try Identity.create(
            label: account, deviceLabel: host, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
        // First what restores the account: an account without it must never be.
        try LocalFile.replace(state.recoveryFile(account: account), with: made.recoveryFile)
        try state.save(made.identity)
        return true
    }
}
