import Foundation
import ShoeboxModel
import ShoeboxWorld
import Testing

extension FileSystemSubject {
    static let live: [FileSystemSubject] = [
        FileSystemSubject(testDescription: "live") {
            let folder = try TemporaryFolder()
            let root = folder.path + "/root"
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            return FileSystemFixture(
                files: LiveFileSystem(root: root),
                makeLink: { path, target in
                    try FileManager.default.createSymbolicLink(
                        atPath: root + "/" + path, withDestinationPath: target)
                },
                takeRootAway: { try FileManager.default.moveItem(atPath: root, toPath: folder.path + "/away") },
                cleanUp: { folder.remove() })
        }
    ]
}

extension MountSubject {
    static let live: [MountSubject] = [
        MountSubject(testDescription: "live") {
            let folder = try TemporaryFolder()
            let root = folder.path + "/container"
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            return MountFixture(
                mount: LiveMount(root: root),
                allNames: { directory in
                    try FileManager.default.contentsOfDirectory(atPath: root + "/" + directory.description).sorted()
                },
                takeAway: { try FileManager.default.moveItem(atPath: root, toPath: folder.path + "/away") },
                cleanUp: { folder.remove() })
        }
    ]
}

/// A directory of a test's own.
private struct TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/shoebox-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    func remove() {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record("cannot remove '\(path)': \(error)")
        }
    }
}
