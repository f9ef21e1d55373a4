import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct PlanLocalTests {
    /// One rule: base, what was found, which directories are listed, and the changes as text.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var base: [BaseEntry]
        var local: [LocalEntry]
        var listed: [String]
        var changes: [String]
        init(
            _ name: String, base: [BaseEntry], local: [LocalEntry], listed: [String] = [""], _ changes: [String]
        ) {
            testDescription = name
            (self.base, self.local, self.listed, self.changes) = (base, local, listed, changes)
        }
    }

    static let two = [entry(1, "a"), entry(2, "b")]

    @Test(arguments: [
        Case("nothing happened", base: two, local: [found("a", inode: 1), found("b", inode: 2)], []),
        Case(
            "touched: only the stamp", base: [entry(1, "a")], local: [found("a", inode: 1, content: 1, modified: 6)],
            ["restamp 1"]),
        Case(
            "written in place: an edit", base: [entry(1, "a")], local: [found("a", inode: 1, content: 9, modified: 6)],
            ["edit 1 9"]),
        Case(
            "rule 1, saved by renaming over: the path keeps the record", base: [entry(1, "a")],
            local: [found("a", inode: 50, content: 9)], ["edit 1 9"]),
        Case(
            "rule 1, exiftool: the path keeps the record, the original is new", base: [entry(1, "a")],
            local: [found("a", inode: 50, content: 9), found("a_original", inode: 1, content: 1)],
            ["edit 1 9", "create 0 a_original in 0"]),
        Case(
            "rule 1, a new file under the name of one that was moved elsewhere: a move, and a new one",
            base: [entry(9, "d/"), entry(1, "a")],
            local: [found("d/", inode: 9), found("a", inode: 50, content: 9), found("d/a", inode: 1, content: 1)],
            listed: ["", "d"], ["place 1 d/a in 9", "create 0 a in 0"]),
        Case(
            "rule 1, a new file under the name of one that was renamed: a move, and a new one",
            base: [entry(1, "1.jpg"), entry(2, "2.jpg")],
            local: [
                found("1.jpg", inode: 50, content: 9), found("12.jpg", inode: 2, content: 2),
                found("2.jpg", inode: 1, content: 1),
            ], ["place 2 12.jpg in 0", "place 1 2.jpg in 0", "create 0 1.jpg in 0"]),
        Case(
            "rule 1, what an editor put aside: the path keeps the record", base: [entry(1, "a.jpg")],
            local: [found("a.jpg", inode: 50, content: 9), found("a (old).jpg", inode: 1, content: 1)],
            ["edit 1 9", "create 0 a (old).jpg in 0"]),
        Case(
            "rule 1, renamed over another: an edit of that, and one gone", base: two,
            local: [found("b", inode: 1, content: 1)], ["edit 2 1", "delete 1"]),
        Case(
            "swapped by renaming: places", base: two,
            local: [found("a", inode: 2, content: 2), found("b", inode: 1, content: 1)],
            ["place 2 a in 0", "place 1 b in 0"]),
        Case(
            "swapped by copying the bytes: places", base: two,
            local: [found("a", inode: 1, content: 2, modified: 6), found("b", inode: 2, content: 1, modified: 6)],
            ["place 2 a in 0", "place 1 b in 0"]),
        Case(
            "two folders were renamed, one to the other's name, and a file of the one moved into the other: places",
            // What is in a renamed folder is known by where that is now, the folder by where it was.
            base: [entry(8, "Lake/"), entry(9, "Pond/"), entry(1, "Lake/a", in: id(9))],
            local: [
                found("Hill/", inode: 8), found("Lake/", inode: 9), found("Hill/a", inode: 1, content: 1),
            ], listed: ["", "Hill", "Lake"],
            ["place 8 Hill in 0", "place 1 Hill/a in 8", "place 9 Lake in 0"]),
        Case(
            "three in a circle: places", base: two + [entry(3, "c")],
            local: [
                found("a", inode: 3, content: 3), found("b", inode: 1, content: 1), found("c", inode: 2, content: 2),
            ],
            ["place 3 a in 0", "place 1 b in 0", "place 2 c in 0"]),
        Case(
            "a chain of renames: places", base: two + [entry(3, "c")],
            local: [
                found("b", inode: 1, content: 1), found("c", inode: 2, content: 2), found("d", inode: 3, content: 3),
            ],
            ["place 1 b in 0", "place 2 c in 0", "place 3 d in 0"]),
        Case(
            "a chain of renames, and one edited", base: two,
            local: [found("b", inode: 1, content: 8), found("c", inode: 2, content: 2)],
            ["place 1 b in 0", "place 2 c in 0", "edit 1 8"]),
        Case(
            "a chain over a file that is gone: edits", base: two + [entry(3, "c")],
            local: [found("a", inode: 2, content: 2), found("b", inode: 3, content: 3)],
            ["edit 1 2", "edit 2 3", "delete 3"]),
        Case(
            "a chain without birth times", base: [entry(1, "a", birth: 0), entry(2, "b", birth: 0)],
            local: [found("b", inode: 1, content: 1, birth: 0), found("c", inode: 2, content: 2, birth: 0)],
            ["place 1 b in 0", "place 2 c in 0"]),
        Case(
            "swapped and one edited", base: two,
            local: [found("a", inode: 2, content: 8), found("b", inode: 1, content: 1)],
            ["place 2 a in 0", "place 1 b in 0", "edit 2 8"]),
        Case(
            "rule 2, renamed", base: [entry(1, "a")], local: [found("b", inode: 1, content: 1)], ["place 1 b in 0"]),
        Case(
            "rule 2, renamed and edited", base: [entry(1, "a")], local: [found("b", inode: 1, content: 4)],
            ["place 1 b in 0", "edit 1 4"]),
        Case(
            "rule 2, an inode used again is not a rename", base: [entry(1, "a")],
            local: [found("b", inode: 1, content: 4, birth: 8)], ["create 0 b in 0", "delete 1"]),
        Case(
            "rule 2, no birth time and other bytes: no rename", base: [entry(1, "a", birth: 0)],
            local: [found("b", inode: 1, content: 4, birth: 0)], ["create 0 b in 0", "delete 1"]),
        Case(
            "rule 2, no birth time and equal bytes",
            base: [entry(1, "a", birth: 0), entry(2, "z", content: 1, birth: 0)],
            local: [found("b", inode: 1, content: 1, birth: 0), found("c", inode: 2, content: 1, birth: 0)],
            ["place 1 b in 0", "place 2 c in 0"]),
        Case(
            "rule 3, moved over a file system: equal bytes", base: [entry(1, "a")],
            local: [found("b", inode: 50, content: 1)], ["place 1 b in 0"]),
        Case(
            "rule 3, not unique: gone and new", base: [entry(1, "a", content: 7), entry(2, "b", content: 7)],
            local: [found("c", inode: 50, content: 7)], ["create 0 c in 0", "delete 2", "delete 1"]),
        Case(
            "rule 3, not unique but of the same name",
            base: [
                entry(9, "d/"), entry(1, "a", content: 7), entry(2, "b", content: 7),
            ],
            local: [found("d/", inode: 9), found("d/a", inode: 50, content: 7), found("d/b", inode: 51, content: 7)],
            listed: ["", "d"], ["place 1 d/a in 9", "place 2 d/b in 9"]),
        Case(
            "rule 3, empty files tell nothing", base: [entry(1, "a", size: 0)],
            local: [found("b", inode: 50, content: 1, size: 0)], ["create 0 b in 0", "delete 1"]),
        Case(
            "a copy names its original", base: [entry(1, "a")],
            local: [found("a", inode: 1), found("b", inode: 50, content: 1)], ["create 0 b in 0 like 1"]),
        Case(
            "a directory renamed is one change", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            local: [found("e/", inode: 1), found("e/a", inode: 2)], listed: ["", "e"], ["place 1 e in 0"]),
        Case(
            "a directory renamed and not listed says nothing of what is in it",
            base: [entry(1, "d/"), entry(2, "d/a", in: id(1))], local: [found("e/", inode: 1)], ["place 1 e in 0"]),
        Case(
            "renamed, and edited in there",
            base: [entry(1, "d/"), entry(2, "d/a", in: id(1)), entry(3, "d/b", in: id(1))],
            local: [found("e/", inode: 1), found("e/a", inode: 2, content: 9, modified: 6)], listed: ["", "e"],
            ["place 1 e in 0", "edit 2 9", "delete 3"]),
        Case(
            "directories swapped", base: [entry(1, "d/"), entry(2, "d/a", in: id(1)), entry(3, "e/")],
            local: [found("e/", inode: 1), found("d/", inode: 3), found("e/a", inode: 2)], listed: ["", "d", "e"],
            ["place 3 d in 0", "place 1 e in 0"]),
        Case(
            "a directory turned inside out",
            base: [entry(1, "d/"), entry(2, "d/e/", in: id(1)), entry(3, "d/e/a", in: id(2))],
            local: [found("e/", inode: 2), found("e/d/", inode: 1), found("e/a", inode: 3)],
            listed: ["", "e", "e/d"], ["place 2 e in 0", "place 1 e/d in 2"]),
        Case(
            "a directory replaced by another at its path keeps its record",
            base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            local: [found("d/", inode: 60, birth: 9), found("d/a", inode: 61, content: 2)], listed: ["", "d"],
            ["restamp 1", "restamp 2"]),
        Case(
            "an inode used again by another directory is no rename",
            base: [entry(1, "d/", birth: 0), entry(2, "d/a", in: id(1))],
            local: [found("n/", inode: 1, birth: 0), found("n/x", inode: 70, content: 9)], listed: ["", "n"],
            ["create 0 n in 0", "create 1 n/x in new 0", "delete 2", "delete 1"]),
        Case(
            "a directory gone: files, then folders",
            base: [
                entry(1, "d/"), entry(2, "d/e/", in: id(1)), entry(3, "d/e/a", in: id(2)), entry(4, "d/b", in: id(1)),
            ],
            local: [], ["delete 3", "delete 2", "delete 4", "delete 1"]),
        Case(
            "new directories come before what is in them", base: [],
            local: [found("n/", inode: 1), found("n/m/", inode: 2), found("n/m/a", inode: 3, content: 3)],
            listed: ["", "n", "n/m"],
            ["create 0 n in 0", "create 1 n/m in new 0", "create 2 n/m/a in new 1"]),
        Case(
            "moved into a new directory", base: [entry(1, "a")],
            local: [found("n/", inode: 5), found("n/a", inode: 1, content: 1)], listed: ["", "n"],
            ["create 0 n in 0", "place 1 n/a in new 0"]),
        Case(
            "out of a directory that is gone", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            local: [found("a", inode: 2, content: 2)], ["place 2 a in 0", "delete 1"]),
        Case(
            "a file where a directory was", base: [entry(1, "x/"), entry(2, "x/a", in: id(1))],
            local: [found("x", inode: 8, content: 8)], ["create 0 x in 0", "delete 2", "delete 1"]),
        Case(
            "a directory where a file was, which moved into it", base: [entry(1, "x")],
            local: [found("x/", inode: 8), found("x/x", inode: 1, content: 1)], listed: ["", "x"],
            ["create 0 x in 0", "place 1 x/x in new 0"]),
        Case(
            "what was not listed is not gone", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))], local: [],
            listed: ["d"], ["delete 2"]),
        Case("nothing listed, nothing gone", base: two, local: [], listed: [], []),
        Case(
            "a file found in a directory that was not listed", base: [entry(1, "a")],
            local: [found("a", inode: 1, content: 3, modified: 9)], listed: [], ["edit 1 3"]),
    ])
    func `each rule of identity`(_ rule: Case) {
        let plan = planLocal(
            base: rule.base, local: rule.local, listed: Set(rule.listed.map { path($0) }), roots: [top: .root])
        #expect(plan.changes.map(text) == rule.changes)
        #expect(plan.unread.isEmpty && plan.unplaced.isEmpty)
    }

    private func text(_ change: LocalChange) -> String {
        func number(_ id: RecordID) -> String { "\(id.name.value)" }
        func text(_ folder: FolderReference) -> String {
            switch folder {
            case .existing(let id): number(id)
            case .created(let count): "new \(count)"
            }
        }
        return switch change {
        case .restamp(let id, _): "restamp \(number(id))"
        case .edit(let id, let hash, _): "edit \(number(id)) \(hash.low)"
        case .place(let id, let folder, _, let path, _): "place \(number(id)) \(path) in \(text(folder))"
        case .create(let count, _, let folder, let path, _, _, let original):
            "create \(count) \(path) in \(text(folder))" + (original.map { " like \(number($0))" } ?? "")
        case .delete(let id): "delete \(number(id))"
        }
    }

    @Test func `a mounted zone that is gone is one deletion, and its files are not deleted`() {
        let mount = id(0, in: 2)
        var share = entry(0, "Trip/")
        share.id = mount
        let base = [share, entry(5, "Trip/a", in: mount), entry(6, "b")]
        let plan = planLocal(
            base: base, local: [found("b", inode: 6)], listed: [.root], roots: [top: .root])
        #expect(plan.changes == [.delete(mount)])
    }

    @Test func `a root without its directory loses nothing`() {
        let plan = planLocal(
            base: [entry(1, "photos/a")], local: [], listed: [.root], roots: [top: path("photos")])
        #expect(plan.changes.isEmpty)
    }

    @Test func `what is parked is left alone, with all in it`() {
        let base = [entry(1, "d/"), entry(2, "d/a", in: id(1)), entry(3, "b")]
        let plan = planLocal(base: base, local: [], listed: [.root], roots: [top: .root], parked: [id(1), id(3)])
        #expect(plan.changes.isEmpty)
    }

    @Test func `a changed file that could not be read is neither gone nor unchanged`() {
        let local = [found("a", inode: 1, modified: 6), found("n", inode: 2)]
        let plan = planLocal(base: [entry(1, "a")], local: local, listed: [.root], roots: [top: .root])
        #expect(plan.changes.isEmpty)
        #expect(plan.unread == [path("a"), path("n")])
    }

    @Test func `a mounted zone may be renamed in a plain directory`() {
        let mount = id(0, in: 2)
        var share = entry(0, "ann/Trip/", in: top)
        share.id = mount
        let local = [found("ann/", inode: 4), found("ann/Fun/", inode: 0), found("eve/", inode: 5)]
        let plan = planLocal(base: [share], local: local, listed: [.root, path("ann")], roots: [:])
        #expect(
            plan.changes == [
                .place(mount, in: .existing(top), name: name("Fun"), path: path("ann/Fun"), stamp: local[1].stamp)
            ])
        #expect(plan.unplaced == [path("eve")])
    }

    @Test
    func `what took the place of a file that left the root is another one's, and the file itself is no departure`() {
        let base = [entry(1, "a"), entry(2, "b"), entry(3, "c"), entry(4, "d")]
        // The second was given the name of the first, something new that of the third, and the fourth came back.
        let local = [
            found("a", inode: 2), found("c", inode: 9, content: 9), found("d", inode: 4, content: 8, modified: 8),
        ]
        let plan = planLocal(
            base: base, local: local, listed: [.root], roots: [top: .root], departed: [id(1), id(3), id(4)])
        #expect(
            plan.changes.map(text) == ["place 2 a in 0", "edit 4 8", "create 0 c in 0", "delete 3", "delete 1"])
    }

    @Test func `a file that an editor saved after it had changed places is known by the sidecar that came along`() {
        let base = [entry(1, "a"), entry(2, "b")]
        let local = [found("a", inode: 9, content: 9), found("b", inode: 1, content: 1)]
        let plan = planLocal(
            base: base, local: local, listed: [.root], roots: [top: .root], sidecars: [path("a"): id(2)])
        #expect(plan.changes.map(text) == ["place 2 a in 0", "place 1 b in 0", "edit 2 9"])
        let untold = planLocal(base: base, local: local, listed: [.root], roots: [top: .root])
        #expect(untold.changes.map(text) == ["edit 1 9", "edit 2 1"])
    }

    @Test func `what came with its sidecar to the place of a file that is gone is no edit of that`() {
        let base = [entry(1, "a"), entry(2, "b"), entry(3, "c")]
        let local = [found("a", inode: 2, content: 2), found("b", inode: 3, content: 3)]
        let plan = planLocal(
            base: base, local: local, listed: [.root], roots: [top: .root],
            sidecars: [path("a"): id(2), path("b"): id(3)])
        #expect(plan.changes.map(text) == ["place 2 a in 0", "place 3 b in 0", "delete 1"])
    }
}
