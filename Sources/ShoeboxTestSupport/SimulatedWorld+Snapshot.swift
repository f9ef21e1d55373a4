import ShoeboxWorld

extension SimulatedWorld {
    /// All of a world at an instant: the time, the storage, and of each machine its disks, its view of the mount and the
    /// random bytes to come. Local databases are the test's.
    public struct Snapshot: Sendable {
        let milliseconds: UInt64
        let storage: SimulatedMountStorage.Snapshot
        let machines: [SimulatedMachine.Snapshot]
    }

    /// The world as it is now.
    public func snapshot() -> Snapshot {
        Snapshot(
            milliseconds: clock.milliseconds, storage: storage.snapshot(), machines: machines.map { $0.snapshot() })
    }

    /// Makes the world what it was, its time included; all processes are dead until their machines' `restart`, and no
    /// call will fail. What then happens is what happened then, as far as it is done again.
    public func restore(_ snapshot: Snapshot) {
        clock.set(milliseconds: snapshot.milliseconds)
        storage.restore(snapshot.storage)
        storage.forgetViolations()
        for (machine, before) in zip(machines, snapshot.machines) { machine.restore(before) }
    }
}

extension SimulatedMachine {
    /// Disks, view and random bytes of one machine.
    struct Snapshot: Sendable {
        let library: SimulatedDisk.Snapshot
        let shared: SimulatedDisk.Snapshot
        let view: SimulatedMount.State
        let random: SeededGenerator
    }

    func snapshot() -> Snapshot {
        Snapshot(
            library: library.snapshot(), shared: shared.snapshot(), view: mount.state.withLock { $0 },
            random: randomState)
    }

    func restore(_ snapshot: Snapshot) {
        faults.clear()
        kill()
        library.restore(snapshot.library)
        shared.restore(snapshot.shared)
        mount.state.withLock { $0 = snapshot.view }
        randomState = snapshot.random
    }
}
