/// One thing that was measured or tried on a directory of some mount.
public struct ProbeResult: Hashable, Sendable, Codable {
    /// How it bears on a container there.
    public enum Verdict: String, Hashable, Sendable, Codable {
        /// As it should be.
        case good
        /// It works, but later or slower than people expect.
        case slow
        /// A container does not work here, or not for everybody.
        case bad
        /// Nothing to judge.
        case note
    }

    /// Which: a stable name, such as `openFreshness`.
    public var name: String
    /// What was found, for a person.
    public var text: String
    /// The measured value, with the unit in `unit`; nil if nothing was measured.
    public var value: Double?
    /// `milliseconds`, `megabytesPerSecond`, …; empty without a value.
    public var unit: String
    /// Whether it is more than `value`, nobody knows how much: it was not waited for any longer.
    public var isMore: Bool
    /// How it bears on a container there.
    public var verdict: Verdict
    /// What to change, or what to expect; empty for nothing.
    public var advice: String

    /// A result from its parts.
    public init(
        _ name: String, _ text: String, value: Double? = nil, unit: String = "", isMore: Bool = false,
        _ verdict: Verdict, advice: String = ""
    ) {
        self.name = name
        self.text = text
        self.value = value
        self.unit = unit
        self.isMore = isMore
        self.verdict = verdict
        self.advice = advice
    }
}
