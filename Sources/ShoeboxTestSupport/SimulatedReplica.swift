/// One engine under simulation: an adapter that a scenario suite writes around it.
///
/// The adapter holds the machine it was made for and takes a new `machine.world` at each restart.
public protocol SimulatedReplica: AnyObject {
    /// One round: scan, push, fetch, apply. True if something was pending or has changed. What it throws while faults
    /// are at work is noted; thrown after healing it is a failure.
    func syncRound() throws -> Bool
    /// The process is dead: forget everything that is only in memory. No call may be made.
    func crash()
    /// A new process starts from the state directory, and looks at everything again. Also called at healing on a replica
    /// that lives, as after a clean stop.
    func restart() throws
    /// Whether something a user wrote can be found where it is no plain file of a watched root (those, the trash
    /// included, are searched by the simulation): in the history, or as a conflict that can be restored.
    func findContent(_ entry: SimulationLedger.Entry) -> Bool
    /// Trees that are to be equal, after healing, with those of the same name of other replicas, such as
    /// `library of ann` or `share Lake`: bytes by path, without what may differ.
    var trees: [String: [String: [UInt8]]] { get }
}
