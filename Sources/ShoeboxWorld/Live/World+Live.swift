internal import CFileSystem
// `timespec` is known by this module, too, if a file compiled beside this one imports it.
internal import CDispatch
internal import Glibc

extension World {
    /// The real world: this machine's files, clocks and randomness. Paths are absolute; nothing is touched yet.
    ///
    /// The container is reached through processes of their own if `mountHelper` is the path of an executable that becomes
    /// one, else by threads, which on some mounts keep this process from ending.
    public static func live(
        library: String, shared: String, container: String, modes: MountModes = .group, mountHelper: String? = nil
    ) -> World {
        let mount: any Mount =
            if let mountHelper {
                ProcessMount(root: container, modes: modes, executable: mountHelper)
            } else {
                LiveMount(root: container, modes: modes)
            }
        return World(
            library: LiveFileSystem(root: library), shared: LiveFileSystem(root: shared), mount: mount,
            nowMilliseconds: LiveWorld.nowMilliseconds, uptimeMilliseconds: LiveWorld.uptimeMilliseconds,
            bootID: LiveWorld.bootID(), randomBytes: LiveWorld.randomBytes)
    }
}

/// The parts of the live world that are no files.
public enum LiveWorld {
    /// Milliseconds since 1970 by the machine's clock; 0 for a clock before that.
    public static let nowMilliseconds: @Sendable () -> UInt64 = { milliseconds(of: CLOCK_REALTIME) }

    /// Milliseconds since the machine started, sleep included.
    public static let uptimeMilliseconds: @Sendable () -> UInt64 = { milliseconds(of: CLOCK_BOOTTIME) }

    /// Secret, unpredictable bytes from the kernel.
    public static let randomBytes: @Sendable (Int) -> [UInt8] = { count in
        var generator = SystemRandomNumberGenerator()
        return (0..<max(0, count)).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// The kernel's id of this boot; empty where there is none, which makes every start look like the same boot.
    public static func bootID() -> String {
        let file = Glibc.open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        let bytes = try? Descriptor(file).read(at: 0, maxBytes: 64, path: "boot_id")
        return String(decoding: (bytes ?? []).prefix { $0 > 0x20 }, as: UTF8.self)
    }

    private static func milliseconds(of clock: clockid_t) -> UInt64 {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0, time.tv_sec >= 0 else { return 0 }
        return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec / 1_000_000)
    }
}
