import Glibc

/// What the kernel's table of mounts says of a path.
enum MountTable {
    /// File systems whose files no other machine writes.
    private static let local: Set<String> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "tmpfs", "ramfs", "overlay",
    ]

    /// Whether a path lies on a file system of this machine, so that watching it shows every write. Follows links, and
    /// so may hang on a dead mount; the table itself does not.
    static func isLocal(_ path: AbsolutePath) -> Bool {
        guard let path = Installation.resolved(path),
            let bytes = try? LocalFile.read(AbsolutePath("/proc/self/mountinfo") ?? .root, maxBytes: 16 << 20)
        else { return false }
        var best: (mount: AbsolutePath, type: String)?
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            // `36 35 98:0 /root /mount options optional… - type source options`
            let words = line.split(separator: " ")
            guard words.count > 4, let dash = words.firstIndex(of: "-"), dash + 1 < words.count,
                let mount = AbsolutePath(unescaped(words[4])), mount.contains(path)
            else { continue }
            // Of equal ones the later covers the earlier.
            if mount.text.utf8.count >= best?.mount.text.utf8.count ?? 0 { best = (mount, String(words[dash + 1])) }
        }
        return best.map { local.contains($0.type) } ?? false
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
