import Foundation
import Shoebox
import ShoeboxCloud
import ShoeboxFormat
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// Content that a participant may write, and that makes no sense or means harm.
@Suite struct HostileRecordTests {
    /// No replica has a file outside of the folders that it may write, or anything but what is expected.
    private func expectNoEscape(_ party: Party) {
        for replica in [party.alice, party.carol] {
            for root in RootKind.allCases {
                for path in replica.tree(root, sidecars: true).keys {
                    #expect(
                        !path.split(separator: "/").contains("..") && !path.hasPrefix("/") && !path.hasPrefix("etc"),
                        "\(replica.label): \(path)")
                }
            }
        }
    }

    /// Names that no file may have, each of two bytes, since that is how long the name is that they replace.
    @Test(arguments: [Array("..".utf8), Array("a/".utf8), Array("/a".utf8), [0x61, 0x00], []])
    func `a record with a name that leaves its folder is refused with its segment`(name: [UInt8]) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        var wire = try forger.photo("QQ", "escaped").wire
        for index in wire.set.fields.indices where wire.set.fields[index].key == "name" {
            wire.set.fields[index].value.name = Data(name)
        }
        let path = try forger.send(wire: [wire])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        #expect(party.alice.problems.contains { $0.path == path.description }, "\(party.alice.problems)")
        try party.expectGoesOn()
        expectNoEscape(party)
    }

    @Test func `a record named as the root of the zone is refused`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send([
            forger.change(.zoneRoot, .folder, .set([.name: .name(try "root".fileName), .parent: .null]))
        ])
        try party.village.meet()
        party.expectShown()
        party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        try party.expectGoesOn()
    }

    @Test func `folders that are each other's parents show, and so does what is in them`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let (left, right) = (RecordName(1_001), RecordName(1_002))
        var inside = try forger.photo("inside.jpg", "inside")
        if case .set(var fields) = inside.action {
            fields[.parent] = .reference(left)
            inside.action = .set(fields)
        }
        try forger.send([
            forger.change(left, .folder, .set([.name: .name(try "left".fileName), .parent: .reference(right)])),
            forger.change(right, .folder, .set([.name: .name(try "right".fileName), .parent: .reference(left)])),
            forger.change(
                RecordName(1_003), .folder,
                .set([.name: .name(try "self".fileName), .parent: .reference(RecordName(1_003))])),
            inside,
        ])
        try party.village.meet()
        let shown = party.alice.tree(.library).filter { $0.value == "inside" }.keys.sorted()
        #expect(shown.count == 1 && shown[0].hasPrefix("Summer/"), "\(party.alice.tree(.library))")
        #expect(
            party.carol.tree(.shared).filter { $0.value == "inside" }.keys.map { $0.dropFirst("alice/".utf8.count) }
                == shown.map { $0[...] })
        #expect(try party.village.settle())
    }

    /// Values of the wrong kind, absurd numbers, places that no asset has.
    enum Nonsense: String, CaseIterable {
        case nameIsText, parentIsMissing, parentIsPhoto, noContent, hugeSize, locationEscapes, locationAbsolute
        case wrongHash, wrongKey, pendingForever, folderWithContent, unknownType, timeAtTheEnd, timesOfAllEnds
    }

    @Test(arguments: Nonsense.allCases)
    func `a record that makes no sense harms nothing else`(kind: Nonsense) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        var asset = try forger.upload(Array("odd".utf8))
        var fields: [FieldKey: Value] = [.name: .name(try "odd.jpg".fileName), .parent: .null]
        var type = RecordType.photo
        var time: UInt64 = 1_900_000_000_000
        switch kind {
        case .nameIsText: fields[.name] = .text("../odd.jpg")
        case .parentIsMissing: fields[.parent] = .reference(RecordName(4_711))
        case .parentIsPhoto:
            let a = try party.alice.store.read { db in try db.files(in: party.zone).first?.id.name }
            fields[.parent] = .reference(try #require(a))
        case .noContent: break
        case .hugeSize: asset.size = .max
        case .locationEscapes: asset.location = "../../etc/passwd"
        case .locationAbsolute: asset.location = "/etc/passwd"
        case .wrongHash: asset.contentHash = Digest32(high: 3, low: 4)
        case .wrongKey: asset.key = [1, 2, 3]
        case .pendingForever: (asset.location, asset.key) = (nil, [])
        case .folderWithContent: type = .folder
        case .unknownType: type = RecordType(rawValue: "Hologram")
        case .timeAtTheEnd: time = .max
        case .timesOfAllEnds: fields[.modified] = .integer(.min)
        }
        if kind != .noContent { fields[.content] = .asset(asset) }
        try forger.send([forger.change(RecordName(2_001), type, .set(fields), at: time)])
        try party.village.meet()
        try party.alice.machine.library.write("Summer/later.jpg", "later")
        try party.carol.machine.shared.write("alice/Summer/hers.jpg", "hers")
        try party.village.pass(8)
        var hers = party.alice.tree(.library)
        var carols = party.carol.tree(.shared)
        // Where it can be shown at all, it is, with its bytes; nothing else is different.
        let odd = hers.filter { $0.value == "odd" || $0.key.contains("odd") }.keys
        for path in odd {
            #expect(hers[path] == "odd" && path.hasPrefix("Summer/"))
            hers[path] = nil
            #expect(carols["alice/" + path] == "odd")
            carols["alice/" + path] = nil
        }
        #expect(
            hers == [
                "Private/c.jpg": "ccc", "Summer/a.jpg": "aaa", "Summer/deep/b.jpg": "bbb", "Summer/later.jpg": "later",
                "Summer/hers.jpg": "hers",
            ])
        #expect(
            carols == [
                "alice/Summer/a.jpg": "aaa", "alice/Summer/deep/b.jpg": "bbb", "alice/Summer/later.jpg": "later",
                "alice/Summer/hers.jpg": "hers",
            ])
        expectNoEscape(party)
        switch kind {
        case .wrongKey: party.expectNamed("segmentDamaged", by: [party.alice, party.carol])
        case .hugeSize: party.expectNamed("refused", by: [party.alice, party.carol])
        case .locationEscapes, .locationAbsolute, .wrongHash:
            party.expectNamed("contentDamaged", by: [party.alice, party.carol])
        case .pendingForever: party.expectNamed("contentMissing", by: [party.alice, party.carol])
        case .timesOfAllEnds, .timeAtTheEnd: #expect(odd.count == 1)
        default: break
        }
    }

    @Test(arguments: [
        "..", "a/b", "/etc/passwd", "", "new\nline", "\u{0}", ".", ".hidden", String(repeating: "x", count: 5_000),
    ])
    func `a tag of any name leaves no file where none may be`(title: String) throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try #require(try party.alice.store.read { db in try db.files(in: party.zone).first?.id.name })
        let tag = RecordName(3_001)
        try forger.send([
            forger.change(tag, .tag, .set([.title: .text(title)])),
            forger.change(
                RecordName(3_002), .photoTag,
                .set([.photo: .reference(photo), .tag: .reference(tag), .member: .boolean(true)])),
            forger.change(RecordName(3_003), .rating, .set([.photo: .reference(photo), .value: .integer(.max)])),
            forger.change(photo, .photo, .set([.caption: .text("\u{0}\u{1b}[31m/../x")])),
        ])
        try party.village.meet()
        party.expectShown()
        expectNoEscape(party)
        try party.expectGoesOn()
    }

    @Test func `a name that the local disk refuses is reported and everything else goes on`() throws {
        let party = try Party(bob: "readWrite")
        party.alice.machine.library.setRefusedNameBytes([UInt8(ascii: ":")])
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        try forger.send([try forger.photo("12:30.jpg", "noon"), try forger.photo("fine.jpg", "fine")])
        try party.village.meet()
        #expect(party.alice.tree(.library)["Summer/fine.jpg"] == "fine")
        #expect(!party.alice.tree(.library).values.contains("noon"))
        party.expectNamed("notApplied", by: [party.alice])
        #expect(party.carol.tree(.shared)["alice/Summer/12:30.jpg"] == "noon")
        party.alice.machine.library.setRefusedNameBytes([])
        try party.village.meet()
        #expect(party.alice.tree(.library)["Summer/12:30.jpg"] == "noon")
        #expect(party.alice.problems.isEmpty, "\(party.alice.problems)")
    }

    @Test func `a participant's claim to have seen the future takes no later edit with it`() throws {
        let party = try Party(bob: "readWrite")
        let forger = try Forger(party.bob, zone: party.zone, in: party.village)
        let photo = try #require(
            try party.alice.store.read { db in try db.files(in: party.zone).first { $0.name?.text == "a.jpg" }?.id.name
            })
        let future = VersionVector([
            Dot(replica: party.alice.identity.replica, counter: 1 << 40),
            Dot(replica: party.carol.identity.replica, counter: 1 << 40),
        ])
        try forger.send([forger.change(photo, .photo, .delete, context: future)])
        try party.village.meet()
        // Alice edits what is gone by putting it back: it is there for everybody.
        try party.alice.machine.library.write("Summer/a.jpg", "again")
        try party.village.pass(14)
        #expect(party.alice.tree(.library)["Summer/a.jpg"] == "again")
        #expect(party.carol.tree(.shared)["alice/Summer/a.jpg"] == "again")
    }
}
