public import ShoeboxModel

/// Lists the directories of one root, one after another, for one thread.
///
/// It may list those that were announced before they are asked for, and gives each listing away once.
public protocol DirectoryLister: AnyObject {
    /// These will be asked for soon, the last one first. To be called after what holds them was listed.
    func announce(_ directories: [RelativePath])
    /// What a directory holds; throws as `LocalFileSystem.list` does.
    func list(_ directory: RelativePath) throws(FileError) -> DirectoryListing
}

/// Lists each directory when it is asked for.
///
/// A class because the protocol is one of classes; it keeps nothing.
public final class PlainDirectoryLister: DirectoryLister {
    private let files: any LocalFileSystem

    /// A lister of a file system.
    public init(_ files: any LocalFileSystem) { self.files = files }

    /// Does nothing.
    public func announce(_ directories: [RelativePath]) {}

    /// As `LocalFileSystem.list`, in the order of names.
    public func list(_ directory: RelativePath) throws(FileError) -> DirectoryListing {
        DirectoryListing(try files.list(directory).map { ($0.name, $0.kind, $0.stamp) })
    }
}
