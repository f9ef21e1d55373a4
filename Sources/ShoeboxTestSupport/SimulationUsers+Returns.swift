import ShoeboxModel
import ShoeboxWorld

extension SimulationUsers {
    /// A photo that a user deleted.
    struct Removed {
        var root: SimulationStep.Root
        var path: RelativePath
        var bytes: [UInt8]
        /// Its sidecar; nil if it had none, or that stayed.
        var sidecar: (path: RelativePath, bytes: [UInt8])?
    }

    /// Notes what a deletion took.
    func noteRemoved(
        on machine: SimulatedMachine, _ disk: SimulatedDisk, _ root: SimulationStep.Root,
        since before: [String: [UInt8]]
    ) {
        let now = disk.tree(without: ".shoebox")
        let gone = before.filter { now[$0.key] == nil }
        let photos = gone.keys.filter { !$0.hasSuffix(".json") }.sorted().compactMap { text -> Removed? in
            guard let path = RelativePath(text), let bytes = gone[text] else { return nil }
            let sidecars = [".shoebox.json", ".json"].compactMap { suffix -> (path: RelativePath, bytes: [UInt8])? in
                guard let bytes = gone[text + suffix], let path = RelativePath(text + suffix) else { return nil }
                return (path, bytes)
            }
            return Removed(root: root, path: path, bytes: bytes, sidecar: sidecars.first)
        }
        guard !photos.isEmpty else { return }
        state.withLock { $0.removed[machine.name] = photos }
    }

    /// Where a photo was that the last deletion on a machine took.
    func removed(_ pick: Int, on machine: SimulatedMachine) -> (SimulationStep.Root, RelativePath)? {
        let all = state.withLock { $0.removed[machine.name] ?? [] }
        return all.isEmpty ? nil : (all[pick % all.count].root, all[pick % all.count].path)
    }

    /// Puts back what was deleted, from a copy that its user has elsewhere, or puts something else in its place.
    func comeBack(
        _ act: SimulationStep.Act, _ machine: SimulatedMachine, _ disk: SimulatedDisk, _ root: SimulationStep.Root,
        _ step: Int
    ) throws(FileError) {
        let all = state.withLock { $0.removed[machine.name] ?? [] }.filter { $0.root == root }
        guard !all.isEmpty else { return }
        switch act {
        case .putBack(let first, let count, let withSidecars):
            for offset in 0..<min(count, all.count) {
                let photo = all[(first + offset) % all.count]
                guard try disk.stamp(photo.path.description) == nil else { continue }
                try disk.makeDirectories(photo.path.parent)
                try disk.write(photo.path, bytes: photo.bytes)
                guard withSidecars, let sidecar = photo.sidecar, try disk.stamp(sidecar.path.description) == nil else {
                    continue
                }
                try disk.write(sidecar.path, bytes: sidecar.bytes)
            }
        case .writeInPlace(let pick, let bytes):
            let path = all[pick % all.count].path
            try disk.makeDirectories(path.parent)
            try write(path, bytes, .inPlace, machine, disk, step)
        default: break
        }
    }
}
