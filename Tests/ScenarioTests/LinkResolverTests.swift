import Foundation
import Testing

@testable import Shoebox

/// Where configured folders really are, without touching mounts of other machines.
@Suite struct LinkResolverTests {
    @Test func `links are followed as the system follows them, and what does not exist is kept`() throws {
        let place = FileManager.default.temporaryDirectory.path + "/shoebox-links-\(UUID().uuidString)"
        let manager = FileManager.default
        try manager.createDirectory(atPath: place + "/a/b", withIntermediateDirectories: true)
        defer { try? manager.removeItem(atPath: place) }
        try manager.createSymbolicLink(atPath: place + "/to-b", withDestinationPath: "a/b")
        try manager.createSymbolicLink(atPath: place + "/a/up", withDestinationPath: "../to-b/..")
        try manager.createSymbolicLink(atPath: place + "/round", withDestinationPath: "round")
        try manager.createSymbolicLink(atPath: place + "/absolute", withDestinationPath: place + "/a")
        let real = try #require(AbsolutePath((place as NSString).resolvingSymlinksInPath))
        func resolved(_ text: String) throws -> String {
            let path = LinkResolver().resolved(try #require(AbsolutePath("\(place)/\(text)")))
            return String(path.text.dropFirst(real.text.count))
        }
        #expect(try resolved("to-b") == "/a/b")
        #expect(try resolved("a/up") == "/a")
        #expect(try resolved("absolute/up/new/file") == "/a/new/file")
        #expect(try resolved("round/x") == "/round/x")
        #expect(try resolved("none/at/all") == "/none/at/all")
    }
}
