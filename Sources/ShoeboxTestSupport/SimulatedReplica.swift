public import ShoeboxModel

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
    /// What is pending, for people: a line for each thing.
    var pending: [String] { get }
    /// Does what a person asks for. True if it was done, false if it was refused or failed, nil if the process died.
    func perform(_ request: SimulationRequest) -> Bool?
    /// A person answers what the engine asks about after all is healed: that deletions were meant, that a share is to
    /// come back. Returns whether it was asked anything.
    func answer() -> Bool
    /// Whether an answer has taken back more than it was about, as it undid a transaction of several photos.
    var hasTakenBackMore: Bool { get }
    /// Looks at everything, after all that watchers told of has been taken in: how many changes had been missed.
    func changesMissed() throws -> Int
    /// Keeps a copy of the state directory.
    func backUpState()
    /// Puts the state directory back to the copy, while the process is dead; false without one.
    func restoreState() -> Bool
    /// Whether the state knows of a file with this content in its folders.
    func knowsFile(with content: [UInt8]) -> Bool
    /// Whether something that this state says is still to be published.
    var hasUnpublished: Bool { get }
    /// Whether this process knows that its state is what the folders show, and was not put back.
    var hasComparedState: Bool { get }
    /// Loses the state directory, while the process is dead; the account is set up anew when it starts.
    func loseState()
    /// What it knows of shares.
    var sharing: SimulationSharing { get }
    /// The hash by which a history names a content.
    func hash(of content: [UInt8]) -> [UInt8]
    /// The hashes of the contents and captions that its history names in each share.
    ///
    /// - Parameter isPublished: only what was published.
    func told(isPublished: Bool) -> [String: Set<[UInt8]>]
}

extension SimulatedReplica {
    /// Refuses everything.
    public func perform(_ request: SimulationRequest) -> Bool? { false }
    /// Nothing is said.
    public var pending: [String] { [] }
    /// Nothing is asked.
    public func answer() -> Bool { false }
    /// Nothing is taken back.
    public var hasTakenBackMore: Bool { false }
    /// Looks at everything each time.
    public func changesMissed() throws -> Int { 0 }
    /// No backup.
    public func backUpState() {}
    /// No backup.
    public func restoreState() -> Bool { false }
    /// It knows of all.
    public func knowsFile(with content: [UInt8]) -> Bool { true }
    /// All is published.
    public var hasUnpublished: Bool { false }
    /// It knows.
    public var hasComparedState: Bool { true }
    /// Nothing is lost.
    public func loseState() {}
    /// Nothing is shared.
    public var sharing: SimulationSharing { SimulationSharing() }
    /// The content itself.
    public func hash(of content: [UInt8]) -> [UInt8] { content }
    /// Nothing is told.
    public func told(isPublished: Bool) -> [String: Set<[UInt8]>] { [:] }
}

/// A command with everything that it names.
public enum SimulationRequest: Hashable, Sendable {
    /// Makes a share with a title of files or folders of the library.
    case share([RelativePath], title: String)
    /// Invites an account to a share, by their names.
    case invite(share: String, account: String, SimulationStep.Grant)
    /// Changes what a participant may do.
    case permit(share: String, account: String, SimulationStep.Grant)
    /// Removes a participant.
    case revoke(share: String, account: String)
    /// Accepts every invitation.
    case accept
    /// Leaves a share.
    case leave(share: String, keepsCopy: Bool)
    /// Stops a share.
    case stop(share: String)
    /// Moves a photo of the library into a share.
    case add(share: String, RelativePath)
    /// Takes a photo of the library out of a share.
    case remove(share: String, RelativePath)
    /// Adds tags.
    case tag(SimulationStep.Root, RelativePath, [String])
    /// Sets the own rating.
    case rate(SimulationStep.Root, RelativePath, stars: Int)
    /// Sets a caption.
    case caption(SimulationStep.Root, RelativePath, String)
    /// Takes back the last transaction.
    case undo
    /// Brings back everything that is in the trash, or what was at or below a path.
    case restoreTrash(SimulationStep.Root = .library, RelativePath? = nil)
    /// Gives a photo its former content.
    case restoreVersion(SimulationStep.Root, RelativePath)
    /// Offers a share to an account; its owner stays as what is said.
    case offer(share: String, account: String, stays: SimulationStep.Grant)
    /// Takes the offer of a share back.
    case withdrawOffer(share: String)
    /// Accepts the offer of a share, or declines it.
    case answerOffer(share: String, accepts: Bool)
    /// Has whoever has a share's link take part; with nil, nobody any more who was not invited.
    case open(share: String, SimulationStep.Grant?)
    /// Makes a link by which people ask to be admitted to a share.
    case makeLink(share: String, SimulationStep.Grant, asks: Bool)
    /// Goes by the newest link to a share that any replica was given.
    case come(share: String)
    /// Admits an account that has asked, or refuses it.
    case answerRequest(share: String, account: String, admits: Bool)
    /// Retires the device of a machine.
    case retire(machine: String)
}
