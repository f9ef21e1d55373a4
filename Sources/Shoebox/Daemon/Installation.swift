import Glibc
public import ShoeboxCloud
import ShoeboxLibrary
public import ShoeboxModel
public import ShoeboxStore
public import ShoeboxWorld

/// One account on one machine, as its configuration file describes it: where everything is, and what runs on it.
public struct Installation: Sendable {
    /// The configuration.
    public let configuration: Configuration
    /// The file that it was read from.
    public let file: AbsolutePath
    /// What the environment said.
    public let environment: ConfigurationEnvironment

    /// An installation from its parts.
    public init(configuration: Configuration, file: AbsolutePath, environment: ConfigurationEnvironment) {
        self.configuration = configuration
        self.file = file
        self.environment = environment
    }

    /// The installation of the configuration file that an option or the environment names.
    public static func load(option: String?) throws -> Installation {
        let environment = ConfigurationEnvironment.current()
        let file = try environment.configurationFile(option: option)
        return Installation(
            configuration: try Configuration.load(file, environment: environment), file: file, environment: environment)
    }

    /// The directory with the database and the keys.
    public var state: StateDirectory { StateDirectory(configuration.state) }

    /// The world of this machine with the folders of the configuration; nothing is touched yet.
    public func world() -> World {
        .live(
            library: configuration.library.text, shared: configuration.shared.text,
            container: configuration.container.text, modes: configuration.mode == .open ? .open : .group,
            mountHelper: Self.mountHelper)
    }

    /// The running executable if it is the command line, which becomes a helper for calls on the mount when it is asked to.
    private static var mountHelper: String? {
        guard CommandLine.arguments.first?.split(separator: "/").last == "shoebox" else { return nil }
        // Not its path, which an update may have replaced: the file that runs.
        return "/proc/self/exe"
    }

    /// How the engine is to behave.
    public var settings: EngineSettings {
        var settings = EngineSettings(
            label: configuration.account,
            ignore: IgnoreRules(patterns: IgnoreRules.defaultPatterns + configuration.ignore))
        settings.settleMilliseconds = UInt64(clamping: configuration.settleMilliseconds)
        settings.foreignDeletionMilliseconds = UInt64(clamping: configuration.deleteDelayMilliseconds)
        settings.massDeletionCount = configuration.limits.massDeletionCount
        settings.massDeletionPercent = configuration.limits.massDeletionPercent
        settings.trashDays = configuration.trash.days
        settings.trashBytesMax = configuration.trash.bytesMax.map { UInt64(clamping: $0) }
        settings.sidecars = EngineSettings.SidecarPolicy(rawValue: configuration.sidecars.rawValue) ?? .whenNeeded
        settings.isOpen = configuration.mode == .open
        settings.zonesMax = configuration.limits.zonesMax
        settings.participantsMax = configuration.limits.participantsMax
        settings.compactSegmentsMin = UInt64(clamping: configuration.compaction.segmentsMin)
        settings.compactSegmentsMax = UInt64(clamping: configuration.compaction.segmentsMax)
        settings.compactGraceMilliseconds = UInt64(clamping: configuration.compaction.graceSeconds) * 1_000
        return settings
    }

    /// Opens the local database of an account that was set up.
    ///
    /// - Throws: `RequestError` if there is none.
    public func openStore() throws -> Store {
        guard state.isSetUp else {
            throw RequestError(
                ExitCode.failed, "The account '\(configuration.account)' is not set up on this machine.",
                Self.setUpRemedy)
        }
        // Never made anew by looking: what it lacks would be taken for what there is.
        let store = state.hasDatabase ? try state.openStore() : nil
        guard let store, try store.read({ db in try db.metaText("container") }) != nil else {
            throw RequestError(
                ExitCode.failed, "The local database \(state.database) is gone, or was never finished.",
                "Run 'shoebox init' again with the same account and folders: everything comes back from the folders and the container."
            )
        }
        return store
    }

    private static let setUpRemedy =
        "Run 'shoebox init' with the same account and folders; for an account that exists already with '--join', or with '--import' and a file that 'shoebox account export' wrote."

    /// The keys of an account that was set up.
    public func identity() throws -> Identity {
        guard let identity = try state.readIdentity() else {
            throw RequestError(
                ExitCode.failed, "The account '\(configuration.account)' is not set up on this machine.",
                Self.setUpRemedy)
        }
        return identity
    }

    /// An engine over the database; to be run only by who holds the lock, to be read from by anyone.
    public func makeEngine(_ store: Store) throws -> Engine {
        let engine = try Engine(world: world(), store: store, identity: try identity(), settings: settings)
        let state = state
        engine.saveIdentity = { try state.save($0) }
        return engine
    }

    /// The watched folder that a path lies in, and where in it.
    ///
    /// - Parameter text: absolute, or relative to the current directory.
    /// - Throws: `RequestError` with `ExitCode.notFound` if it lies in neither.
    public func reference(_ text: String) throws -> PathReference {
        let path = environment.currentDirectory.appending(text)
        if let found = reference(path) { return found }
        // The way there may lead over links; the last component is what is meant, even if it is one.
        if path != .root, let parent = Self.resolved(path.parent),
            let found = reference(parent.appending("./\(path.last)"))
        {
            return found
        }
        throw RequestError(
            ExitCode.notFound, "'\(text)' lies neither in the library folder nor in the shared folder.",
            "They are \(configuration.library) and \(configuration.shared).")
    }

    private func reference(_ path: AbsolutePath) -> PathReference? {
        for (kind, root) in [(RootKind.library, configuration.library), (.shared, configuration.shared)] {
            for start in [root, Self.resolved(root)] {
                guard let start, start.contains(path) else { continue }
                let rest = path.text.utf8.dropFirst(start == .root ? 1 : start.text.utf8.count)
                guard let relative = RelativePath(String(decoding: Array(rest), as: UTF8.self)) else { continue }
                return PathReference(root: kind, path: relative)
            }
        }
        return nil
    }

    /// The absolute path of something in a watched folder.
    public func absolutePath(_ path: RelativePath, in root: RootKind) -> String {
        let start = root == .library ? configuration.library : configuration.shared
        return path.isRoot ? start.text : "\(start.text)/\(path)"
    }

    /// A path with its links followed; nil if it does not exist.
    static func resolved(_ path: AbsolutePath) -> AbsolutePath? {
        guard let resolved = realpath(path.text, nil) else { return nil }
        defer { free(resolved) }
        return AbsolutePath(String(cString: resolved))
    }
}
