/// One write to one record: what an author did, and what of the record the author had been shown.
///
/// The state of a record is a pure function of the set of its accepted changes; see `RecordState`.
public struct Change: Hashable, Sendable {
    /// What a change does to its record.
    public enum Action: Hashable, Sendable {
        /// Writes these fields, all under the change's one dot.
        case set([FieldKey: Value])
        /// Marks the record as deleted; erases no value.
        case delete
        /// Says that the record lives in another zone now; not a deletion.
        case moved(to: ZoneID)
    }

    /// The record.
    public var record: RecordName
    /// Its kind; the same in every change of a record.
    public var type: RecordType
    /// The change's identity. A change carried over from another zone keeps its own.
    public var dot: Dot
    /// The dots of this record that the author was shown.
    public var context: VersionVector
    /// When, for the order among siblings.
    public var timestamp: HybridTimestamp
    /// Who.
    public var author: AccountID
    /// What.
    public var action: Action
    /// Whether the engine derived it; a derived write never revives, and any deletion covers it.
    public var isDerived: Bool
    /// The zone the record came from, on a change that was carried over.
    public var movedFrom: ZoneID?
    /// The dot in the old zone that this change repeats in the new one.
    public var forwards: Dot?

    /// A change from its parts.
    public init(
        record: RecordName, type: RecordType, dot: Dot, context: VersionVector = [:], timestamp: HybridTimestamp,
        author: AccountID, action: Action, isDerived: Bool = false, movedFrom: ZoneID? = nil, forwards: Dot? = nil
    ) {
        self.record = record
        self.type = type
        self.dot = dot
        self.context = context
        self.timestamp = timestamp
        self.author = author
        self.action = action
        self.isDerived = isDerived
        self.movedFrom = movedFrom
        self.forwards = forwards
    }

    /// The dot under which this change counts: that of the edit it forwards, else its own. Several forwards of one edit
    /// are one edit.
    public var identity: Dot { forwards ?? dot }

    /// The content that the change gives its record; nil for one that is about something else.
    public var content: AssetReference? {
        guard case .set(let fields) = action else { return nil }
        return fields[.content]?.asset
    }
}
