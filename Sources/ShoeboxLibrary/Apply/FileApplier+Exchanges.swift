public import ShoeboxModel
import ShoeboxPlanning
public import ShoeboxWorld

/// Exchanges that take several steps where the file system has none in one, and that a crash or an error cut off: the old file is
/// beside its place in the trash, under a name of its own, and has no other.
extension FileApplier {
    /// Whether what an exchange was to put into the trash lies beside its place there.
    func isAside(_ item: RelativePath) -> Bool {
        guard let aside = aside(item) else { return false }
        do throws(FileError) { return try files.entry(at: aside) != nil } catch { return true }
    }

    private func aside(_ item: RelativePath) -> RelativePath? {
        item.last.flatMap { FileName(bytes: ExchangeAside.name(for: $0.bytes)) }.map(item.parent.appending)
    }

    /// Does the last step of an exchange of which the others are done: the old file goes from beside its place in the trash to it.
    func endExchange(_ item: RelativePath) throws(FileError) {
        guard let aside = aside(item), try files.entry(at: item) == nil, try files.entry(at: aside) != nil else {
            return
        }
        try files.rename(aside, to: item, mode: .failIfExists)
    }

    /// Ends exchanges that were cut off: a file that is missed where it was gets its place back, any other one is in the trash. No photo
    /// is taken for deleted before this was asked.
    ///
    /// - Parameter isMissed: whether this very file was shown at a path when that was last looked at.
    /// - Returns: what is in its place again.
    public func recoverExchanges(
        isMissed: (RelativePath, FileStamp) throws -> Bool
    ) throws -> Set<RelativePath> {
        var back: Set<RelativePath> = []
        for (_, day) in try trashDays() {
            let entries = Dictionary(try files.list(day).map { ($0.name, $0.stamp) }) { first, _ in first }
            for name in entries.keys.sorted() where name.bytes.suffix(5) == Array(".swap".utf8) {
                guard let unique = Self.unique(ofItem: name), let stamp = entries[name],
                    let note = try readInfo(day.appending(ownName("\(unique).json"))), let original = note.path.last,
                    let item = Self.itemName(unique, original), ExchangeAside.name(for: item.bytes) == name.bytes
                else { continue }
                let aside = day.appending(name)
                if try isFree(note.path), try isMissed(note.path, stamp) {
                    try files.rename(aside, to: note.path, mode: .failIfExists)
                    back.insert(note.path)
                } else if entries[item] == nil {
                    try files.rename(aside, to: day.appending(item), mode: .failIfExists)
                }
            }
        }
        return back
    }

    /// Whether nothing is at a path, and its folder is there.
    private func isFree(_ path: RelativePath) throws(FileError) -> Bool {
        do throws(FileError) {
            guard try files.entry(at: path) == nil else { return false }
            return try files.entry(at: path.parent)?.kind == .directory
        } catch {
            guard error.code == .absent || error.code == .unexpectedKind else { throw error }
            return false
        }
    }
}
