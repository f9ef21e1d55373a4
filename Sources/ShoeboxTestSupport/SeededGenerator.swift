/// Random numbers that a seed decides, the same on every machine: SplitMix64 (Steele, Lea and Flood, 2014).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// A generator that repeats itself for the same seed.
    public init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 0x1234_5678_9ABC_DEF1 }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, not including, the bound; 0 for a bound below 1.
    public mutating func below(_ bound: Int) -> Int { bound > 0 ? Int.random(in: 0..<bound, using: &self) : 0 }

    /// Whether something of this chance, in percent, happens.
    public mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}

/// The smallest script found that still fails, by leaving out ever smaller runs of its steps.
///
/// - Parameters:
///   - script: steps with which `fails` is true.
///   - fails: whether a script fails; a pure function of it.
public func shrink<Step>(_ script: [Step], while fails: ([Step]) -> Bool) -> [Step] {
    var script = script
    var length = max(1, script.count / 2)
    while true {
        var start = 0
        var hasShrunk = false
        while start < script.count {
            let shorter = Array(script[..<start]) + script[min(start + length, script.count)...]
            if shorter.count < script.count, fails(shorter) {
                script = shorter
                hasShrunk = true
            } else {
                start += length
            }
        }
        if length > 1 { length /= 2 } else if !hasShrunk { return script }
    }
}
