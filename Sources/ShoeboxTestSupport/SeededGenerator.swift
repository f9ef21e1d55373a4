/// A small seeded source of random numbers: the same seed gives the same numbers on every machine, for ever.
///
/// The generator is Steele, Lea and Flood's *SplitMix* (2014). Not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Hashable, Sendable {
    private var state: UInt64

    /// A generator that starts from a seed.
    public init(seed: UInt64) { state = seed }

    /// A generator for a named part of something seeded, independent of its other parts.
    public init(seed: UInt64, part: String) {
        var mixed = seed
        for byte in part.utf8 { mixed = (mixed ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        state = mixed
        _ = next()
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, `bound`; 0 when that is not positive.
    public mutating func below(_ bound: Int) -> Int {
        bound > 0 ? Int(truncatingIfNeeded: next() % UInt64(bound)) : 0
    }

    /// Whether something of this chance, in percent, happens.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

    /// Random bytes.
    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<max(0, count)).map { _ in UInt8(truncatingIfNeeded: next() >> 24) }
    }
}
