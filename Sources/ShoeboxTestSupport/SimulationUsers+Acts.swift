import ShoeboxModel
import ShoeboxWorld

extension SimulationUsers {
    /// Does an act, as far as the file system lets it.
    func carryOut(
        _ act: SimulationStep.Act, _ machine: SimulatedMachine, _ disk: SimulatedDisk, _ root: SimulationStep.Root,
        _ step: Int
    ) throws(FileError) {
        let places = Places(disk, root)
        switch act {
        case .write(let folder, let name, let bytes):
            guard let target = places.child(of: folder, Names.photo(name)) else { return }
            try write(target, bytes, .inPlace, machine, disk, step)
        case .writeDeep(let folder, let name, let bytes):
            guard let outer = places.child(of: folder, Names.folder(name)),
                let inner = FileName(Names.folder(name / 4)),
                let photo = FileName(Names.photo(name / 16))
            else { return }
            try disk.makeDirectories(outer.appending(inner))
            try write(outer.appending(inner).appending(photo), bytes, .inPlace, machine, disk, step)
        case .overwrite(let file, let saving, let bytes):
            guard let target = places.file(file) else { return }
            try write(target, bytes, saving, machine, disk, step)
        case .rename(let file, let name):
            guard let source = places.file(file), let name = FileName(Names.photo(name)), !isBeingWritten(source, disk)
            else { return }
            try disk.move(source, to: source.parent.appending(name))
        case .move(let file, let folder):
            guard let source = places.file(file), let folder = places.folder(folder), let name = source.last,
                !isBeingWritten(source, disk)
            else { return }
            try disk.move(source, to: folder.appending(name))
        case .swap(let file, let other):
            guard let one = places.file(file), let two = places.file(other), one != two, !isBeingWritten(one, disk),
                !isBeingWritten(two, disk)
            else { return }
            try disk.move(one, to: two, mode: .exchange)
        case .fileToFolder(let file):
            guard let target = places.file(file), let name = FileName(Names.photo(file)) else { return }
            try disk.delete(target)
            try write(target.appending(name), 20, .inPlace, machine, disk, step)
        case .folderToFile(let folder):
            guard let target = places.subfolder(folder) else { return }
            try disk.delete(target)
            try write(target, 20, .inPlace, machine, disk, step)
        case .makeFolder(let parent, let name):
            guard let target = places.child(of: parent, Names.folder(name)) else { return }
            try disk.makeDirectories(target)
        case .moveFolder(let folder, let parent, let name):
            guard let source = places.subfolder(folder), let target = places.child(of: parent, Names.folder(name))
            else { return }
            try disk.move(source, to: target, mode: .failIfExists)
        case .deleteFolder(let folder):
            guard let target = places.subfolder(folder) else { return }
            try disk.delete(target)
        case .delete(let file):
            guard let target = places.file(file) else { return }
            try disk.delete(target)
        case .copy(let file, let name):
            guard let source = places.file(file), let name = FileName(Names.photo(name)) else { return }
            let target = source.parent.appending(name)
            guard target != source else { return }
            try disk.write(target, bytes: try disk.read(source))
            if let sidecar = Names.sidecar(of: source, on: disk), let new = name.appending(".json") {
                try disk.write(target.parent.appending(new), bytes: try disk.read(sidecar))
            }
        case .caption(let file): try editSidecar(of: places.file(file), .caption, machine, disk, step)
        case .tag(let file): try editSidecar(of: places.file(file), .tag, machine, disk, step)
        case .deleteMany(let keeping):
            for path in places.files.dropFirst(keeping) { try disk.delete(path) }
        case .writeMany(let folder, let count, let bytes):
            for number in 0..<count {
                guard let target = places.child(of: folder, "DSC_\(number).jpg") else { return }
                try write(target, bytes, .inPlace, machine, disk, step)
            }
        case .deleteSidecar(let file):
            guard let photo = places.file(file), let sidecar = Names.sidecar(of: photo, on: disk) else { return }
            touch(photo, disk, on: machine)
            try disk.delete(sidecar)
        case .rate(let file, let stars):
            guard let photo = places.file(file), let sidecar = Names.sidecar(of: photo, on: disk) else { return }
            touch(photo, disk, on: machine)
            guard let value = try? JSONText.parse(try disk.read(sidecar)), let object = value.object else { return }
            var members = object.members.filter { $0.key != "rating" }
            members.append(JSONObject.Member("rating", .integer(Int64(stars))))
            try disk.write(sidecar, bytes: JSONText.encode(.object(JSONObject(members))))
        case .deleteShareFolder(let share):
            guard root == .shared, let target = places.shareFolder(share) else { return }
            try disk.delete(target)
        case .breakSidecar(let file):
            guard let photo = places.file(file), let sidecar = Names.sidecar(of: photo, on: disk) else { return }
            touch(photo, disk, on: machine)
            try disk.write(sidecar, bytes: Array("{ oops ".utf8) + (try disk.read(sidecar)))
        case .beginWriting(let folder, let name, let bytes):
            guard let target = places.child(of: folder, Names.photo(name)),
                // What was opened under a name is closed by that name: one at a time. So is each file, which may have another
                // name by now: two who write one file write over each other.
                !state.withLock({ $0.begun.contains { $0.disk === disk && $0.path == target.description } }),
                !disk.isOpenForWriting(target)
            else { return }
            let whole = freshBytes(bytes, machine.name)
            let half = whole.count / 2
            try disk.beginWriting(target.description, Array(whole[..<half]))
            state.withLock { $0.begun.append((machine.name, disk, target.description, Array(whole[half...]))) }
        case .endWriting: try endWriting(disk, machine.name, step)
        case .inMoved(let folder, let parent, let name, let inside, let pick):
            guard let source = places.subfolder(folder), let target = places.child(of: parent, Names.folder(name))
            else { return }
            try disk.move(source, to: target, mode: .failIfExists)
            try carryOut(inside, pick, in: target, machine, disk, root, step)
        case .carryOver, .moveOn: try moveOver(act, machine, root)
        case .swapThrough, .swapFolders, .copyFolder, .carry, .carryFolder, .copyTo, .moveTwins, .swapNamesakes:
            try travel(act, machine, root)
        case .part(let file, let folder, let isFolder):
            guard let photo = places.file(file), let (source, target) = places.parting(file, folder, isFolder),
                source != target, let name = photo.last, !isBeingWritten(photo, disk)
            else { return }
            let sidecar = isFolder ? nil : Names.sidecar(of: photo, on: disk)
            try disk.move(source, to: target, mode: .failIfExists)
            if let sidecar, let last = sidecar.last {
                try disk.move(sidecar, to: target.parent.appending(last), mode: .failIfExists)
            }
            let place = isFolder ? target.appending(name) : target
            state.withLock { $0.lastMoved[machine.name] = (disk.name, place) }
        case .editMoved(let bytes):
            guard let last = try lastMoved(on: machine, disk) else { return }
            if bytes > 0 { return try write(last, bytes, .replacing, machine, disk, step) }
            try editSidecar(of: last, .caption, machine, disk, step)
        case .deleteMoved:
            guard let last = try lastMoved(on: machine, disk) else { return }
            try disk.delete(last)
        case .overwriteMoved(let file, let folder, let saving, let isBefore, let bytes):
            guard let source = places.file(file), let name = source.last,
                let target = places.folder(folder)?.appending(name), target != source, !isBeingWritten(source, disk)
            else { return }
            let saysMore = bytes.isMultiple(of: 2)
            if isBefore {
                try write(source, bytes, saving, machine, disk, step)
                if saysMore { try editSidecar(of: source, .caption, machine, disk, step) }
            }
            let sidecar = Names.sidecar(of: source, on: disk)
            try disk.move(source, to: target, mode: .failIfExists)
            state.withLock { $0.lastMoved[machine.name] = (disk.name, target) }
            if let sidecar, let last = sidecar.last {
                try disk.move(sidecar, to: target.parent.appending(last), mode: .failIfExists)
            }
            if !isBefore {
                try write(target, bytes, saving, machine, disk, step)
                if saysMore { try editSidecar(of: target, .caption, machine, disk, step) }
            }
        case .putBack, .writeInPlace: try comeBack(act, machine, disk, root, step)
        case .replaceFolder(let folder, let deed, let with, let name, let pick):
            try replaceFolder(folder, deed, with: with, name: name, pick: pick, disk, root)
        case .shareFolder(let share, let deed, let name): try handle(deed, ofShareFolder: share, name, machine)
        case .tagFile(let pick, let deed): try handle(deed, ofTagFile: pick, machine, disk, step)
        }
    }

    /// The photo that the user of a machine moved last, if it is still there.
    func lastMoved(on machine: SimulatedMachine, _ disk: SimulatedDisk) throws(FileError) -> RelativePath? {
        guard let last = state.withLock({ $0.lastMoved[machine.name] }), last.root == disk.name,
            try disk.stamp(last.path.description) != nil, !isBeingWritten(last.path, disk)
        else { return nil }
        return last.path
    }

    /// Does something in a folder that just came to its place.
    private func carryOut(
        _ inside: SimulationStep.Inside, _ pick: Int, in moved: RelativePath, _ machine: SimulatedMachine,
        _ disk: SimulatedDisk, _ root: SimulationStep.Root, _ step: Int
    ) throws(FileError) {
        let all = Places(disk, root)
        let (within, elsewhere) = (all.only { $0.isAtOrBelow(moved) }, all.only { !$0.isAtOrBelow(moved) })
        let name = pick / 10
        switch inside {
        case .write:
            guard let target = within.child(of: pick, Names.photo(name)) else { return }
            try write(target, 30, .inPlace, machine, disk, step)
        case .overwrite, .replace, .overwriteAndRename:
            guard let file = within.file(pick) else { return }
            try write(file, 30, inside == .replace ? .replacing : .inPlace, machine, disk, step)
            guard inside == .overwriteAndRename, let other = FileName(Names.folder(name)) else { return }
            try disk.move(moved, to: moved.parent.appending(other), mode: .failIfExists)
        case .moveFileIn, .moveFileOut:
            let (from, to) = inside == .moveFileIn ? (elsewhere, within) : (within, elsewhere)
            guard let file = from.file(pick), let folder = to.folder(name), let last = file.last,
                !isBeingWritten(file, disk)
            else { return }
            try disk.move(file, to: folder.appending(last))
        case .moveFolderIn, .moveFolderOut:
            let (from, to) = inside == .moveFolderIn ? (elsewhere, within) : (within, elsewhere)
            guard let folder = from.subfolder(pick), folder != moved, !moved.isAtOrBelow(folder),
                let target = to.child(of: name, Names.folder(pick))
            else { return }
            try disk.move(folder, to: target, mode: .failIfExists)
        case .delete:
            guard let file = within.file(pick) else { return }
            try disk.delete(file)
        }
    }

    func write(
        _ path: RelativePath, _ count: Int, _ saving: SimulatedDisk.Saving, _ machine: SimulatedMachine,
        _ disk: SimulatedDisk, _ step: Int
    ) throws(FileError) {
        let bytes = freshBytes(count, machine.name)
        let isNew = try disk.stamp(path.description) == nil
        try disk.write(path, bytes: bytes, saving: saving)
        note(.content, bytes, machine.name, disk, path, step, isNewFile: isNew)
    }

    func note(
        _ kind: SimulationLedger.Kind, _ bytes: [UInt8], _ machine: String, _ disk: SimulatedDisk, _ path: RelativePath,
        _ step: Int, isNewFile: Bool = false, of photo: [UInt8]? = nil
    ) {
        let now = disk.clock.trueTime.milliseconds
        state.withLock {
            $0.ledger.add(
                kind, bytes, machine: machine, root: disk.name, path: path, step: step, now: now, isNewFile: isNewFile,
                of: photo)
        }
    }

    /// Bytes that no other act writes.
    private func freshBytes(_ count: Int, _ machine: String) -> [UInt8] {
        state.withLock { state in
            state.words += 1
            return Array("photo \(state.words) of \(machine) ".utf8) + state.random.bytes(count)
        }
    }

    func endWriting(_ disk: SimulatedDisk, _ machine: String, _ step: Int) throws(FileError) {
        let held: (path: String, rest: [UInt8])? = state.withLock { state in
            guard let index = state.begun.firstIndex(where: { $0.disk === disk }) else { return nil }
            let held = state.begun.remove(at: index)
            return (held.path, held.rest)
        }
        guard let held else { return }
        try disk.continueWriting(held.path, held.rest)
        if let closed = try disk.endWriting(held.path) {
            note(.content, closed.bytes, machine, disk, closed.path, step)
        }
    }

    private func editSidecar(
        of photo: RelativePath?, _ kind: SimulationLedger.Kind, _ machine: SimulatedMachine, _ disk: SimulatedDisk,
        _ step: Int
    ) throws(FileError) {
        guard let photo, let name = photo.last?.appending(".json") else { return }
        touch(photo, disk, on: machine)
        let path = Names.sidecar(of: photo, on: disk) ?? photo.parent.appending(name)
        var members: [JSONObject.Member] = [JSONObject.Member("format", .string("shoebox.sidecar/1"))]
        if try disk.stamp(path.description) != nil {
            // A broken sidecar is not for this user to mend.
            guard let value = try? JSONText.parse(try disk.read(path)), let object = value.object else { return }
            members = object.members
        }
        let word = state.withLock { state in
            state.words += 1
            return "word\(state.words)"
        }
        if kind == .caption {
            members.removeAll { $0.key == "caption" }
            members.append(JSONObject.Member("caption", .string(word)))
        } else {
            let old = members.first { $0.key == "tags" }?.value.array ?? []
            members.removeAll { $0.key == "tags" }
            members.append(JSONObject.Member("tags", .array(old + [.string(word)])))
        }
        try disk.write(path, bytes: JSONText.encode(.object(JSONObject(members))))
        note(kind, Array(word.utf8), machine.name, disk, path, step, of: try disk.read(photo))
        if kind == .caption { noteCaption(word, of: photo, on: disk, machine.name) }
    }
}
