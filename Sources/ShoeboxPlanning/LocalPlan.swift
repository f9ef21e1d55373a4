public import ShoeboxModel

/// What a user did in a watched root since the base, and what could not be told.
public struct LocalPlan: Hashable, Sendable {
    /// In a safe order: new folders and places (parents first), edits and stamps, new files, deletions (a folder after all
    /// that was in it).
    public var changes: [LocalChange] = []
    /// Changed files whose bytes were not given; they are left as they are until they can be read.
    public var unread: [RelativePath] = []
    /// Files and directories that lie in no zone, such as a directory made beside the mounted shares.
    public var unplaced: [RelativePath] = []
    /// A plan of nothing.
    public init() {}
}
