import ShoeboxModel
import ShoeboxWorld

// What users do to the files of tags: `.tags/Title.json` at the top of a library and of each share.

extension SimulationUsers {
    func handle(
        _ deed: SimulationStep.OnTagFile, ofTagFile pick: Int, _ machine: SimulatedMachine, _ disk: SimulatedDisk,
        _ step: Int
    ) throws(FileError) {
        let files = tagFiles(on: disk)
        guard !files.isEmpty else { return }
        let path = files[pick % files.count]
        switch deed {
        case .retitle, .unite, .make:
            guard let value = try? JSONText.parse(try disk.read(path)), let object = value.object else { return }
            let other = files[pick / 7 % files.count]
            let title = deed == .unite ? try title(of: other, disk) ?? freshWord() : freshWord()
            if deed != .make, let former = object["name"]?.text { noteRetitled(former) }
            // What had the former title has this one now, alone of those that were given with it.
            if deed == .unite { noteRetitled(title) }
            var members = object.members.filter { $0.key != "name" && (deed != .make || $0.key != "record") }
            members.append(JSONObject.Member("name", .string(title)))
            guard let name = FileName("\(title).json") else { return }
            let target = deed == .make ? path.parent.appending(name) : path
            try disk.write(target, bytes: JSONText.encode(.object(JSONObject(members))))
            // Where its user may not write, it counts for nobody.
            guard disk === machine.library, deed != .unite else { return }
            note(.tag, Array(title.utf8), machine.name, disk, target, step)
        case .remove: try disk.delete(path)
        case .rename:
            guard let name = FileName("tag-\(pick % 3).json") else { return }
            try disk.move(path, to: path.parent.appending(name))
        case .breakIt: try disk.write(path, bytes: Array("{ oops ".utf8) + (try disk.read(path)))
        case .removeAll: try disk.delete(path.parent)
        }
    }

    private func title(of path: RelativePath, _ disk: SimulatedDisk) throws(FileError) -> String? {
        (try? JSONText.parse(try disk.read(path)))?.object?["name"]?.text
    }

    private func tagFiles(on disk: SimulatedDisk) -> [RelativePath] {
        disk.entries().filter { path, entry in
            entry.kind == .file && path.parent.last?.description == ".tags"
        }.keys.sorted()
    }
}
