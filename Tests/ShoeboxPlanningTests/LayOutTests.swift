import ShoeboxModel
import ShoeboxPlanning
import ShoeboxTestSupport
import Testing

@Suite struct LayOutTests {
    /// One rule: the records, what shows where, and the representative of each.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var records: [PlacedRecord]
        var shown: [String: RecordID]
        init(_ name: String, _ records: [PlacedRecord], _ shown: [String: RecordID]) {
            (testDescription, self.records, self.shown) = (name, records, shown)
        }
    }

    @Test(arguments: [
        Case(
            "folders of one place are one, and their children meet",
            [
                folder(2, "2024"), folder(1, "2024"), folder(4, in: id(2), "May"), folder(3, in: id(1), "May"),
                file(5, in: id(4), "a.jpg"), file(6, in: id(3), "b.jpg"),
            ],
            ["2024": id(1), "2024/May": id(3), "2024/May/a.jpg": id(5), "2024/May/b.jpg": id(6)]),
        Case(
            "a dead folder shows while it has a live child",
            [folder(1, "Trip", live: false), folder(2, in: id(1), "Day", live: false), file(3, in: id(2), "a.jpg")],
            ["Trip": id(1), "Trip/Day": id(2), "Trip/Day/a.jpg": id(3)]),
        Case(
            "a dead folder without one does not", [folder(1, "T", live: false), file(2, in: id(1), "a", live: false)],
            [:]),
        Case(
            "a folder made anew takes what showed in the dead one",
            [folder(1, "Trip", live: false), folder(2, "Trip"), file(3, in: id(1), "a.jpg")],
            ["Trip": id(2), "Trip/a.jpg": id(3)]),
        Case(
            "a folder beats a file for a name",
            [file(1, "x.jpg", at: 1), folder(2, "x.jpg", at: 9)], ["x.jpg": id(2), "x (bob).jpg": id(1)]),
        Case(
            "the older name keeps the place",
            [file(1, "IMG_1.jpg", at: 9), file(2, "IMG_1.jpg", at: 3)], ["IMG_1.jpg": id(2), "IMG_1 (bob).jpg": id(1)]),
        Case(
            "equal times go by record", [file(2, "a.jpg", at: 3), file(1, "a.jpg", at: 3)],
            ["a.jpg": id(1), "a (bob).jpg": id(2)]),
        Case(
            "a taken name is not free, and several get numbers",
            [
                file(1, "a.jpg", at: 1), file(2, "a.jpg", at: 2), file(3, "a.jpg", at: 3),
                file(4, "a (bob).jpg", at: 9),
            ],
            ["a.jpg": id(1), "a (bob 2).jpg": id(2), "a (bob 3).jpg": id(3), "a (bob).jpg": id(4)]),
        Case(
            "equal bytes at one place are one photo",
            [file(1, "a.jpg", at: 9, content: 7), file(2, "a.jpg", at: 3, content: 7)], ["a.jpg": id(2)]),
        Case(
            "a cycle shows at the root its folder with the greatest time",
            [folder(1, in: id(2), "X", at: 5), folder(2, in: id(1), "Y", at: 8), file(3, in: id(1), "a.jpg")],
            ["Y": id(2), "Y/X": id(1), "Y/X/a.jpg": id(3)]),
        Case("a folder in itself shows at the root", [folder(1, in: id(1), "X")], ["X": id(1)]),
        Case("an unknown parent is dormant with all below", [folder(1, in: id(9), "X"), file(2, in: id(1), "a")], [:]),
        Case("a file is no parent", [file(1, "a"), file(2, in: id(1), "b")], ["a": id(1)]),
        Case(
            "a mounted zone and a folder are never one",
            [
                folder(5, "Trip", at: 9), file(6, in: id(5), "mine.jpg"),
                folder(0, "Trip", at: 1, zone: 2), file(7, in: id(0, in: 2), "ours.jpg"),
            ],
            ["Trip": id(0, in: 2), "Trip/ours.jpg": id(7), "Trip (bob)": id(5), "Trip (bob)/mine.jpg": id(6)]),
        Case(
            "a zone mounted in its own folder goes to the top",
            [folder(0, in: id(3, in: 2), "S", zone: 2), folder(3, in: id(0, in: 2), "F", zone: 2)],
            ["S": id(0, in: 2), "S/F": id(3, in: 2)]),
    ])
    func `the tree is as the rules say, in any order`(_ rule: Case) {
        for seed in 0..<6 as Range<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let layout = layOut(rule.records.shuffled(using: &generator), roots: [top])
            #expect(shown(layout) == rule.shown)
        }
    }

    @Test func `redirects, twins, derived names, breaks and dormant records are reported`() {
        let layout = layOut(
            [
                folder(2, "F"), folder(1, "F"), file(3, "a.jpg", content: 7), file(4, "a.jpg", content: 7),
                file(5, "a.jpg", content: 8), folder(6, in: id(7), "X", at: 3), folder(7, in: id(6), "Y", at: 4),
                file(8, in: id(99), "lost.jpg"),
            ], roots: [top])
        #expect(layout.redirects == [id(2): id(1)])
        #expect(layout.nodes[id(1)]?.twins == [id(2)])
        #expect(layout.nodes[id(3)]?.twins == [id(4)])
        #expect(layout.derivedNames == [id(5): name("a (bob).jpg")])
        #expect(layout.cycleBreaks == [id(7)])
        #expect(layout.dormant == [id(8)])
    }

    @Test func `a label that is no file name is made one`() {
        let records = [file(1, "a.jpg", at: 1), file(2, "a.jpg", at: 2, by: "../e\u{0}v/il\n")]
        #expect(Set(shown(layOut(records, roots: [top])).keys) == ["a.jpg", "a (..-ev-il).jpg"])
    }

    @Test func `a name without room still gives way`() {
        let long = String(repeating: "x", count: 255)
        let dotted = "a." + String(repeating: "y", count: 253)
        for text in [long, dotted] {
            let layout = layOut([file(1, text, at: 1), file(2, text, at: 2)], roots: [top])
            #expect(Set(layout.nodes.values.map(\.name)).count == 2)
        }
    }

    /// One random write of a place by one replica.
    struct Move: Sendable, CustomStringConvertible {
        var record: Int
        var parent: Int
        var name: Int
        var wall: UInt64
        var description: String { "\(record) into \(parent) as \(name) at \(wall)" }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `any moves leave every live photo exactly one path, and one tree for all orders`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let moves = (0..<40).map { _ in
            Move(
                record: generator.below(24), parent: generator.below(13), name: generator.below(4),
                wall: UInt64(generator.below(1 << 40)))
        }
        let script = shrink(moves) { problem($0, seed: seed) != nil }
        #expect(problem(moves, seed: seed) == nil, "\(problem(script, seed: seed) ?? "") after \(script)")
    }

    /// Records 1…12 are folders, 13…24 files; what was not moved lies at the top.
    private func problem(_ moves: [Move], seed: UInt64) -> String? {
        var generator = SeededGenerator(seed: seed)
        var records = (1...12).map { folder($0, "f\($0 % 3)", live: $0 % 4 != 0) }
        records += (13...24).map { file($0, "p\($0 % 3)", at: UInt64($0), content: UInt8($0 / 2), live: $0 % 5 != 0) }
        for move in moves {
            records[move.record].parent = id(move.parent)
            records[move.record].parentStamp = stamp(at: move.wall)
            records[move.record].name = name((move.record < 12 ? "f" : "p") + "\(move.name)")
            records[move.record].nameStamp = stamp(at: move.wall, by: 2)
        }
        let layout = layOut(records, roots: [top])
        if layOut(records.shuffled(using: &generator), roots: [top]) != layout { return "depends on the order" }
        let all = paths(of: layout, roots: [top: .root])
        if Set(all.values).count != all.count { return "two nodes at one path" }
        for record in records where record.isLive {
            let places = layout.nodes.values.filter { $0.id == record.id || $0.twins.contains(record.id) }
            if places.count != 1 { return "\(record.id.name) shows \(places.count) times" }
            if all[places[0].id] == nil { return "\(record.id.name) has no path" }
            if record.kind == .file, places[0].contentHash != record.contentHash { return "wrong bytes" }
        }
        return layout.dormant.isEmpty ? nil : "dormant without reason"
    }

    @Test func `a part of the tree shows as in the whole`() {
        let folders = [folder(1, "A"), folder(2, in: id(1), "B"), folder(3, "C")]
        let files = [file(4, in: id(2), "a.jpg"), file(5, in: id(2), "a.jpg", at: 2), file(6, in: id(3), "c.jpg")]
        let whole = layOut(folders + files, roots: [top])
        let part = layOut(folders + files[..<2], roots: [top])
        for (id, node) in part.nodes { #expect(whole.nodes[id] == node) }
        #expect(part.nodes.count == whole.nodes.count - 1)
    }
}
