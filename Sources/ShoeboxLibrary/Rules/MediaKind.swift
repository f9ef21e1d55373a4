public import ShoeboxModel

/// Whether a file is a photo (or film) or any other file, by its extension alone.
public enum MediaKind: Hashable, Sendable {
    /// A picture or film: a Photo record.
    case photo
    /// Anything else: a File record.
    case file

    /// Extensions of pictures and films, in lower case.
    public static let photoExtensions: Set<String> = [
        // Pictures.
        "jpg", "jpeg", "jpe", "jfif", "heic", "heif", "hif", "tif", "tiff", "png", "gif", "webp", "avif", "jxl", "bmp",
        "jp2", "psd", "svg",
        // Raw.
        "dng", "cr2", "cr3", "crw", "nef", "nrw", "arw", "srf", "sr2", "orf", "rw2", "raf", "pef", "srw", "x3f", "3fr",
        "erf", "kdc", "dcr", "mos", "mrw", "rwl", "iiq", "raw", "gpr", "fff", "mef",
        // Films.
        "mov", "mp4", "m4v", "avi", "mts", "m2ts", "3gp", "3g2", "mkv", "webm", "mpg", "mpeg", "wmv", "insv", "lrv",
    ]

    /// The kind of a file of this name.
    public init(_ name: FileName) { self = Self.photoExtensions.contains(name.lowercasedExtension) ? .photo : .file }

    /// The type of the records of this kind.
    public var recordType: RecordType { self == .photo ? .photo : .file }
}
