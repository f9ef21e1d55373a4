import ShoeboxModel
import ShoeboxTestSupport
import ShoeboxWorld

@testable import ShoeboxCloud

/// A small container whose share is plain, so that bodies can be mutated beneath their signatures.
struct FuzzedShare {
    let party: Party
    let tree: [String: [UInt8]]

    init() throws {
        party = try Party(bob: "readWrite", isSealed: false)
        tree = party.village.world.storage.tree()
    }

    var storage: SimulatedMountStorage { party.village.world.storage }
    var zone: ZoneID { party.zone }
    /// Who writes what is mutated: the owner.
    var identity: Identity { party.alice.identity }
    var mount: any Mount { party.alice.machine.world.mount }
    var accounts: AccountDirectory { AccountDirectory(mount: mount) }
    var folder: ZoneFolder { ZoneFolder(zone: zone, mount: mount, accounts: accounts) }
    /// The segments of the owner.
    var log: [[UInt8]] { files("zones/\(zone)/log/\(identity.replica)/") }

    /// The files whose path contains this, by their paths.
    func files(_ part: String) -> [[UInt8]] {
        tree.filter { $0.key.contains(part) }.sorted { $0.key < $1.key }.map(\.value)
    }

    /// What is drawn where it makes no difference.
    static func randomBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ 1) } }
}
