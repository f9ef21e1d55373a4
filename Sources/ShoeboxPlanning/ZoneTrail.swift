public import ShoeboxModel

/// What is known of the ways by which a record came from zone to zone: by what it says in each zone of where it came from, and where
/// it went. The new zone is told before the old one, and zones are read in any order: each half may be known without the other.
public struct ZoneTrail {
    /// An arrival, as the zone tells that it came to. Changes that whoever owns both zones carried along tell nothing.
    struct Arrival: Hashable {
        var from: ZoneID
        var to: ZoneID
        /// Whether somebody else brought it, so without the dots that it had.
        var isAnew: Bool
        /// Whether the zone that it came from says so, too; or it is back there since, brought by who knew of that.
        var isTold: Bool
    }

    private struct Mark: Hashable {
        var from: ZoneID
        var to: ZoneID
        var isOthers: Bool
    }

    private let arrivals: Set<Arrival>
    private let marks: Set<Mark>
    private let read: Set<ZoneID>

    /// The trail of one record.
    ///
    /// - Parameters:
    ///   - changes: all accepted changes of it, in each zone that has any.
    ///   - account: who carries changes along with their dots.
    public init(_ changes: [ZoneID: [Change]], of account: AccountID) {
        read = Set(changes.filter { !$0.value.isEmpty }.keys)
        let known = changes.mapValues { Set($0.map(\.identity)) }
        var arrivals: Set<Arrival> = []
        var marks: Set<Mark> = []
        for (zone, here) in changes {
            for change in here {
                if case .moved(let destination) = change.action, destination != zone {
                    marks.insert(Mark(from: zone, to: destination, isOthers: change.author != account))
                }
                guard let from = change.movedFrom, change.forwards == nil, from != zone,
                    known[from]?.contains(change.identity) != true
                else { continue }
                arrivals.insert(
                    Arrival(
                        from: from, to: zone, isAnew: change.author != account,
                        isTold: Self.isTold(change, to: zone, in: changes[from] ?? [])))
            }
        }
        (self.arrivals, self.marks) = (arrivals, marks)
    }

    /// Whether a zone says of an arrival in another one that the record left it by that, or has come back.
    private static func isTold(_ arrival: Change, to zone: ZoneID, in old: [Change]) -> Bool {
        old.contains { change in
            if change.movedFrom != nil { return change.context.contains(arrival.identity) }
            guard change.action == .moved(to: zone) else { return false }
            if change.dot.replica == arrival.dot.replica, change.dot.counter > arrival.dot.counter { return true }
            // A device that had to take another name has given one to the mark, too.
            if change.author == arrival.author, change.timestamp == arrival.timestamp { return true }
            return change.context.contains(arrival.identity)
        }
    }

    /// Where the record went from each zone that does not say so yet.
    public var untold: [ZoneID: Set<ZoneID>] {
        arrivals.filter { !$0.isTold }.reduce(into: [:]) { $0[$1.from, default: []].insert($1.to) }
    }

    /// Whether the zone that a record went to from another one tells so.
    public func hasArrived(in zone: ZoneID, from: ZoneID) -> Bool {
        arrivals.contains { $0.from == from && $0.to == zone }
    }

    /// By what zones a record came from one to another.
    public struct Way: Hashable, Sendable {
        /// The zones on all ways that lead to the last one.
        public var zones: Set<ZoneID>
        /// Whether the first one is among them.
        public var isReached = false
        /// Whether it went along without the dots that it had in the first zone, and that zone does not tell yet what went.
        public var isUntold = false
        /// Whether it may have come so from anywhere: one way begins in a zone that can't be read, and nothing leads to that.
        public var mayBeFromAnywhere = false
    }

    /// The ways to a zone, as far as is known. Of a zone that can't be read only the marks of others tell where it came from to that.
    ///
    /// - Parameters:
    ///   - isAnew: whether what comes to the last zone is always written anew there, as in one of somebody else.
    public func way(from zone: ZoneID, to home: ZoneID, isAnew: Bool) -> Way {
        struct Step: Hashable {
            var zone: ZoneID
            var isAnew: Bool
        }
        var way = Way(zones: [home])
        var steps: Set<Step> = [Step(zone: home, isAnew: isAnew)]
        var queue = Array(steps)
        while let step = queue.popLast() {
            let edges =
                arrivals.filter { $0.to == step.zone }
                + marks.filter { $0.to == step.zone }
                .map { Arrival(from: $0.from, to: $0.to, isAnew: $0.isOthers, isTold: true) }
            if edges.isEmpty, step.isAnew, !read.contains(step.zone) { way.mayBeFromAnywhere = true }
            for edge in edges {
                let isAnew = step.isAnew || edge.isAnew
                way.zones.insert(edge.from)
                guard edge.from != zone else {
                    way.isReached = true
                    if isAnew, !edge.isTold { way.isUntold = true }
                    continue
                }
                let next = Step(zone: edge.from, isAnew: isAnew)
                if steps.insert(next).inserted { queue.append(next) }
            }
        }
        return way
    }
}
