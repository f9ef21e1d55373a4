import Foundation
import Glibc
import ShoeboxModel
import ShoeboxWorld

/// A directory of a test's own, removed with everything in it when released.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/shoebox-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var files: LiveFileSystem { LiveFileSystem(root: path) }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    func text(of name: String) -> String? {
        FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) }
    }

    func link(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
    }

    func rename(_ from: String, to: String) throws {
        guard Glibc.rename("\(path)/\(from)", "\(path)/\(to)") == 0 else { throw POSIXError(.EIO) }
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }

    /// All files and directories below a directory, sorted.
    func tree(_ name: String = "") -> [String] {
        (FileManager.default.enumerator(atPath: "\(path)/\(name)")?.allObjects as? [String] ?? []).sorted()
    }
}

/// A path that is written out in a test.
func path(_ text: String) -> RelativePath { RelativePath(text) ?? .root }

/// A name that is written out in a test.
func name(_ text: String) -> FileName { path(text).names[0] }

/// A place on the mount that is written out in a test.
func place(_ text: String) -> MountPath { MountPath(text) ?? .root }
