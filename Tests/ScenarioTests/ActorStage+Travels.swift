@testable import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import Testing

// A participant's own library, and what goes to and from the share. Photos go with their sidecars: what is said of them goes
// nowhere otherwise, as it is another zone's record.

extension ActorStage {
    private var library: SimulatedDisk { actor.machine.library }

    func fillOwn() throws {
        for text in ["m.jpg", "n.jpg", "Mine/p.jpg"] {
            let file = File(content: "bytes of \(kind.hasTwins ? "all" : text)", caption: "caption of \(text)")
            try library.write(text, file.content)
            own[try Self.path(text)] = file
        }
        try #require(try village.settle())
        for (path, file) in own {
            try #require(actor.request(.caption(path: actor.path("\(path)"), text: file.caption ?? "")).code == 0)
        }
    }

    func travel(_ step: ActorScript.Step) throws {
        switch step {
        case .moveOut(let pick, let name): _ = try moveOut(pick, name: name)
        case .moveIn(let pick, let into): _ = try moveIn(pick, into: into)
        case .replaceMovedOut(let pick, let name):
            if let left = try moveOut(pick, name: name) { try write(left) }
        case .replaceMovedIn(let pick, let into):
            guard let left = try moveIn(pick, into: into) else { return }
            try writeOwn(left, saving: .inPlace)
        case .swapAcross(let one, let two):
            guard let one = file(one), let two = ownFile(two), files[one]?.content != own[two]?.content,
                try hasSidecars([(one, .shared), (two, .library)])
            else { return }
            let aside = try Self.path("aside.jpg")
            try carry(one, from: disk, to: aside, on: library)
            try carry(two, from: library, to: one, on: disk)
            try carry(aside, from: library, to: two, on: library)
            if let file = files[one] { deleted.insert(file.content) }
            (files[one], own[two]) = (own[two], files[one])
        case .renameOwn(let pick, let name):
            guard let from = ownFile(pick) else { return }
            let to = ownName(name)
            guard own[to] == nil else { return }
            try library.move(from, to: to)
            own[to] = own.removeValue(forKey: from)
        case .saveOwn(let pick):
            guard let path = ownFile(pick) else { return }
            try writeOwn(path, saving: .replacing)
            (hasCarried, hasSaved) = (true, true)
        case .saveShared(let pick):
            guard let path = file(pick) else { return }
            try write(path, saving: .replacing)
            (hasCarried, hasSaved) = (true, true)
        default: return
        }
    }

    private func writeOwn(_ path: RelativePath, saving: SimulatedDisk.Saving) throws {
        count += 1
        let file = File(content: "bytes \(count) of the traveller", caption: own[path]?.caption)
        try library.write(path, bytes: Array(file.content.utf8), saving: saving)
        own[path] = file
    }

    private func ownFile(_ pick: Int) -> RelativePath? { own.isEmpty ? nil : own.keys.sorted()[pick % own.count] }

    private func ownName(_ pick: Int) -> RelativePath { RelativePath([FileName(safe: "own\(pick % 5).jpg")]) }

    /// Moves a photo into the library; returns where it was.
    private func moveOut(_ pick: Int, name: Int) throws -> RelativePath? {
        guard let from = file(pick), own[ownName(name)] == nil, try hasSidecars([(from, .shared)]) else { return nil }
        try carry(from, from: disk, to: ownName(name), on: library)
        if let file = files.removeValue(forKey: from) {
            own[ownName(name)] = file
            deleted.insert(file.content)
        }
        return from
    }

    /// Moves a photo into the share; returns where it was.
    private func moveIn(_ pick: Int, into: Int) throws -> RelativePath? {
        guard let from = ownFile(pick), let name = from.last else { return nil }
        let to = target(into).appending(name)
        guard isFree(to), try hasSidecars([(from, .library)]) else { return nil }
        try carry(from, from: library, to: to, on: disk)
        files[to] = own.removeValue(forKey: from)
        return from
    }

    /// Whether what is said of each photo stands beside it, after a while at the latest.
    private func hasSidecars(_ photos: [(path: RelativePath, root: RootKind)]) throws -> Bool {
        for attempt in 0..<2 {
            let isComplete = photos.allSatisfy { path, root in
                let caption = (root == .library ? own : files)[path]?.caption
                let disk = root == .library ? library : disk
                let isThere = (try? disk.stamp("\(path).json")) ?? nil
                return caption == nil
                    ? isThere == nil : actor.sidecar("\(path)", root)?.fields.caption == caption
            }
            if isComplete { return true }
            if attempt == 0 { try lookForAWhile() }
        }
        return false
    }

    private func carry(
        _ from: RelativePath, from source: SimulatedDisk, to: RelativePath, on target: SimulatedDisk
    ) throws {
        (hasCarried, hasMoved) = (true, true)
        for suffix in ["", ".json"] {
            guard try source.stamp("\(from)\(suffix)") != nil else { continue }
            if source === target {
                try source.move("\(from)\(suffix)", to: "\(to)\(suffix)")
            } else {
                try source.move("\(from)\(suffix)", to: "\(to)\(suffix)", on: target)
            }
        }
    }
}

extension ActorScript.Step {
    /// Whether an editor saves something.
    var isSave: Bool {
        switch self {
        case .saveOwn, .saveShared: true
        default: false
        }
    }

    /// Whether a photo is moved with its sidecar.
    var isCarry: Bool {
        switch self {
        case .moveOut, .moveIn, .replaceMovedOut, .replaceMovedIn, .swapAcross: true
        default: false
        }
    }

    /// Whether a photo is moved without its sidecar.
    var isRename: Bool {
        switch self {
        case .moveFile, .rename, .swap, .replaceMoved, .renameOwn: true
        default: false
        }
    }

    /// Whether it needs no look before: photos go with their sidecars, or nothing is moved.
    var isTravel: Bool {
        switch self {
        case .moveOut, .moveIn, .replaceMovedOut, .replaceMovedIn, .swapAcross, .saveOwn, .saveShared: true
        case .moveFolder, .renameFolder: true
        case .look, .sync, .syncBetween, .syncDuring, .syncKilled, .pass, .write, .share, .stop, .takeOut: true
        case .moveFile, .rename, .renameOwn, .swap, .overwrite, .replaceMoved, .delete: false
        }
    }
}
