import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

/// The machines, and what the actor's disk shows by now.
final class ActorStage {
    struct File: Hashable {
        var content: String
        var caption: String?
    }

    let kind: ActorScript.Kind
    let village: Village
    /// The actor's first.
    let machines: [Replica]
    var actor: Replica { machines[0] }
    private var owners: [Replica] { machines.filter { $0.label == "alice" } }
    private let bob: Replica
    private var isParticipant: Bool { kind.isParticipant }
    /// Where the actor acts: the whole library, or the folder of the one share.
    private var root: RootKind { isParticipant ? .shared : .library }
    var disk: SimulatedDisk { isParticipant ? actor.machine.shared : actor.machine.library }
    let top: RelativePath
    /// What of the owner's library the actor does not see, by path.
    private var unseen: [String: File] = [:]
    /// What the actor's user sees.
    var files: [RelativePath: File] = [:]
    /// A traveller's own library.
    var own: [RelativePath: File] = [:]
    private var folders: Set<RelativePath> = []
    /// The folder of each share that was not stopped, by title.
    private var shares: [String: RelativePath] = [:]
    private var links: [String: String] = [:]
    var count = 0
    /// Whether a traveller has moved something to another folder since the last look.
    var hasCarried = false
    /// Whether it has moved a photo without its sidecar since then.
    var hasRenamed = false
    /// Whether a photo was moved with its sidecar, and one saved by an editor, since the last look.
    var hasMoved = false
    var hasSaved = false
    var deleted: Set<String> = []
    /// Machines whose process has not looked at anything yet.
    private var restarted: Set<String> = []
    private var narrators: [EngineSimulationNarrator] = []

    init(_ kind: ActorScript.Kind, seed: UInt64) throws {
        let paths = ["Trip/a.jpg", "Trip/b.jpg", "Trip/Sea/c.jpg", "Home/d.jpg", "Home/Old/e.jpg", "f.jpg"]
        let contents = Dictionary(
            uniqueKeysWithValues: paths.map { ($0, "bytes of \(kind.hasTwins ? "all" : $0)") })
        let (village, alice, second) = try Village.twoDevices(contents, others: ["bob"])
        self.kind = kind
        self.village = village
        bob = village.replicas[1]
        let isParticipant = kind.isParticipant
        machines = isParticipant ? [bob, alice, second] : [alice, second, bob]
        top = isParticipant ? try Self.path("alice/S1") : .root
        let shared = try Self.path("Trip")
        for path in paths {
            let file = File(content: contents[path] ?? "", caption: "caption of \(path)")
            let own = try Self.path(path)
            if !isParticipant {
                files[own] = file
            } else if own.isAtOrBelow(shared) {
                files[moved(own, from: shared, to: top)] = file
            } else {
                unseen[path] = file
            }
            try #require(alice.request(.caption(path: alice.path(path), text: file.caption ?? "")).code == 0)
        }
        for path in files.keys { noteFolders(of: path.parent) }
        if isParticipant || seed % 2 == 0 { try share(shared, by: alice) }
        try acceptAll()
        if isParticipant { shares = [:] }
        if kind.travels { try fillOwn() }
        try #require(try village.settle())
        for machine in machines { _ = extent(machine) }
    }

    static func path(_ text: String) throws -> RelativePath { try #require(RelativePath(text)) }

    private func noteFolders(of folder: RelativePath) {
        var folder = folder
        while folder != top {
            folders.insert(folder)
            folder = folder.parent
        }
    }

    func narrate() {
        for machine in machines {
            machine.narrate = { print("    \(machine.machine.name): \($0)") }
            let narrator = EngineSimulationNarrator(machine)
            narrator.tell("at first")
            narrators.append(narrator)
        }
    }

    // MARK: Picks

    func file(_ pick: Int) -> RelativePath? {
        files.isEmpty ? nil : files.keys.sorted()[pick % files.count]
    }

    private func folder(_ pick: Int) -> RelativePath? {
        let there = entries
        let present = folders.filter { there[$0]?.kind == .directory }
        return present.isEmpty ? nil : present.sorted()[pick % present.count]
    }

    private var entries: [RelativePath: (kind: FileKind, stamp: FileStamp)] { disk.entries() }

    func target(_ pick: Int) -> RelativePath { ([top] + folders.sorted())[pick % (folders.count + 1)] }

    func isFree(_ path: RelativePath) -> Bool { files[path] == nil && !folders.contains(path) }

    private func fresh() -> FileName {
        count += 1
        return FileName(safe: "new\(count).jpg")
    }

    /// The share that a file is in: the one whose folder is nearest.
    private func share(of path: RelativePath) -> (title: String, folder: RelativePath)? {
        shares.filter { path.isAtOrBelow($0.value) }.max { $0.value.names.count < $1.value.names.count }
            .map { ($0.key, $0.value) }
    }

    // MARK: Acts

    func perform(_ step: ActorScript.Step) throws {
        // The sidecar of a photo that nobody has looked at yet counts for whatever it lies beside by then.
        if hasCarried, !step.isTravel { try lookForAWhile() }
        // What is moved on by then, was saved by an editor, and left its place to another one, is known by nothing.
        if hasMoved, hasSaved, step.isCarry { try lookForAWhile() }
        // And what was moved by itself and saved at once is another photo.
        if hasRenamed, step.isSave { try lookForAWhile() }
        if step.isRename { hasRenamed = true }
        switch step {
        case .moveFile(let pick, let into):
            guard let from = file(pick), let name = from.last else { return }
            try move(from, to: target(into).appending(name))
        case .rename(let pick, let name):
            guard let from = file(pick) else { return }
            try move(from, to: from.parent.appending(FileName(safe: "name\(name % 7).jpg")))
        case .moveFolder(let pick, let into):
            guard let from = folder(pick), let name = from.last else { return }
            try moveFolder(from, to: target(into).appending(name))
        case .renameFolder(let pick, let name):
            guard let from = folder(pick) else { return }
            try moveFolder(from, to: from.parent.appending(FileName(safe: "Folder\(name % 5)")))
        case .swap(let one, let two):
            // Equal ones that swap are as they were.
            guard let one = file(one), let two = file(two), files[one]?.content != files[two]?.content else { return }
            // One that was overwritten just before, and the bytes that it had in its place, look like two edits.
            if kind.hasTwins { try lookForAWhile() }
            let aside = top.appending(FileName(safe: "aside.tmp"))
            try disk.move(one, to: aside)
            try disk.move(two, to: one)
            try disk.move(aside, to: two)
            (files[one], files[two]) = (files[two], files[one])
        case .overwrite(let pick):
            guard let path = file(pick) else { return }
            // A file with other bytes and another inode, moved just before or after that, is another file.
            if pick % 2 == 1 { try lookForAWhile() }
            try write(path, saving: pick % 2 == 0 ? .inPlace : .replacing)
            if pick % 2 == 1 { try lookForAWhile() }
        case .replaceMoved(let pick, let into):
            guard let from = file(pick), let name = from.last, target(into) != from.parent else { return }
            try move(from, to: target(into).appending(name))
            if files[from] == nil { try write(from) }
        case .write(let into): try write(target(into).appending(fresh()))
        case .delete(let pick):
            guard let path = file(pick) else { return }
            // What was moved away and deleted before anybody looked was never moved.
            try lookForAWhile()
            try disk.delete(path)
            // What takes its place before anybody looked was put over it, and is an edit of it.
            try lookForAWhile()
            if let file = files.removeValue(forKey: path) { deleted.insert(file.content) }
        case .moveOut, .moveIn, .replaceMovedOut, .replaceMovedIn, .swapAcross, .renameOwn, .saveOwn,
            .saveShared:
            try travel(step)
        case .share(let pick): if !isParticipant, let folder = folder(pick) { try share(folder, by: actor) }
        case .stop(let pick):
            guard !shares.isEmpty else { return }
            let title = shares.keys.sorted()[pick % shares.count]
            if actor.request(.stop(share: title)).code == 0 { shares[title] = nil }
        case .takeOut(let pick): try takeOut(pick)
        case .look: _ = try actor.engine.round(extent(actor), reachesContainer: false)
        case .sync(let number): try sync(number % 3)
        case .syncBetween(let publications, let other):
            let meanwhile = Meanwhile(stage: self, number: other % 3)
            actor.machine.faults.run(before: "publish", after: publications) { meanwhile.run() }
            try sync(0)
        case .syncDuring(let calls, let other):
            let meanwhile = Meanwhile(stage: self, number: other % 3)
            let faults = actor.machine.faults
            faults.run(at: faults.operationCount + calls) { meanwhile.run() }
            try sync(0)
        case .syncKilled(let calls, let number):
            let machine = machines[number % 3]
            machine.machine.faults.set(.crash, after: calls)
            do { try sync(number % 3) } catch {
                guard machine.machine.faults.isCrashed else { throw error }
            }
            machine.machine.faults.clear()
            if machine.machine.faults.isCrashed { try machine.restart() }
            restarted.insert(machine.machine.name)
        case .pass: village.world.clock.advance(milliseconds: 2_000)
        }
    }

    func lookForAWhile() throws {
        (hasCarried, hasRenamed, hasMoved, hasSaved) = (false, false, false, false)
        var isOver = false
        for _ in 0..<20 where !isOver {
            let outcome = try actor.engine.round(extent(actor), reachesContainer: false)
            isOver = outcome.lookAgain == nil
            let now = actor.machine.world.uptimeMilliseconds()
            let due = outcome.lookAgain ?? now
            village.world.clock.advance(milliseconds: max(300, due > now ? due - now : 0))
        }
    }

    func move(_ from: RelativePath, to: RelativePath) throws {
        guard isFree(to) else { return }
        try disk.move(from, to: to)
        files[to] = files.removeValue(forKey: from)
    }

    private func moveFolder(_ from: RelativePath, to: RelativePath) throws {
        guard isFree(to), !to.isAtOrBelow(from) else { return }
        // The folder of a share can't be moved into another share.
        guard !shares.values.contains(from) || share(of: to.parent) == nil else { return }
        try disk.move(from, to: to)
        func now(_ path: RelativePath) -> RelativePath {
            path.isAtOrBelow(from) ? moved(path, from: from, to: to) : path
        }
        files = Dictionary(uniqueKeysWithValues: files.map { (now($0.key), $0.value) })
        folders = Set(folders.map(now))
        shares = shares.mapValues(now)
    }

    func write(_ path: RelativePath, saving: SimulatedDisk.Saving = .inPlace) throws {
        count += 1
        let content = "bytes \(count) of the actor"
        try disk.write(path, bytes: Array(content.utf8), saving: saving)
        if let old = files[path] { deleted.insert(old.content) }
        files[path] = File(content: content, caption: files[path]?.caption)
        noteFolders(of: path.parent)
    }

    private func share(_ folder: RelativePath, by owner: Replica) throws {
        guard !shares.values.contains(folder) else { return }
        // A share can't be moved into one; nobody knows yet that it was no share when it was moved.
        if shares.values.contains(where: { $0.isAtOrBelow(folder) }) { try lookForAWhile() }
        count += 1
        let title = "S\(count)"
        let made = owner.request(
            .shareCreate(
                paths: [owner.path("\(folder)")], title: title, publicPermission: "none", isSealed: true))
        guard made.code == 0 else { return }
        shares[title] = folder
        links[title] = made.values["link"]
        try #require(owner.request(.invite(share: title, accounts: ["bob"], permission: "readWrite")).code == 0)
    }

    private func takeOut(_ pick: Int) throws {
        guard let path = file(pick), let name = path.last, let (title, folder) = share(of: path),
            share(of: folder.parent) == nil
        else { return }
        let to = folder.parent.appending(name)
        guard isFree(to) else { return }
        guard actor.request(.shareRemove(share: title, paths: [actor.path("\(path)")])).code == 0 else { return }
        files[to] = files.removeValue(forKey: path)
        // The engine moves it; until then the actor leaves it alone.
        for _ in 0..<30 where entries[to] == nil {
            _ = try actor.engine.round(extent(actor), reachesContainer: false)
            village.world.clock.advance(milliseconds: 300)
        }
        guard entries[to] != nil else { throw ActorFailure("\(to) is not there") }
    }

    // MARK: Syncing

    private func extent(_ replica: Replica) -> Engine.ScanExtent {
        // A process that was just started looks at everything.
        var isAll = restarted.remove(replica.machine.name) != nil
        var dirty: [RootKind: Set<RelativePath>] = [:]
        for (root, disk) in [(RootKind.library, replica.machine.library), (.shared, replica.machine.shared)] {
            if disk.takeOverflow() { isAll = true }
            dirty[root] = disk.takeDirty()
        }
        return isAll ? .all : .directories(dirty)
    }

    func sync(_ number: Int) throws {
        let replica = machines[number]
        if !narrators.isEmpty { narrators[number].tell("before") }
        try replica.round(extent(replica))
        if !narrators.isEmpty { narrators[number].tell("after") }
        village.world.clock.advance(milliseconds: 300)
    }

    private func acceptAll() throws {
        for (title, link) in links.sorted(by: { $0.key < $1.key }) where shares[title] != nil {
            let reply = bob.request(.accept(link: link))
            guard reply.code == 0 else { throw ActorFailure("not accepted: \(reply)") }
        }
        links = [:]
    }

    // MARK: The end

    func finish() throws -> String? {
        for _ in 0..<12 { for number in 0..<3 { try sync(number) } }
        try acceptAll()
        var quiet = 0
        for _ in 0..<60 where quiet < 5 {
            let isDone = try machines.map { try $0.round(extent($0)) }.allSatisfy {
                !$0.didSomething && $0.lookAgain == nil
            }
            village.world.clock.advance(milliseconds: 1_500)
            quiet = isDone ? quiet + 1 : 0
        }
        guard quiet == 5, machines.allSatisfy(\.isQuiet) else {
            return try "never at rest: \(machines.map(restlessness))"
        }
        for machine in machines where try machine.round(.all).didSomething {
            return "\(machine.machine.name) had missed something"
        }
        return try firstDifference()
    }

    /// What a machine still has to do.
    private func restlessness(_ machine: Replica) throws -> String {
        let outcome = try machine.round(extent(machine))
        return try machine.store.read { db in
            "\(machine.machine.name): \(outcome), pending \(try db.pendingCount()), dirty \(try db.dirtyCount()), missing \(try db.missingSegments()), problems \(try db.problems().map(\.code))"
        }
    }

    private func named(_ files: [RelativePath: File]) -> [String: File] {
        Dictionary(uniqueKeysWithValues: files.map { ("\($0.key)", $0.value) })
    }

    private func firstDifference() throws -> String? {
        var all = unseen
        var theirs: [String: File] = [:]
        for (path, file) in files {
            if isParticipant {
                theirs["\(path)"] = file
                all["\(moved(path, from: top, to: try Self.path("Trip")))"] = file
                continue
            }
            all["\(path)"] = file
            guard let (title, folder) = share(of: path) else { continue }
            let place = moved(path, from: folder, to: RelativePath([FileName(safe: "alice"), FileName(safe: title)]))
            theirs["\(place)"] = file
        }
        for machine in owners {
            if let difference = difference(machine, .library, all) { return difference }
        }
        if let difference = difference(bob, .shared, theirs) ?? difference(bob, .library, named(own)) {
            return difference
        }
        for machine in isParticipant ? machines : owners {
            let problems = machine.problems.filter { $0.code != "undone" }
            if !problems.isEmpty { return "\(machine.machine.name) says \(problems.map(\.message))" }
        }
        for machine in owners {
            for (path, bytes) in machine.machine.library.tree() where path.hasPrefix(".shoebox/trash") {
                let text = String(decoding: bytes, as: UTF8.self)
                if text.hasPrefix("bytes "), !deleted.contains(text),
                    !all.values.contains(where: { $0.content == text })
                {
                    return "\(machine.machine.name) has '\(text)' in the trash"
                }
            }
        }
        return nil
    }

    func difference(_ machine: Replica, _ root: RootKind, _ wanted: [String: File]) -> String? {
        let tree = machine.tree(root)
        if tree != wanted.mapValues(\.content) {
            return
                "\(machine.machine.name) shows \(tree.sorted { $0.key < $1.key }), and it should be \(wanted.mapValues(\.content).sorted { $0.key < $1.key })"
        }
        for (path, file) in wanted.sorted(by: { $0.key < $1.key }) {
            let caption = machine.sidecar(path, root)?.fields.caption
            if caption != file.caption {
                return
                    "\(machine.machine.name) shows \(path) with \(caption ?? "no caption"), and it should be \(file.caption ?? "none")"
            }
        }
        return nil
    }
}

/// Where a path is once a directory that it is at, or below, has moved.
private func moved(_ path: RelativePath, from: RelativePath, to: RelativePath) -> RelativePath {
    RelativePath(to.names + path.names.dropFirst(from.names.count))
}

private struct ActorFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Another machine's sync in the middle of the actor's, on the same thread.
private struct Meanwhile: @unchecked Sendable {
    let stage: ActorStage
    let number: Int
    func run() { try? stage.sync(number) }
}
