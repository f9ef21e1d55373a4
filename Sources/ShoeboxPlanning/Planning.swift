public import ShoeboxModel

/// Whether a node of the tree holds bytes or other nodes.
public enum NodeKind: Hashable, Sendable { case file, folder }

/// One thing that was last written to, or seen in, a watched root and agreed on: the base tree has one for each.
public struct BaseEntry: Hashable, Sendable {
    /// The record shown here.
    public var id: RecordID
    /// The folder (or zone root) it is shown in.
    public var parent: RecordID
    /// Where it is, below the watched root.
    public var path: RelativePath
    /// What it is.
    public var kind: NodeKind
    /// The file or directory as last seen.
    public var stamp: FileStamp
    /// SHA-256 of a file's bytes; nil for folders.
    public var contentHash: Digest32?
    /// Other records of equal place and bytes that this one file stands for.
    public var twins: [RecordID]

    /// An entry from its parts.
    public init(
        id: RecordID, parent: RecordID, path: RelativePath, kind: NodeKind, stamp: FileStamp,
        contentHash: Digest32? = nil, twins: [RecordID] = []
    ) {
        self.id = id
        self.parent = parent
        self.path = path
        self.kind = kind
        self.stamp = stamp
        self.contentHash = contentHash
        self.twins = twins
    }
}

/// One file or directory as found in a watched root now.
public struct LocalEntry: Hashable, Sendable {
    /// Where, below the watched root.
    public var path: RelativePath
    /// What it is.
    public var kind: NodeKind
    /// As found.
    public var stamp: FileStamp
    /// SHA-256 of the bytes; always there for a file whose stamp differs from every base entry's at that path, and nil
    /// where the base entry at the path has an unchanged stamp.
    public var contentHash: Digest32?

    /// An entry from its parts.
    public init(path: RelativePath, kind: NodeKind, stamp: FileStamp, contentHash: Digest32? = nil) {
        self.path = path
        self.kind = kind
        self.stamp = stamp
        self.contentHash = contentHash
    }
}

/// A folder that a plan names: one that has a record, or one that the same plan creates.
public enum FolderReference: Hashable, Sendable {
    /// A folder record, or the root of a zone.
    case existing(RecordID)
    /// The folder that the plan's creation of this number makes.
    case created(Int)
}

/// What a user did to one file or folder since the base.
public enum LocalChange: Hashable, Sendable {
    /// Nothing but the stamp changed; the base takes the new one.
    case restamp(RecordID, FileStamp)
    /// The bytes changed.
    case edit(RecordID, contentHash: Digest32, stamp: FileStamp)
    /// It was renamed or moved, to another zone if the folder is in one.
    case place(RecordID, in: FolderReference, name: FileName, path: RelativePath, stamp: FileStamp)
    /// It is new. `number` counts creations from 0; parents come before children. `copyOf` is a record with equal bytes
    /// that still exists.
    case create(
        number: Int, kind: NodeKind, in: FolderReference, path: RelativePath, stamp: FileStamp,
        contentHash: Digest32?, copyOf: RecordID?)
    /// It is gone. A deleted folder comes after all that was in it.
    case delete(RecordID)
}

/// One record that has, or would have, a place in the tree; the remote side of planning.
public struct PlacedRecord: Hashable, Sendable {
    /// The record; for a mounted share, the root of its zone.
    public var id: RecordID
    /// What it is.
    public var kind: NodeKind
    /// The folder, or zone root, that it is in. May be absent from the input: the record is dormant then.
    public var parent: RecordID
    /// When the parent was written.
    public var parentStamp: HybridTimestamp
    /// The name as written.
    public var name: FileName
    /// When the name was written.
    public var nameStamp: HybridTimestamp
    /// The label of the account that wrote the name, for collision names.
    public var authorLabel: String
    /// Whether the record itself is live. A folder that isn't shows while it has a shown child.
    public var isLive: Bool
    /// SHA-256 of a file's bytes.
    public var contentHash: Digest32?

    /// A record from its parts.
    public init(
        id: RecordID, kind: NodeKind, parent: RecordID, parentStamp: HybridTimestamp, name: FileName,
        nameStamp: HybridTimestamp, authorLabel: String, isLive: Bool = true, contentHash: Digest32? = nil
    ) {
        self.id = id
        self.kind = kind
        self.parent = parent
        self.parentStamp = parentStamp
        self.name = name
        self.nameStamp = nameStamp
        self.authorLabel = authorLabel
        self.isLive = isLive
        self.contentHash = contentHash
    }
}

/// Where one record shows in the tree.
public struct LayoutNode: Hashable, Sendable {
    /// The record that represents the place.
    public var id: RecordID
    /// The folder it shows in, after merging of folders and breaking of cycles.
    public var parent: RecordID
    /// The name it shows under, after resolving collisions.
    public var name: FileName
    /// What it is.
    public var kind: NodeKind
    /// SHA-256 of a file's bytes.
    public var contentHash: Digest32?
    /// Files: other records with the same place and bytes, sorted. Folders: other folders with the same place, sorted.
    public var twins: [RecordID]

    /// A node from its parts.
    public init(
        id: RecordID, parent: RecordID, name: FileName, kind: NodeKind, contentHash: Digest32? = nil,
        twins: [RecordID] = []
    ) {
        self.id = id
        self.parent = parent
        self.name = name
        self.kind = kind
        self.contentHash = contentHash
        self.twins = twins
    }
}

/// The tree that records make: the same on every replica that has the same records.
public struct Layout: Hashable, Sendable {
    /// Every shown node by its record. Merged folders and twin files appear under their representative only.
    public var nodes: [RecordID: LayoutNode] = [:]
    /// Folders shown as another one.
    public var redirects: [RecordID: RecordID] = [:]
    /// Names that differ from the written ones because of a collision, to be written by whoever may.
    public var derivedNames: [RecordID: FileName] = [:]
    /// Folders shown at their zone's root because their parents form a cycle.
    public var cycleBreaks: Set<RecordID> = []
    /// Records whose parent is not known (yet), and all below them.
    public var dormant: Set<RecordID> = []
    /// An empty layout.
    public init() {}
}

/// One step that makes a watched root show what the records say. Paths are as of the step, all earlier ones done.
public enum FileOperation: Hashable, Sendable {
    /// Makes a directory for a folder.
    case makeDirectory(RecordID, at: RelativePath)
    /// Renames a file or directory; the target must be free.
    case move(RecordID, from: RelativePath, to: RelativePath)
    /// Moves a file or directory out of the way, into the root's own temporary folder, to be moved on by a later step.
    case park(RecordID, from: RelativePath)
    /// Moves a parked file or directory to where it belongs.
    case unpark(RecordID, to: RelativePath)
    /// Writes a file's bytes at a free path (`replacing` nil), or in place of a file that still has this stamp.
    case write(RecordID, at: RelativePath, contentHash: Digest32, replacing: FileStamp?)
    /// Moves a file that still has this stamp into the trash.
    case remove(RecordID, at: RelativePath, expecting: FileStamp)
    /// Removes a directory if nothing is left in it.
    case removeDirectory(RecordID, at: RelativePath)
}
