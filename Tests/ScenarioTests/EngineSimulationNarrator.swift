import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport

@testable import Shoebox

/// Tells what changed on a simulated machine since it was last asked: its files, and the changes that its engine knows.
final class EngineSimulationNarrator {
    private let replica: Replica
    private var trees: [[String: [UInt8]]] = [[:], [:]]
    private var token: Int64 = 0
    private var people: [String: String] = [:]

    init(_ replica: Replica) { self.replica = replica }

    /// A line for each thing, given to `replica.narrate`.
    func tell(_ moment: String) {
        guard let narrate = replica.narrate else { return }
        let disks = [replica.machine.library, replica.machine.shared]
        for (index, name) in ["library", "shared"].enumerated() {
            let tree = disks[index].tree().filter { !$0.key.hasPrefix(".shoebox/root") }.mapValues(Self.short)
            for line in treeDifference(tree, trees[index]) { narrate("  \(moment) \(name) \(line)") }
            trees[index] = tree
        }
        for stored in (try? replica.store.read { db in try db.history(after: token, limit: .max) }) ?? [] {
            narrate("  \(moment) \(Self.text(stored))")
            token = max(token, stored.token)
        }
        for zone in replica.engine.zones.values where zone.row.kind == .share {
            let text = Self.people(of: zone.control)
            guard people.updateValue(text, forKey: zone.control.title) != text else { continue }
            narrate("  \(moment) people of '\(zone.control.title)': \(text)")
        }
    }

    private static func people(of control: Control) -> String {
        control.participants.values.sorted { $0.label < $1.label }
            .map { "\($0.label) \($0.takesPart ? "\($0.permission)" : "out") (\($0.generation))" }
            .joined(separator: ", ")
    }

    /// Texts as they are; of a photo its length and a sum of its bytes, which tell it from others.
    private static func short(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.count > 200 || !bytes.allSatisfy({ (0x09..<0x7f).contains($0) }) else {
            return bytes.filter { $0 >= 0x20 }
        }
        let sum = bytes.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return Array("\(bytes.count) bytes \(sum % 10_000)".utf8)
    }

    private static func text(_ stored: StoredChange) -> String {
        let change = stored.change
        let what: String
        switch change.action {
        case .delete: what = "deleted"
        case .moved(let zone): what = "moved to \("\(zone)".prefix(4))"
        case .set(let fields):
            what = fields.sorted { $0.key < $1.key }.map { key, value in
                let plain =
                    value.text ?? value.asset.map { "photo of \($0.size)" }
                    ?? "\(value)".replacing("ShoeboxModel.", with: "")
                return "\(key)=\(plain.prefix(60))"
            }.joined(separator: " ")
        }
        let marks = [change.isDerived ? "derived" : nil, stored.standing == .accepted ? nil : "\(stored.standing)"]
        return
            "\("\(stored.zone)".prefix(4)) \("\(change.record)".prefix(10)) \(change.type) \(what) dot \("\(change.dot.replica)".prefix(4)):\(change.dot.counter) \(marks.compactMap { $0 }.joined(separator: " "))"
    }
}
