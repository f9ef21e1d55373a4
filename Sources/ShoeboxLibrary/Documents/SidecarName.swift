public import ShoeboxModel

/// Which file is the sidecar of which.
///
/// The sidecar of `X` is `X.json`, or `X.shoebox.json` where another program's file has that name.
public enum SidecarName {
    private static let short = ".json"
    private static let long = ".shoebox.json"

    /// The names that a photo's sidecar may have, the preferred one first; none if the photo's name leaves no room.
    public static func candidates(for photo: FileName) -> [FileName] {
        [photo.appending(short), photo.appending(long)].compactMap { $0 }
    }

    /// A photo's name as it is, or cut so that each of its sidecar's names is one, also with text put into the photo's name.
    public static func leavingRoom(_ photo: FileName, besides text: String) -> FileName {
        photo.leaving(room: long.utf8.count + text.utf8.count)
    }

    /// The name under which a photo's sidecar is to be written; nil if its name leaves no room for one.
    ///
    /// `isForeign` says whether a name is taken by something that is no sidecar of ours.
    public static func choose(for photo: FileName, isForeign: (FileName) -> Bool) -> FileName? {
        candidates(for: photo).first { !isForeign($0) }
    }

    /// The files that a file of this name may be the sidecar of, the most likely first; empty for any other name.
    ///
    /// `X.shoebox.json` may be the sidecar of `X`, and of a file `X.shoebox`: the longer name that exists counts.
    public static func photos(for sidecar: FileName) -> [FileName] {
        [short, long].compactMap { suffix in
            guard sidecar.bytes.count > suffix.utf8.count,
                sidecar.bytes.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
            else { return nil }
            return FileName(bytes: sidecar.bytes.dropLast(suffix.utf8.count))
        }
    }

    /// The file that a file of this name is the sidecar of, given what exists; nil for none.
    public static func photo(for sidecar: FileName, exists: (FileName) -> Bool) -> FileName? {
        photos(for: sidecar).first(where: exists)
    }
}
