internal import ShoeboxWorld

/// Everything of a simulation that is not the engine: one true time, one storage, and machines that share it.
public final class SimulatedWorld: Sendable {
    /// All that is random comes from this.
    public let seed: UInt64
    /// The true time.
    public let clock: SimulatedClock
    /// The server behind every machine's mount.
    public let storage: SimulatedMountStorage
    private let list = Mutex<[SimulatedMachine]>([])

    /// A world without machines.
    public init(seed: UInt64 = 0) {
        self.seed = seed
        clock = SimulatedClock()
        storage = SimulatedMountStorage(clock: clock)
    }

    /// The machines in the order in which they were made.
    public var machines: [SimulatedMachine] { list.withLock { $0 } }

    /// Adds a machine; its name must be new, or its random bytes are those of the other.
    @discardableResult
    public func addMachine(
        _ name: String, behaviour: SimulatedMountBehaviour = SimulatedMountBehaviour(), skewMilliseconds: Int64 = 0
    ) -> SimulatedMachine {
        let machine = SimulatedMachine(
            name: name, clock: clock, storage: storage, behaviour: behaviour, skewMilliseconds: skewMilliseconds,
            seed: seed)
        list.withLock { $0.append(machine) }
        return machine
    }

    /// Ends all that is wrong, everywhere; see `SimulatedMachine.heal`. Delays are over a minute later.
    public func heal() {
        for machine in machines { machine.heal() }
        storage.setCapacity(bytes: nil)
        clock.advance(milliseconds: 120_000)
    }
}
