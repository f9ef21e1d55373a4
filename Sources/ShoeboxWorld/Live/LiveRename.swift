internal import CFileSystem
internal import Glibc

/// Renames with the promises of `RenameMode`, also where the kernel or the file system lacks renameat2's flags.
enum LiveRename {
    /// Renames between two open directories; 0, or the errno.
    static func rename(
        from: Int32, _ source: [CChar], to: Int32, _ target: [CChar], mode: RenameMode
    ) -> Int32 {
        switch mode {
        case .replace: return -shoebox_rename(from, source, to, target, SHOEBOX_RENAME_REPLACE)
        case .failIfExists:
            let error = -shoebox_rename(from, source, to, target, SHOEBOX_RENAME_NEW)
            return isUnsupported(error) ? renameToFreeName(from: from, source, to: to, target) : error
        case .exchange:
            let error = -shoebox_rename(from, source, to, target, SHOEBOX_RENAME_EXCHANGE)
            return isUnsupported(error) ? exchangeInThreeSteps(from: from, source, to: to, target) : error
        }
    }

    private static func isUnsupported(_ error: Int32) -> Bool { [EINVAL, ENOSYS, ENOTSUP].contains(error) }

    /// Files by a hard link, which never replaces. Where there are none, and for directories, by looking first: a
    /// name that appears between the look and the rename would be replaced, and no call that prevents it is left.
    static func renameToFreeName(from: Int32, _ source: [CChar], to: Int32, _ target: [CChar]) -> Int32 {
        var stat = shoebox_stat()
        let absent = shoebox_stat_at(from, source, &stat)
        if absent != 0 { return -absent }
        if UInt32(stat.kind) == SHOEBOX_FILE.rawValue {
            if linkat(from, source, to, target, 0) == 0 {
                let renamed = keepInode(of: stat, from: from, source, to: to, target)
                let error = unlinkat(from, source, 0) == 0 ? 0 : errno
                return renamed && error == ENOENT ? 0 : error
            }
            let error = errno
            if ![EPERM, ENOTSUP, ENOSYS, EMLINK, EINVAL, EACCES].contains(error) { return error }
        }
        let taken = shoebox_stat_at(to, target, &stat)
        if taken == 0 { return EEXIST }
        if taken != -ENOENT { return -taken }
        return -shoebox_rename(from, source, to, target, SHOEBOX_RENAME_REPLACE)
    }

    /// A file system in user space numbers names and not files, so that a second link looks like another file: what was known of the
    /// file would not be found again. There the new name, which nobody else can take any more, is renamed over by the old one.
    /// Between two links of one file that does nothing but move what the kernel knows of it.
    ///
    /// - Returns: whether the file was renamed, so that its old name may be gone by now.
    private static func keepInode(
        of file: shoebox_stat, from: Int32, _ source: [CChar], to: Int32, _ target: [CChar]
    ) -> Bool {
        var linked = shoebox_stat()
        guard shoebox_stat_at(to, target, &linked) == 0, linked.inode != file.inode, linked.size == file.size,
            linked.modified == file.modified
        else { return false }
        return shoebox_rename(from, source, to, target, SHOEBOX_RENAME_REPLACE) == 0
    }

    /// The target's content goes beside the source first: at no instant is either without a name, and a crash leaves
    /// at most the target's name free and its content beside the source with `.swap` at the end.
    static func exchangeInThreeSteps(from: Int32, _ source: [CChar], to: Int32, _ target: [CChar]) -> Int32 {
        let aside = cString(ExchangeAside.name(for: source.dropLast(1).map { UInt8(bitPattern: $0) }))
        let first = rename(from: to, target, to: from, aside, mode: .failIfExists)
        if first != 0 { return first }
        let second = rename(from: from, source, to: to, target, mode: .failIfExists)
        if second != 0 {
            _ = rename(from: from, aside, to: to, target, mode: .failIfExists)
            return second
        }
        return rename(from: from, aside, to: from, source, mode: .failIfExists)
    }
}
