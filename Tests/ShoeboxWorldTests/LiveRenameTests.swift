import Foundation
import Glibc
import Testing

@testable import ShoeboxWorld

/// Renames on a file system that has no flags for them.
final class LiveRenameTests {
    private let path = NSTemporaryDirectory() + "shoebox-rename-\(UUID().uuidString)"
    private let directory: Int32

    init() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        directory = open(path, O_RDONLY | O_DIRECTORY)
        try #require(directory >= 0)
    }

    deinit {
        close(directory)
        try? FileManager.default.removeItem(atPath: path)
    }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name)"))
    }

    private func contents() throws -> [String: String] {
        var result: [String: String] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) {
            result[name] = String(
                decoding: FileManager.default.contents(atPath: "\(path)/\(name)") ?? Data(), as: UTF8.self)
        }
        return result
    }

    /// The longest name has no room for more.
    @Test(arguments: ["item", String(repeating: "i", count: 255)])
    func `an exchange in steps swaps what two names have, and leaves nothing`(name: String) throws {
        try write("one", name)
        try write("two", "photo")
        let error = LiveRename.exchangeInThreeSteps(
            from: directory, name.utf8CString.map { $0 }, to: directory, "photo".utf8CString.map { $0 })
        #expect(error == 0)
        #expect(try contents() == [name: "two", "photo": "one"])
    }

    @Test func `an exchange with what is gone changes nothing`() throws {
        try write("one", "item")
        let error = LiveRename.exchangeInThreeSteps(
            from: directory, "item".utf8CString.map { $0 }, to: directory, "photo".utf8CString.map { $0 })
        #expect(error == ENOENT)
        #expect(try contents() == ["item": "one"])
    }

    @Test func `a rename to a free name takes no name that is taken`() throws {
        try write("one", "item")
        try write("two", "photo")
        let names = ["item", "photo", "free"].map { $0.utf8CString.map { $0 } }
        #expect(LiveRename.renameToFreeName(from: directory, names[0], to: directory, names[1]) == EEXIST)
        #expect(LiveRename.renameToFreeName(from: directory, names[0], to: directory, names[2]) == 0)
        #expect(try contents() == ["free": "one", "photo": "two"])
    }
}
