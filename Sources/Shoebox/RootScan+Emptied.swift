import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

/// Photos that were cut to nothing, as a power cut leaves them.
extension RootScan {
    /// - Parameter former: where the photo was that has another name now, as its user knows it.
    func reportEmptied(_ path: RelativePath, former: String?) throws {
        let shown = engine.display(path, root)
        let moved = former.map { " and moved; it was '\($0)'" } ?? ""
        let way =
            former.map { "Move it back to '\($0)' and run 'shoebox restore' on that" } ?? "Run 'shoebox restore' on it"
        try engine.report(
            "emptied", path: shown, "'\(shown)' was cut to zero bytes\(moved); that is not passed on.",
            "\(way) to get the former content back, or delete the file if the photo should go for everybody.")
    }

    /// Where a file is known to have been with something in it, as its user knows the place; nil if it is not.
    func shownBefore(_ stamp: FileStamp) throws -> String? {
        guard stamp.birthNanoseconds != 0 else { return nil }
        return try engine.store.read { db in
            for root in RootKind.allCases {
                let row = try db.base(inode: stamp.inode, root: root).first {
                    $0.kind == .file && $0.stamp.size > 0 && stamp.isSameFile(as: $0.stamp)
                }
                guard let row else { continue }
                let path = try db.basePath(of: row.id, top: [engine.top(root)])
                return engine.display(path ?? RelativePath([row.name]), root)
            }
            return nil
        }
    }
}
