import ShoeboxCloud
import Foundation
import ShoeboxLibrary
import ShoeboxModel
public import ShoeboxStore
import ShoeboxWorld

extension ZoneKeyring {
    /// As a column of the local database.
    var column: Data { get throws { Data(try serialized()) } }
}

extension [UInt8] {
    /// As a column of the local database.
    var column: Data { Data(self) }
}

extension Engine {
    /// The container, opened and found to be the one that this replica belongs to. Throws `CloudError` when it is not
    /// there, or another one.
    @discardableResult
    func openContainer() throws -> Container {
        let expected = try store.read { db in try db.metaText("container") }
        let opened = try Container.open(mount: world.mount, expecting: expected)
        container = opened
        return opened
    }

    /// The folder of a zone on the mount.
    func zoneFolder(_ id: ZoneID) -> ZoneFolder { ZoneFolder(zone: id, mount: world.mount, accounts: directory) }

    /// Makes what a replica needs before its first round, or continues where that was interrupted: the account in the
    /// container, its private zone, the markers of the watched folders.
    ///
    /// - Parameter lostState: whether the identity was in use before, and only the database is new. Which numbers were
    ///   given is lost with the old one, so that none of that replica is ever given again: this goes on as a new one.
    /// - Parameter isJoining: whether another device of the account has just let this one in, so that there is a private zone.
    public func setUp(
        host: String, takeOver: Bool = false, lostState: Bool = false, isJoining: Bool = false
    ) throws {
        let opened = try openContainer()
        if lostState { try replaceLostReplica() }
        try checkReplica()
        try finishNewReplica()
        try store.write { db in
            try db.setMetaText("container", opened.id)
            try db.setMeta("account", account.data)
            // Also for who repeats the command otherwise.
            if isJoining { try db.setMetaText(Self.isJoiningKey, "1") }
        }
        guard try followAccount(isFirst: true) else {
            throw RequestError(
                ExitCode.notPermitted, "This device was retired by another device of the account.",
                "Set it up anew with 'shoebox init --join' and another state directory.")
        }
        try Inbox(of: account, mount: world.mount, accounts: directory).make()
        if privateZone == nil {
            try findPrivateZone(isThere: store.read { db in try db.metaText(Self.isJoiningKey) } != nil)
        }
        // Found by now. Of a container that was made anew later, nobody says that it has one.
        try store.write { db in try db.setMetaText(Self.isJoiningKey, nil) }
        for root in RootKind.allCases { try mark(root, container: opened.id, host: host, takeOver: takeOver) }
    }

    /// Takes a new replica id, the former one noted first: the folders' markers still name it, however this ends.
    private func replaceLostReplica() throws {
        let former = replica
        try store.write { db in
            guard try db.metaText(Self.formerReplicaKey) == nil else { return }
            try db.setMetaText(Self.formerReplicaKey, former.description)
        }
        let fresh = try identity.withNewReplica(randomBytes: world.randomBytes)
        try saveIdentity(fresh)
        identity = fresh
        try reloadZones()
    }

    /// Under what the database says that this device was let in by another one of its account.
    private static let isJoiningKey = "isJoining"

    /// The account's private zone: one that another device of it made, else a new one.
    ///
    /// - Parameter isThere: whether there must be one. A mount may not show for a minute what was made elsewhere; to make a second
    ///   one would be to lose the first.
    private func findPrivateZone(isThere: Bool) throws {
        var closed: ZoneID?
        for id in try ZoneFolder.zones(on: world.mount) {
            let folder = zoneFolder(id)
            var isOwn = false
            do {
                guard try folder.owner() == account else { continue }
                isOwn = true
                var keyring = ZoneKeyring()
                let current = try folder.currentControl(identity: identity, keyring: &keyring)
                guard current.control.kind == .privateZone else { continue }
                try store.write { db in try beginRebuild(db) }
                _ = try join(id, fingerprint: nil)
                return
            } catch let error as CloudError {
                // One that can't be read just now may be the private zone: to make another would be to lose it.
                guard error.code != .offline, !error.mayBeReadLater else { throw error }
                // Nor one for which this device lacks a key that its account has.
                if isOwn, error.code == .notInvited { closed = id }
            }
        }
        if let closed {
            throw RequestError(
                ExitCode.offline,
                "The cloud folder holds what the other devices of '\(settings.label)' put there, and this device has no key for it yet.",
                "Start shoebox anew on one of them, or wait ten minutes, and repeat this command. If none is left, and no backup of the cloud folder has more of 'accounts', move 'zones/\(closed)' out of it: without its key nobody reads what it holds."
            )
        }
        guard !isThere else {
            throw RequestError(
                ExitCode.offline,
                "The cloud folder does not show yet what the other devices of '\(settings.label)' put there.",
                "Wait a minute, and repeat this command.")
        }
        _ = try makeZone(Control(kind: .privateZone, owner: account, ownerLabel: settings.label))
    }

    /// Writes a watched folder's marker, or checks the one that is there.
    private func mark(_ root: RootKind, container: String, host: String, takeOver: Bool) throws {
        let files = files(root)
        _ = try files.identity()
        let marker = RootMarker(
            container: container, account: account, replica: replica, scope: scope(root),
            host: host)
        if let existing = try RootMarker.read(from: files) {
            let former = try store.read { db in try db.metaText(Self.formerReplicaKey) }
            guard existing.replica == replica || existing.replica.description == former || takeOver else {
                throw existing.servedError(root)
            }
            if existing.container == container, existing.account == account, existing.replica != replica {
                try noteServed(root)
            }
            if existing == marker { return }
        } else if try ![.same, .putBack].contains(sameness(of: root)) {
            // With a marker, what is not in it would look deleted.
            let count = try store.read { db in try db.baseCount(root: root) }
            guard count == 0 else { throw unmarkedError(root, count) }
        }
        try marker.write(to: files)
    }

    private func scope(_ root: RootKind) -> RootMarker.Scope { root == .library ? .private : .shared }

    private func unmarkedError(_ root: RootKind, _ count: Int) -> RequestError {
        RequestError(
            ExitCode.failed,
            "The \(root) folder is not the one that was set up: its marker '.shoebox/root.json' is missing, and \(count) files and folders are known in the former one.",
            "Mount the right folder there. If this one is new on purpose, copy everything of the former one into it, '.shoebox' too, as 'rsync -a' does."
        )
    }

    /// Whether a watched folder is there and is the one that this replica serves. If not, that is a problem, never a
    /// deletion.
    public func checkRoot(_ root: RootKind) throws -> Bool {
        let name = root == .library ? "library" : "shared"
        let marker: RootMarker?
        do {
            try renewMarker(root)
            marker = try RootMarker.read(from: files(root))
        } catch let error as FileError {
            try clearProblem("rootForeign", path: name)
            try report(
                "rootOffline", path: name, "The \(name) folder cannot be used: \(error.reason).",
                "Mount or repair it; nothing is taken as deleted, and it goes on by itself.")
            return false
        }
        guard let marker else {
            try clearProblem("rootForeign", path: name)
            try report(
                "rootOffline", path: name,
                "The \(name) folder is empty or is not the one that was set up: its marker '.shoebox/root.json' is missing.",
                "Mount the right folder there; nothing is taken as deleted. If the folder is new on purpose, copy everything of the former one into it, '.shoebox' too, as 'rsync -a' does."
            )
            return false
        }
        let expected = try store.read { db in try db.metaText("container") }
        guard marker.scope == scope(root) else {
            try clearProblem("rootOffline", path: name)
            try report(
                "rootForeign", path: name,
                "The \(name) folder is the one in which \(root == .library ? "others' shares lie" : "the library lies").",
                "The library and the shared folder were exchanged, in the configuration or on the disk. Exchange them back."
            )
            return false
        }
        guard marker.replica == replica, marker.container == expected else {
            try clearProblem("rootOffline", path: name)
            try report(
                "rootForeign", path: name,
                "The \(name) folder belongs to another replica\(marker.host.isEmpty ? "" : " (on \(marker.host))").",
                "Only one shoebox serves a folder. Give this one a folder of its own, or run 'shoebox init --take-over'."
            )
            return false
        }
        try clearProblem("rootOffline", path: name)
        try clearProblem("rootForeign", path: name)
        return true
    }
}

extension RootMarker {
    /// That another shoebox serves the folder in which this was found.
    func servedError(_ root: RootKind) -> RequestError {
        RequestError(
            ExitCode.busy,
            "The \(root == .library ? "library" : "shared") folder is served by another shoebox already (on \(host.isEmpty ? "some machine" : host)).",
            "Use another folder, or run 'shoebox init --take-over' if that other one is gone for good.")
    }
}

extension CloudError {
    /// Whether a zone's folder could not be read just now. One that is denied is somebody else's, and stays so.
    var mayBeReadLater: Bool { code == .mount && cause?.code != .denied }
}
