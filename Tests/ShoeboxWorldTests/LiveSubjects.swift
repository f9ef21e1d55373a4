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
        real("live") { LiveMount(root: $0) },
        real("process") { ProcessMount(root: $0, executable: try builtExecutable()) },
    ]

    private static func real(_ name: String, _ make: @escaping @Sendable (String) throws -> any Mount) -> MountSubject {
        MountSubject(testDescription: name) {
            let folder = try TemporaryFolder()
            let root = folder.path + "/container"
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            return MountFixture(
                mount: try make(root),
                allNames: { directory in
                    try FileManager.default.contentsOfDirectory(atPath: root + "/" + directory.description).sorted()
                },
                takeAway: { try FileManager.default.moveItem(atPath: root, toPath: folder.path + "/away") },
                cleanUp: { folder.remove() })
        }
    }
}

/// The command line's executable, built beside the tests.
func builtExecutable() throws -> String {
    let beside = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL.deletingLastPathComponent()
    let url = beside ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
    let path = url.appendingPathComponent("shoebox").path
    try #require(FileManager.default.isExecutableFile(atPath: path), "run 'swift build' first: there is no \(path)")
    return path
}

/// A directory of a test's own.
struct TemporaryFolder: Sendable {
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
