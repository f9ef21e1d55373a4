/// Everything the engine takes from outside; a test replaces any part.
public struct World: Sendable {
    /// The library folder.
    public var library: any LocalFileSystem
    /// The shared folder.
    public var shared: any LocalFileSystem
    /// The container.
    public var mount: any Mount
    /// Milliseconds since 1970 for stamping; may step back, or run fast in a test.
    public var nowMilliseconds: @Sendable () -> UInt64
    /// Milliseconds that only move on, for waiting and settling.
    public var uptimeMilliseconds: @Sendable () -> UInt64
    /// A number that differs between boots of the machine.
    public var bootID: String
    /// Random bytes; secret and unpredictable in production.
    public var randomBytes: @Sendable (_ count: Int) -> [UInt8]

    /// A world from its parts.
    public init(
        library: any LocalFileSystem, shared: any LocalFileSystem, mount: any Mount,
        nowMilliseconds: @escaping @Sendable () -> UInt64, uptimeMilliseconds: @escaping @Sendable () -> UInt64,
        bootID: String, randomBytes: @escaping @Sendable (_ count: Int) -> [UInt8]
    ) {
        self.library = library
        self.shared = shared
        self.mount = mount
        self.nowMilliseconds = nowMilliseconds
        self.uptimeMilliseconds = uptimeMilliseconds
        self.bootID = bootID
        self.randomBytes = randomBytes
    }
}
