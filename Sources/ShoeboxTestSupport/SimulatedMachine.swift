public import ShoeboxWorld

/// One simulated computer: two watched roots, a mount, a clock, and a process that can die.
public final class SimulatedMachine: Sendable {
    private struct State: Sendable {
        var random: SeededGenerator
        var boots = 1
    }

    /// The machine's name, also its name as a client of the mount.
    public let name: String
    /// Counts and breaks the calls of the machine's process.
    public let faults: SimulatedFaults
    /// The machine's clock.
    public let clock: SimulatedMachineClock
    /// The library folder.
    public let library: SimulatedDisk
    /// The shared folder.
    public let shared: SimulatedDisk
    /// The container, as this machine sees it.
    public let mount: SimulatedMount
    private let state: Mutex<State>

    /// A machine that boots now, with empty roots.
    public init(
        name: String, clock: SimulatedClock, storage: SimulatedMountStorage,
        behaviour: SimulatedMountBehaviour = SimulatedMountBehaviour(), skewMilliseconds: Int64 = 0, seed: UInt64 = 0
    ) {
        self.name = name
        faults = SimulatedFaults()
        self.clock = SimulatedMachineClock(clock, skewMilliseconds: skewMilliseconds)
        library = SimulatedDisk(name: "library", clock: self.clock, faults: faults)
        shared = SimulatedDisk(name: "shared", clock: self.clock, faults: faults)
        mount = SimulatedMount(client: name, storage: storage, faults: faults, behaviour: behaviour, seed: seed)
        state = Mutex(State(random: SeededGenerator(seed: seed, part: "machine \(name)")))
    }

    /// Where the machine's random bytes come from.
    var randomState: SeededGenerator {
        get { state.withLock { $0.random } }
        set { state.withLock { $0.random = newValue } }
    }

    /// Differs after each `reboot` and power cut.
    public var bootID: String { state.withLock { "\(name)-boot-\($0.boots)" } }

    /// What the engine gets; to be asked for anew after each restart, as the boot's name may be another.
    public var world: World {
        World(
            library: library.files, shared: shared.files, mount: mount,
            nowMilliseconds: { self.clock.wallMilliseconds }, uptimeMilliseconds: { self.clock.uptimeMilliseconds },
            bootID: bootID, randomBytes: { count in self.state.withLock { $0.random.bytes(count) } })
    }

    /// Kills the process, as kill -9 does: each of its calls throws `.simulatedCrash` from now on.
    public func kill() { faults.crash() }

    /// Cuts the machine's power: the process is dead, the disks have lost what is chosen, and the boot's name is another.
    public func powerCut(_ cut: SimulatedPowerCut) {
        kill()
        library.crash(cut)
        shared.crash(cut)
        state.withLock { $0.boots += 1 }
        clock.reboot()
    }

    /// Lets a new process start after `kill`, a crash or `powerCut`.
    public func restart() {
        mount.reopen()
        faults.restart()
    }

    /// Ends all that is wrong: faults, missing roots, unreadable or half-listed directories, lost events from now on, a
    /// late mount, wrong clock. A dead process stays dead, lost things stay lost.
    public func heal() {
        faults.clear()
        for disk in [library, shared] { disk.heal() }
        mount.mount()
        mount.setHalfListed(keeping: nil)
        mount.behaviour = SimulatedMountBehaviour()
        clock.setSkew(milliseconds: 0)
    }
}

extension SimulatedDisk {
    /// Ends all that is wrong from now on. What was lost stays lost.
    public func heal() {
        control { state in
            state.attachment = .mounted
            state.unreadable = []
            state.halfListed = [:]
            state.capacityBytes = nil
            state.eventLoss = .none
        }
    }
}
