/// A point in the order of edits that every replica agrees on.
///
/// Values order by `wallMilliseconds`, then `counter`, then `replica`, so two edits never tie. The update rule is that
/// of hybrid logical clocks (Kulkarni et al., *Logical Physical Clocks*, 2014), bounded as `HybridClock` says.
public struct HybridTimestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    public let wallMilliseconds: UInt64
    /// Edits within one millisecond, from 0.
    public let counter: UInt16
    /// The replica that made the edit.
    public let replica: ReplicaID

    /// A timestamp from its parts.
    public init(wallMilliseconds: UInt64, counter: UInt16, replica: ReplicaID) {
        self.wallMilliseconds = wallMilliseconds
        self.counter = counter
        self.replica = replica
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.wallMilliseconds, left.counter, left.replica) < (right.wallMilliseconds, right.counter, right.replica)
    }
}

/// The clock that stamps a replica's edits; a received timestamp moves it at most ten minutes past the wall clock.
public struct HybridClock: Hashable, Sendable {
    /// How far ahead of the own wall clock another's timestamp may pull this one.
    public static let aheadMillisecondsMax: UInt64 = 600_000

    /// The milliseconds of the latest timestamp made.
    public private(set) var wallMilliseconds: UInt64
    /// The counter of the latest timestamp made.
    public private(set) var counter: UInt16

    /// A clock that continues after the given state, both 0 for a new one.
    public init(wallMilliseconds: UInt64 = 0, counter: UInt16 = 0) {
        self.wallMilliseconds = wallMilliseconds
        self.counter = counter
    }

    /// The next timestamp, greater than all that this clock made before whatever the wall clock does.
    ///
    /// A stored state further ahead than the bound (a clock that once ran years fast) is kept: only siblings are
    /// decided by clocks, so nothing is lost, and order within the replica never goes back.
    public mutating func next(nowMilliseconds: UInt64, replica: ReplicaID) -> HybridTimestamp {
        if nowMilliseconds > wallMilliseconds {
            wallMilliseconds = nowMilliseconds
            counter = 0
        } else if counter == .max {
            wallMilliseconds = wallMilliseconds == .max ? .max : wallMilliseconds + 1
            counter = 0
        } else {
            counter += 1
        }
        return HybridTimestamp(wallMilliseconds: wallMilliseconds, counter: counter, replica: replica)
    }

    /// Takes note of another replica's timestamp, bounded by ten minutes past the wall clock.
    public mutating func receive(_ timestamp: HybridTimestamp, nowMilliseconds: UInt64) {
        let (limit, overflow) = nowMilliseconds.addingReportingOverflow(Self.aheadMillisecondsMax)
        let bounded = overflow ? timestamp.wallMilliseconds : min(timestamp.wallMilliseconds, limit)
        guard bounded > wallMilliseconds || (bounded == wallMilliseconds && timestamp.counter > counter) else { return }
        wallMilliseconds = bounded
        counter = bounded == timestamp.wallMilliseconds ? timestamp.counter : 0
    }
}

/// The identity of one change: the replica that made it and its number there, counted over all of its zones from 1.
public struct Dot: Hashable, Comparable, Sendable {
    /// Who made the change.
    public var replica: ReplicaID
    /// Its number there, from 1.
    public var counter: UInt64
    /// The greatest counter that a change or a context may have: far more than anybody can make, with room above it.
    public static let counterMax: UInt64 = 1 << 62
    /// A dot from its parts.
    public init(replica: ReplicaID, counter: UInt64) {
        self.replica = replica
        self.counter = counter
    }
    public static func < (left: Self, right: Self) -> Bool {
        (left.replica, left.counter) < (right.replica, right.counter)
    }
}

/// For each replica the highest counter seen; as a context, what the author of a change was shown of that record.
public struct VersionVector: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// Sorted by replica, each once, counters at least 1.
    public private(set) var entries: [Dot]

    /// The empty vector: nothing seen.
    public init() { entries = [] }
    /// A vector with these counters; zeros are left out.
    public init(dictionaryLiteral elements: (ReplicaID, UInt64)...) { self.init(elements.map(Dot.init)) }
    /// The smallest vector that contains these dots.
    public init(_ dots: some Sequence<Dot>) {
        entries = []
        for dot in dots { insert(dot) }
    }

    /// The highest counter seen of a replica, 0 for none.
    public subscript(replica: ReplicaID) -> UInt64 { entries.first { $0.replica == replica }?.counter ?? 0 }
    /// Whether nothing was seen.
    public var isEmpty: Bool { entries.isEmpty }
    /// Whether this dot was seen.
    public func contains(_ dot: Dot) -> Bool { self[dot.replica] >= dot.counter }
    /// Whether all of the other's was seen.
    public func contains(_ other: VersionVector) -> Bool { other.entries.allSatisfy(contains) }

    /// Takes in one dot.
    public mutating func insert(_ dot: Dot) {
        guard dot.counter > 0 else { return }
        // What comes sorted, as from a file, takes one step each.
        if let last = entries.last, last.replica < dot.replica { return entries.append(dot) }
        let index = entries.firstIndex { $0.replica >= dot.replica } ?? entries.endIndex
        if index < entries.endIndex, entries[index].replica == dot.replica {
            entries[index].counter = max(entries[index].counter, dot.counter)
        } else {
            entries.insert(dot, at: index)
        }
    }

    /// Takes in all that the other has seen.
    public mutating func formUnion(_ other: VersionVector) {
        for dot in other.entries { insert(dot) }
    }

    /// What either has seen.
    public func union(_ other: VersionVector) -> VersionVector {
        var result = self
        result.formUnion(other)
        return result
    }

    /// This vector without that dot and later ones of its replica: as in a context, as a write never supersedes itself.
    public func below(_ dot: Dot) -> VersionVector {
        guard contains(dot) else { return self }
        var result = self
        for index in result.entries.indices where result.entries[index].replica == dot.replica {
            result.entries[index].counter = dot.counter &- 1
        }
        result.entries.removeAll { $0.counter == 0 }
        return result
    }
}
