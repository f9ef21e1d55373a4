/// The permission bits that everything in a container gets, whatever the umask.
public struct MountModes: Hashable, Sendable {
    /// Of directories.
    public var directory: UInt16
    /// Of files.
    public var file: UInt16

    /// Modes from their bits.
    public init(directory: UInt16, file: UInt16) {
        self.directory = directory
        self.file = file
    }

    /// For the group of the container's folder: setgid, sticky, 3770 and 640.
    public static let group = MountModes(directory: 0o3770, file: 0o640)
    /// For everyone on the machine: 3777 and 644.
    public static let open = MountModes(directory: 0o3777, file: 0o644)
}
