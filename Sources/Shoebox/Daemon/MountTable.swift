import Glibc

/// The kernel's table of mounts. Reading it touches none of them.
enum MountTable {
    /// One mount.
    struct Entry: Equatable {
        /// Where it is mounted.
        var point: AbsolutePath
        /// The device, and which of its directories is mounted: of two mounts at one place the next may have the number of
        /// the last.
        var origin: String
        /// The file system's type as the kernel calls it, such as `ext4` or `fuse.sshfs`.
        var type: String

        /// Whether no other machine writes its files.
        var isLocal: Bool { MountTable.local.contains(type) }
    }

    /// File systems whose files no other machine writes.
    private static let local: Set<String> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "ramfs", "overlay", "proc", "sysfs",
        "devtmpfs", "devpts", "cgroup", "cgroup2", "squashfs", "vfat", "exfat", "iso9660",
    ]

    /// All mounts, in the order they were made; none if the table can't be read.
    static func read() -> [Entry] {
        // Without it nothing counts as local: what others write is found by polling, which is right on any mount.
        guard let bytes = try? LocalFile.read(AbsolutePath("/proc/self/mountinfo") ?? .root, maxBytes: 16 << 20) else {
            return []
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            // `36 35 98:0 /root /mount options optional… - type source options`
            let words = line.split(separator: " ")
            guard words.count > 4, let dash = words.firstIndex(of: "-"), dash + 1 < words.count,
                let point = AbsolutePath(unescaped(words[4]))
            else { return nil }
            return Entry(point: point, origin: "\(words[2]) \(words[3])", type: String(words[dash + 1]))
        }
    }

    /// Whether a path without links lies on a file system of this machine, so that watching it shows every write.
    static func isLocal(_ path: AbsolutePath) -> Bool { entry(of: path)?.isLocal ?? false }

    /// The mount that a path without links lies on; nil if the table can't be read.
    static func entry(of path: AbsolutePath) -> Entry? {
        var best: Entry?
        for entry in read() where entry.point.contains(path) {
            // Of equal ones the later covers the earlier.
            if entry.point.text.utf8.count >= best?.point.text.utf8.count ?? 0 { best = entry }
        }
        return best
    }

    /// Space, tab, line end and backslash are written as three octal digits.
    private static func unescaped(_ text: Substring) -> String {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.count >= 3,
                let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
            {
                result.append(code)
                rest = rest.dropFirst(3)
            } else {
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
