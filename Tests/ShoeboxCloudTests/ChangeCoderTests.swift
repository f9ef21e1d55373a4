import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import Testing

/// Random changes of every shape.
struct RandomChanges {
    var random: Seeded

    mutating func digest() -> Digest32 { Digest32(high: wide(), low: wide()) }
    mutating func wide() -> UInt128 { UInt128(random.next()) << 64 | UInt128(random.next()) }
    mutating func dot() -> Dot { Dot(replica: ReplicaID(wide()), counter: random.next() | 1) }

    mutating func value(depth: Int = 0) -> Value {
        switch Int.random(in: 0..<(depth < 4 ? 11 : 9), using: &random) {
        case 0: .null
        case 1: .boolean(random.next() & 1 == 0)
        case 2: .integer(Int64(bitPattern: random.next()))
        case 3: .number([0, -0.0, 1.5, .infinity, -.greatestFiniteMagnitude][Int(random.next() % 5)])
        case 4: .text(["", "Lake", "café", "cafe\u{301}", "🏔"][Int(random.next() % 5)])
        case 5: .bytes(random.bytes(Int(random.next() % 20)))
        case 6: .name(FileName(bytes: [0xff, 0xfe, UInt8(random.next() % 40 + 0x30)]) ?? FileName("a")!)
        case 7: .reference(RecordName(wide()))
        case 8:
            .asset(
                AssetReference(
                    contentHash: digest(), size: random.next(), location: random.next() & 1 == 0 ? nil : "ab/cd",
                    key: random.next() & 1 == 0 ? [] : random.bytes(32)))
        default: .list((0..<Int(random.next() % 4)).map { _ in value(depth: depth + 1) })
        }
    }

    mutating func change() -> Change {
        let action: Change.Action
        switch random.next() % 4 {
        case 0: action = .delete
        case 1: action = .moved(to: ZoneID(digest()))
        default:
            var fields: [FieldKey: Value] = [:]
            for index in 0..<Int(random.next() % 6) { fields[.custom("k\(index)")] = value() }
            action = .set(fields)
        }
        return Change(
            record: RecordName(wide() | 1),
            type: [.photo, .file, RecordType(rawValue: "Memo")][Int(random.next() % 3)],
            dot: dot(), context: VersionVector((0..<Int(random.next() % 5)).map { _ in dot() }),
            timestamp: HybridTimestamp(
                wallMilliseconds: random.next(), counter: UInt16(truncatingIfNeeded: random.next()),
                replica: ReplicaID(wide())), author: AccountID(digest()), action: action,
            isDerived: random.next() & 1 == 0, movedFrom: random.next() & 1 == 0 ? ZoneID(digest()) : nil,
            forwards: random.next() & 1 == 0 ? dot() : nil)
    }
}

struct ChangeCoderTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `a change survives encoding, and equal changes give equal bytes`(seed: UInt64) throws {
        var random = RandomChanges(random: Seeded(seed))
        let change = random.change()
        let bytes = ChangeCoder.encode(change)
        let decoded = try ChangeCoder.decode(bytes)
        #expect(decoded == change)
        #expect(ChangeCoder.encode(decoded) == bytes)
    }

    @Test func `negative zero and NaN keep their bits`() throws {
        for number in [-0.0, Double.nan, Double.leastNonzeroMagnitude] {
            var random = RandomChanges(random: Seeded(3))
            var change = random.change()
            change.action = .set([.value: .number(number)])
            guard case .set(let fields) = try ChangeCoder.decode(ChangeCoder.encode(change)).action,
                case .number(let back) = fields[.value]
            else {
                Issue.record("the number is gone")
                continue
            }
            #expect(back.bitPattern == number.bitPattern)
        }
    }

    /// Ways to make a message wrong, each in one field.
    static let faults: [(name: String, apply: @Sendable (inout WireChange) -> Void)] = [
        ("no record", { $0.record = .init() }),
        ("long record", { $0.record.append(1) }),
        ("the zone's root", { $0.record = .init(repeating: 0, count: 16) }),
        ("no type", { $0.type = "" }),
        ("no dot", { $0.clearDot() }),
        ("counter 0", { $0.dot.counter = 0 }),
        ("short replica", { $0.dot.replica.removeLast() }),
        ("no timestamp", { $0.clearTimestamp() }),
        ("large logical counter", { $0.timestamp.counter = 65_536 }),
        ("short author", { $0.author.removeLast() }),
        ("no action", { $0.action = nil }),
        ("delete false", { $0.delete = false }),
        ("short destination", { $0.movedTo = .init(repeating: 1, count: 31) }),
        ("short origin", { $0.movedFrom = .init(repeating: 1, count: 31) }),
        ("context twice", { $0.context = [$0.dot, $0.dot] }),
        ("context counter 0", { $0.context = [dot { $0.replica = .init(repeating: 1, count: 16) }] }),
        ("field twice", { $0.set.fields = [field(value { $0.null = true }), field(value { $0.null = true })] }),
        ("field without value", { $0.set.fields = [field(WireValue())] }),
        ("field without name", { $0.set.fields = [field(value { $0.null = true }, "")] }),
        ("name with a slash", { $0.set.fields = [field(value { $0.name = .init("a/b".utf8) })] }),
        ("name of dots", { $0.set.fields = [field(value { $0.name = .init("..".utf8) })] }),
        ("short reference", { $0.set.fields = [field(value { $0.reference = .init([1]) })] }),
        ("short asset hash", { $0.set.fields = [field(value { $0.asset.contentHash = .init([1]) })] }),
        (
            "short asset key",
            {
                $0.set.fields = [
                    field(
                        value {
                            $0.asset.contentHash = .init(repeating: 1, count: 32)
                            $0.asset.key = .init([1])
                        })
                ]
            }
        ),
        (
            "deep list",
            {
                $0.set.fields = [field(nested(40))]
            }
        ),
    ]

    static func field(_ value: WireValue, _ key: String = "k") -> WireField {
        var field = WireField()
        field.key = key
        field.value = value
        return field
    }

    static func value(_ fill: (inout WireValue) -> Void) -> WireValue {
        var value = WireValue()
        fill(&value)
        return value
    }

    static func dot(_ fill: (inout WireDot) -> Void) -> WireDot {
        var dot = WireDot()
        fill(&dot)
        return dot
    }

    static func nested(_ depth: Int) -> WireValue {
        (0..<depth).reduce(value { $0.null = true }) { inner, _ in value { $0.list.values = [inner] } }
    }

    @Test(arguments: faults.indices)
    func `a change with one wrong field is refused`(index: Int) throws {
        var random = RandomChanges(random: Seeded(11))
        var change = random.change()
        change.action = .set([.caption: .text("a")])
        var wire = change.wire
        #expect((try? Change(wire: wire)) == change)
        Self.faults[index].apply(&wire)
        #expect(throws: FormatError.self, "\(Self.faults[index].name)") { try Change(wire: wire) }
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `damaged bytes never trap, and decode to a change or to an error`(seed: UInt64) {
        var random = RandomChanges(random: Seeded(seed))
        var bytes = ChangeCoder.encode(random.change())
        for _ in 0..<20 {
            bytes[Int(random.random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.random.next())
            if let change = try? ChangeCoder.decode(bytes) {
                #expect((try? ChangeCoder.decode(ChangeCoder.encode(change))) != nil)
            }
            _ = try? ChangeCoder.decode(random.random.bytes(Int(random.random.next() % 100)))
        }
    }
}
