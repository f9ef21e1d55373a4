import Foundation
import ShoeboxFormat
import ShoeboxModel
import ShoeboxStore

/// A change as it is kept until the rest of its transaction arrives.
func encodePart(_ change: Change) -> [UInt8] { ChangeCoder.encode(change) }

/// The change of a kept part.
func decodeParts(_ data: Data) throws -> [Change] {
    do { return [try ChangeCoder.decode(Array(data))] } catch {
        throw StoreError("a part of a transaction does not decode: \(error)")
    }
}

extension UInt128 {
    /// Sixteen bytes, for a column.
    var bigEndianColumn: [UInt8] { RecordName(self).bytes }
}
