import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel
import Testing

@testable import ShoeboxCloud

struct SegmentShapeTests {
    /// A field of this number that holds these bytes.
    private static func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        var (result, count) = ([number << 3 | 2], bytes.count)
        while count > 127 {
            result.append(UInt8(count & 127) | 128)
            count >>= 7
        }
        return result + [UInt8(count)] + bytes
    }

    private static func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        Array([[UInt8]](repeating: bytes, count: count).joined())
    }

    /// A body with so many small parts of one kind.
    enum Part: CaseIterable {
        case transactions, changes, dots, fields, values, nested, packedNumbers, numbers

        func body(_ count: Int) -> [UInt8] {
            func inChange(_ bytes: [UInt8]) -> [UInt8] { field(1, field(3, bytes)) }
            func inList(_ bytes: [UInt8]) -> [UInt8] { inChange(field(7, field(1, field(2, field(10, bytes))))) }
            return switch self {
            case .transactions: repeated(field(1, []), count)
            case .changes: field(1, repeated(field(3, []), count))
            case .dots: inChange(repeated(field(4, []), count))
            case .fields: inChange(field(7, repeated(field(1, []), count)))
            case .values: inList(repeated(field(1, []), count))
            case .nested: inList(repeated(field(1, field(10, field(1, []))), count / 3 + 1))
            case .packedNumbers: field(1, field(4, repeated([1], count)))
            case .numbers: field(1, repeated([4 << 3, 1], count))
            }
        }
    }

    @Test(arguments: Part.allCases)
    func `a body of more messages than any segment has is refused before memory is taken for them`(part: Part) throws {
        let most = SegmentShape.messagesMax
        #expect(!SegmentShape.isAffordable(part.body(most + 1)))
        #expect(code { _ = try SegmentCoder.parseBody(part.body(most + 1)) } == .damaged)
        #expect(SegmentShape.isAffordable(part.body(most - 10)))
    }

    @Test func `what is no message at all is for the parser to refuse`() {
        for bytes in [[0x0a], [0x0a, 5, 1], [0xff], Array(repeating: 0xff, count: 20)] as [[UInt8]] {
            #expect(SegmentShape.isAffordable(bytes))
            #expect(code { _ = try SegmentCoder.parseBody(bytes) } == .damaged)
        }
        // Groups, of which nobody could say how deep they go.
        #expect(!SegmentShape.isAffordable([0x0b, 0x0c]))
    }

    @Test func `a full segment is far from the most`() throws {
        let cast = try Cast()
        let changes = (1...UInt64(SegmentBuilder.changesMax)).map { cast.change(cast.ann, $0) }
        let encoded = try SegmentCoder.encode(
            [SegmentTransaction(id: 1, changes: changes)], zone: cast.folder.zone, after: .start, isSealed: true,
            keyring: cast.annRing, identity: cast.ann, randomBytes: cast.source.bytes)
        let file = try SegmentFile(encoded.bytes, zone: cast.folder.zone, replica: cast.ann.replica)
        let segment = try file.open(replica: cast.ann.replica, keyring: cast.annRing, isSealed: true)
        #expect(segment.transactions.flatMap(\.changes) == changes)
    }

    @Test func `a change that nobody could read is not published`() throws {
        let cast = try Cast()
        var change = cast.change(cast.ann, 1)
        change.action = .set([.caption: .list([Value](repeating: .null, count: SegmentShape.messagesMax))])
        #expect(
            code {
                _ = try SegmentCoder.encode(
                    [SegmentTransaction(id: 1, changes: [change])], zone: cast.folder.zone, after: .start,
                    isSealed: true, keyring: cast.annRing, identity: cast.ann, randomBytes: cast.source.bytes)
            } == .invalid)
    }
}
