public import ShoeboxModel

/// What a user did in a watched root since the base, by the rules of identity.
///
/// 1. A file's path that is still occupied by a file keeps its record: an edit; unless two or more records swapped
///    their files or bytes among their paths, which are moves, or the record's own file is elsewhere and that of another
///    record has taken its place, as in a chain of renames, or a new one has; but what an editor put aside is no move.
///    Where the record's own file has left the root, what took its place is that of another record, or new. A file that
///    nobody knows is that of the record whose own sidecar came along with it, if that has no other: an editor has saved it
///    on the way. And what came with its sidecar to the place of a file that is nowhere, while its own place went to another
///    one, is no edit of that.
/// 2. A file that is gone from its path is where a file with the same inode and birth time is (without birth times: and
///    with equal bytes).
/// 3. Else where the only file with equal bytes is; of several such records, the one of the same name. Empty files tell
///    nothing.
///
/// What else is missing is deleted, what else is there is new. A directory is known by inode and birth time, else by
/// path; a renamed one is one change, and what is in it did not move. Absence of knowledge is never deletion: only a
/// directory that is in `listed`, or lies below one that is gone from a listed one, can lack something.
///
/// When a mounted zone's directory is gone, its deletion is reported and none of what was in it.
/// - Parameters:
///   - base: what was last agreed on, all of the watched root.
///   - local: what was found; for directories in `listed` everything, for others what is known.
///   - listed: the directories whose listings in `local` are complete.
///   - roots: the tops of the tree and their directories. A root is never deleted: without its directory all below it
///     is unknown.
///   - parked: records whose files an unfinished plan has put aside; they, and what is in them, are left alone.
///   - departed: records whose own file was found outside of this root. What stands in its place is another one's file.
///   - sidecars: for files beside which lies the very sidecar of a record that had another place, that record.
public func planLocal(
    base: [BaseEntry], local: [LocalEntry], listed: Set<RelativePath>, roots: [RecordID: RelativePath],
    parked: Set<RecordID> = [], departed: Set<RecordID> = [], sidecars: [RelativePath: RecordID] = [:]
) -> LocalPlan {
    var planner = LocalPlanner(
        base: base, local: local, listed: listed, roots: roots, parked: parked, departed: departed, sidecars: sidecars)
    return planner.plan()
}
