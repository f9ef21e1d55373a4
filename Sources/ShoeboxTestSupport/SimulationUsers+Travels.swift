import ShoeboxModel
import ShoeboxWorld

// What users do with two files or folders at once, and between their two watched folders.

extension SimulationUsers {
    func travel(
        _ act: SimulationStep.Act, _ machine: SimulatedMachine, _ root: SimulationStep.Root
    ) throws(FileError) {
        let (disk, other) =
            root == .library ? (machine.library, machine.shared) : (machine.shared, machine.library)
        let places = Places(disk, root)
        switch act {
        case .swapThrough(let file, let with, let name):
            guard let one = places.file(file), let two = places.file(with), one != two, !isBeingWritten(one, disk),
                !isBeingWritten(two, disk), let name = FileName("aside-\(name % 3).jpg")
            else { return }
            let aside = one.parent.appending(name)
            try disk.move(one, to: aside, mode: .failIfExists)
            try disk.move(two, to: one)
            try disk.move(aside, to: two)
        case .swapFolders(let folder, let with):
            guard let one = places.subfolder(folder), let two = places.subfolder(with), !one.isAtOrBelow(two),
                !two.isAtOrBelow(one)
            else { return }
            try disk.move(one, to: two, mode: .exchange)
        case .copyFolder(let folder, let parent, let name):
            guard let source = places.subfolder(folder), let target = places.child(of: parent, Names.folder(name)),
                try disk.stamp(target.description) == nil, !target.isAtOrBelow(source)
            else { return }
            for path in files(in: source, of: disk) {
                try disk.write(target.appending(contentsOf: path, after: source), bytes: try disk.read(path))
            }
        case .carry(let file, let folder):
            guard other.isMounted, let source = places.file(file), let name = source.last,
                let folder = Places(other, root.other).folder(folder), !isBeingWritten(source, disk),
                !isBeingWritten(folder.appending(name), other)
            else { return }
            if let sidecar = Names.sidecar(of: source, on: disk), let name = sidecar.last {
                try disk.move(sidecar.description, to: folder.appending(name).description, on: other)
            }
            try disk.move(source.description, to: folder.appending(name).description, on: other)
        case .carryFolder(let folder, let parent, let name):
            guard other.isMounted, let source = places.subfolder(folder),
                let target = Places(other, root.other).child(of: parent, Names.folder(name)),
                try other.stamp(target.description) == nil
            else { return }
            let paths = files(in: source, of: disk)
            guard !paths.contains(where: { isBeingWritten($0, disk) }) else { return }
            for path in paths {
                let place = target.appending(contentsOf: path, after: source)
                try disk.move(path.description, to: place.description, on: other)
            }
            try disk.delete(source)
        case .copyTo(let root, let file, let folder, let name):
            let target = root == .library ? machine.library : machine.shared
            guard target.isMounted, let source = places.file(file), let folder = Places(target, root).folder(folder),
                let name = FileName(Names.photo(name)), !isBeingWritten(source, disk),
                !isBeingWritten(folder.appending(name), target),
                target !== disk || folder.appending(name) != source
            else { return }
            try target.write(folder.appending(name), bytes: try disk.read(source), saving: .replacing)
        case .moveTwins(let file, let folder, let and):
            guard let one = places.file(file) else { return }
            let bytes = try disk.read(one)
            var found = [one]
            for path in places.files where path != one && found.count < 2 {
                if try disk.read(path) == bytes { found.append(path) }
            }
            for (file, pick) in zip(found, [folder, and]) {
                guard let name = file.last, let folder = places.folder(pick), !isBeingWritten(file, disk),
                    try disk.stamp(folder.appending(name).description) == nil
                else { continue }
                try disk.move(file, to: folder.appending(name))
            }
        case .swapNamesakes(let file, let with, let isAtOnce):
            // Most often the one that the engine is just about to rename, where it is.
            let next = machine.faults.log.last.map { $0.part == disk.name ? $0.path : "" } ?? ""
            let aimed = file % 4 == 0 ? nil : places.files.first { $0.description == next }
            guard let one = aimed ?? places.file(file), let spare = FileName("aside-\(with % 3)") else { return }
            let namesakes = places.only { $0.last == one.last && $0 != one }
            guard let two = namesakes.file(with), !isBeingWritten(one, disk), !isBeingWritten(two, disk) else { return }
            if isAtOnce { return try disk.move(one, to: two, mode: .exchange) }
            let aside = one.parent.appending(spare)
            guard try disk.stamp(aside.description) == nil else { return }
            try disk.move(one, to: aside)
            try disk.move(two, to: one)
            try disk.move(aside, to: two)
        default: return
        }
    }

    /// Moves a photo with its sidecar, and notes where it is then.
    func moveOver(
        _ act: SimulationStep.Act, _ machine: SimulatedMachine, _ root: SimulationStep.Root
    ) throws(FileError) {
        let disk = root == .library ? machine.library : machine.shared
        let source: RelativePath?
        let (pick, isOver): (Int, Bool)
        switch act {
        case .carryOver(let file, let folder): (source, pick, isOver) = (Places(disk, root).file(file), folder, true)
        case .moveOn(let folder, let over): (source, pick, isOver) = (try lastMoved(on: machine, disk), folder, over)
        default: return
        }
        let (target, targetRoot) =
            !isOver ? (disk, root) : root == .library ? (machine.shared, .shared) : (machine.library, .library)
        guard target.isMounted, let source, let name = source.last, !isBeingWritten(source, disk),
            let place = Places(target, targetRoot).folder(pick)?.appending(name), !isBeingWritten(place, target),
            try target.stamp(place.description) == nil
        else { return }
        let sidecar = Names.sidecar(of: source, on: disk)
        try disk.move(source.description, to: place.description, on: target)
        state.withLock { $0.lastMoved[machine.name] = (target.name, place) }
        if let sidecar, let last = sidecar.last {
            try disk.move(sidecar.description, to: place.parent.appending(last).description, on: target)
        }
    }

    /// Puts another folder in the place of one, all between two looks.
    func replaceFolder(
        _ folder: Int, _ deed: SimulationStep.InPlace, with: Int, name: Int, pick: Int, _ disk: SimulatedDisk,
        _ root: SimulationStep.Root
    ) throws(FileError) {
        let places = Places(disk, root)
        guard let place = places.subfolder(folder), let last = place.last, let spare = FileName("aside-\(name % 3)")
        else { return }
        let former: RelativePath
        switch deed {
        case .new, .other:
            guard let aside = places.child(of: with, Names.folder(name)), !aside.isAtOrBelow(place) else { return }
            let other = places.only { !$0.isAtOrBelow(place) && !place.isAtOrBelow($0) }.subfolder(pick)
            guard deed == .new || other != nil else { return }
            try disk.move(place, to: aside, mode: .failIfExists)
            former = aside
            if deed == .other, let other { try disk.move(other, to: place, mode: .failIfExists) }
        case .otherOfDeleted:
            let others = places.only { !$0.isAtOrBelow(place) && !place.isAtOrBelow($0) }
            guard let other = others.subfolder(with) else { return }
            try disk.delete(place)
            return try disk.move(other, to: place, mode: .failIfExists)
        case .newAround:
            let aside = place.parent.appending(spare)
            try disk.move(place, to: aside, mode: .failIfExists)
            former = place.appending(last)
            try disk.move(aside, to: former, mode: .failIfExists)
        }
        guard let photo = Places(disk, root).only({ $0.isAtOrBelow(former) }).file(pick), let name = photo.last,
            !isBeingWritten(photo, disk), try disk.stamp(place.appending(name).description) == nil
        else { return }
        if pick % 2 == 0, let sidecar = Names.sidecar(of: photo, on: disk), let name = sidecar.last {
            try disk.move(sidecar, to: place.appending(name), mode: .failIfExists)
        }
        try disk.move(photo, to: place.appending(name), mode: .failIfExists)
    }

    func handle(
        _ deed: SimulationStep.OnShareFolder, ofShareFolder pick: Int, _ name: Int, _ machine: SimulatedMachine
    ) throws(FileError) {
        let disk = machine.shared
        let places = Places(disk, .shared)
        guard let folder = places.shareFolder(pick), let name = FileName(Names.folder(name)) else { return }
        let paths = files(in: folder, of: disk)
        guard !paths.contains(where: { isBeingWritten($0, disk) }) else { return }
        switch deed {
        case .rename: try disk.move(folder, to: folder.parent.appending(name), mode: .failIfExists)
        case .moveUp: try disk.move(folder, to: RelativePath([name]), mode: .failIfExists)
        case .moveInto:
            guard let other = places.shareFolder(pick / 7), !other.isAtOrBelow(folder) else { return }
            try disk.move(folder, to: other.appending(name), mode: .failIfExists)
        case .carry:
            let target = RelativePath([name])
            guard machine.library.isMounted, try machine.library.stamp(target.description) == nil else { return }
            for path in paths {
                let place = target.appending(contentsOf: path, after: folder)
                try disk.move(path.description, to: place.description, on: machine.library)
            }
            try disk.delete(folder)
        case .copy:
            let target = folder.parent.appending(name)
            guard try disk.stamp(target.description) == nil else { return }
            for path in paths {
                try disk.write(target.appending(contentsOf: path, after: folder), bytes: try disk.read(path))
            }
        case .swap:
            guard let other = places.shareFolder(pick / 7), other != folder else { return }
            try disk.move(folder, to: other, mode: .exchange)
        case .renameOwner: try disk.move(folder.parent, to: RelativePath([name]), mode: .failIfExists)
        case .deleteOwner: try disk.delete(folder.parent)
        }
    }

    /// The files of a folder at any depth, in order, without those that are not for users.
    private func files(in folder: RelativePath, of disk: SimulatedDisk) -> [RelativePath] {
        disk.entries().filter { path, entry in
            entry.kind == .file && path.isAtOrBelow(folder)
                && !path.names.contains { $0.bytes.first == UInt8(ascii: ".") }
        }.keys.sorted()
    }
}

extension SimulationStep.Root {
    /// The other watched folder of the same machine.
    var other: SimulationStep.Root { self == .library ? .shared : .library }
}

extension RelativePath {
    /// This path with what another path has behind a folder of its.
    fileprivate func appending(contentsOf path: RelativePath, after folder: RelativePath) -> RelativePath {
        path.names.dropFirst(folder.names.count).reduce(self) { $0.appending($1) }
    }
}
