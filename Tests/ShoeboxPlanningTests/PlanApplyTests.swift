import ShoeboxModel
import ShoeboxPlanning
import Testing

@Suite struct PlanApplyTests {
    /// One situation: what is there, what is wanted, and the steps as text.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var base: [BaseEntry]
        var records: [PlacedRecord]
        var scope: Set<RecordID>?
        var parked: Set<RecordID>
        var steps: [String]
        init(
            _ name: String, base: [BaseEntry], records: [PlacedRecord], scope: Set<RecordID>? = nil,
            parked: Set<RecordID> = [], _ steps: [String]
        ) {
            testDescription = name
            (self.base, self.records, self.scope, self.parked, self.steps) = (base, records, scope, parked, steps)
        }
    }

    @Test(arguments: [
        Case("nothing to do", base: [entry(1, "a")], records: [file(1, "a")], []),
        Case("a rename", base: [entry(1, "a")], records: [file(1, "b")], ["move 1 a b"]),
        Case(
            "a new folder comes before what is in it", base: [], records: [folder(1, "d"), file(2, in: id(1), "a")],
            ["mkdir 1 d", "write 2 d/a 2 new"]),
        Case(
            "new bytes replace what has the known stamp", base: [entry(1, "a")], records: [file(1, "a", content: 9)],
            ["write 1 a 9 over"]),
        Case(
            "renamed and with new bytes", base: [entry(1, "a")], records: [file(1, "b", content: 9)],
            ["move 1 a b", "write 1 b 9 over"]),
        Case(
            "a renamed directory is one step", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            records: [folder(1, "e"), file(2, in: id(1), "a")], ["move 1 d e"]),
        Case(
            "a swap goes by parking", base: [entry(1, "a"), entry(2, "b")], records: [file(1, "b"), file(2, "a")],
            ["park 1 a", "move 2 b a", "unpark 1 b"]),
        Case(
            "a chain needs no parking", base: [entry(1, "a"), entry(2, "b"), entry(3, "c")],
            records: [file(1, "b"), file(2, "c"), file(3, "d")], ["move 3 c d", "move 2 b c", "move 1 a b"]),
        Case(
            "a directory turned inside out", base: [entry(1, "d/"), entry(2, "d/e/", in: id(1))],
            records: [folder(2, "d"), folder(1, in: id(2), "e")],
            ["park 2 d/e", "park 1 d", "unpark 2 d", "unpark 1 d/e"]),
        Case(
            "files are removed before their directories",
            base: [
                entry(1, "d/"), entry(2, "d/e/", in: id(1)), entry(3, "d/e/a", in: id(2)),
            ], records: [], ["trash 3 d/e/a", "rmdir 2 d/e", "rmdir 1 d"]),
        Case(
            "what stays leaves a directory before it goes", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            records: [file(2, "a")], ["move 2 d/a a", "rmdir 1 d"]),
        Case(
            "a file takes the place of its directory", base: [entry(1, "x/"), entry(2, "x/x", in: id(1))],
            records: [file(2, "x")], ["park 2 x/x", "rmdir 1 x", "unpark 2 x"]),
        Case(
            "what is out of scope is not touched", base: [entry(1, "a"), entry(2, "b")], records: [file(2, "c")],
            scope: [id(2)], ["move 2 b c"]),
        Case(
            "a place that something else keeps is not taken", base: [entry(1, "a"), entry(2, "b")],
            records: [file(2, "a")], scope: [id(2)], []),
        Case(
            "a directory with something dormant in it stays", base: [entry(1, "d/"), entry(2, "d/a", in: id(1))],
            records: [file(2, in: id(99), "a")], []),
        Case(
            "a parked thing goes where it belongs", base: [entry(1, ".parked/1")], records: [file(1, "a")],
            parked: [id(1)], ["unpark 1 a"]),
        Case(
            "a parked thing that is gone comes back first", base: [entry(1, "a")], records: [], parked: [id(1)],
            ["unpark 1 a"]),
        Case(
            "a parked directory that is gone comes back beside what has its place by now",
            base: [entry(1, "d/"), entry(2, "d/a", in: id(1)), entry(3, "d/"), entry(4, "d (2)")],
            records: [folder(3, "d"), file(4, "d (2)")], parked: [id(1)], ["unpark 1 d (3)"]),
        Case(
            "a parked directory that is gone comes back at the top if its folder is gone, too",
            base: [entry(1, "e/d/", in: id(5)), entry(2, "e/d/a", in: id(1))], records: [], parked: [id(1)],
            ["unpark 1 d"]),
        Case(
            "a directory that was put aside with what it is to go into comes back first",
            base: [entry(1, "d/"), entry(2, "d/a/", in: id(1)), entry(3, "d/b", in: id(1))],
            records: [folder(2, "d"), folder(1, in: id(2), "c"), file(3, in: id(1), "b")], parked: [id(1)],
            ["unpark 1 d", "park 2 d/a", "park 1 d", "unpark 2 d", "unpark 1 d/c"]),
        Case(
            "what lies in a parked directory waits for it",
            base: [entry(1, ".parked/"), entry(2, ".parked/a", in: id(1))],
            records: [folder(1, "d"), file(2, "b")], parked: [id(1)], ["unpark 1 d", "move 2 d/a b"]),
        Case(
            "the file of a twin is its representative's", base: [entry(2, "a", content: 7)],
            records: [file(1, "a", at: 1, content: 7), file(2, "a", at: 2, content: 7)], []),
        Case(
            "a folder that became another's twin gives up what it holds",
            base: [entry(1, "d/"), entry(2, "e/"), entry(3, "e/a", in: id(2))],
            records: [folder(1, "d"), folder(2, "d"), file(3, in: id(2), "a")], ["move 3 e/a d/a", "rmdir 2 e"]),
        Case(
            "the directory of a merged folder is its representative's",
            base: [entry(2, "d/"), entry(3, "d/a", in: id(2))],
            records: [folder(1, "d"), folder(2, "d"), file(3, in: id(2), "a")], []),
    ])
    func `the steps are those that are needed, in an order that works`(_ situation: Case) {
        let operations = planApply(
            base: situation.base, desired: layOut(situation.records, roots: [top]), roots: [top: .root],
            scope: situation.scope, parked: situation.parked)
        #expect(operations.map(text) == situation.steps)
    }

    @Test func `pending content writes nothing and replaces nothing`() {
        var pending = [file(1, "a"), file(2, "b")]
        for index in pending.indices { pending[index].contentHash = nil }
        let operations = planApply(
            base: [entry(1, "a")], desired: layOut(pending, roots: [top]), roots: [top: .root])
        #expect(operations.isEmpty)
    }

    @Test func `roots may lie anywhere in the watched root`() {
        let mount = id(0, in: 2)
        var photo = file(5, in: mount, "a.jpg")
        photo.parent = mount
        let layout = layOut([photo], roots: [mount])
        let operations = planApply(base: [], desired: layout, roots: [mount: path("ann/Trip")])
        #expect(operations.map(text) == ["write 5 ann/Trip/a.jpg 5 new"])
    }

    private func text(_ operation: FileOperation) -> String {
        func number(_ id: RecordID) -> String { "\(id.name.value)" }
        return switch operation {
        case .makeDirectory(let id, let path): "mkdir \(number(id)) \(path)"
        case .move(let id, let from, let to): "move \(number(id)) \(from) \(to)"
        case .park(let id, let from): "park \(number(id)) \(from)"
        case .unpark(let id, let to): "unpark \(number(id)) \(to)"
        case .write(let id, let path, let hash, let replacing):
            "write \(number(id)) \(path) \(hash.low) " + (replacing == nil ? "new" : "over")
        case .remove(let id, let path, _): "trash \(number(id)) \(path)"
        case .removeDirectory(let id, let path): "rmdir \(number(id)) \(path)"
        }
    }
}
