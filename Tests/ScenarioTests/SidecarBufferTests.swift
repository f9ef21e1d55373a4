import Shoebox
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

/// An editor holds a sidecar open, and saves it twice; it never sees that the file is written anew in between.
@Suite struct SidecarBufferTests {
    /// What a person writes in the buffer instead of what is there, and what the photo has then.
    struct Edit: CustomStringConvertible {
        var description: String
        var place: String
        var text: String
        var isSaid: @Sendable (SidecarFields) -> Bool

        func made(in buffer: String) throws -> String {
            let result = buffer.replacing(place, with: text)
            try #require(result != buffer, "\(buffer)")
            return result
        }
    }

    private static let caption = "\"caption\": \"before\""
    static let edits = [
        Edit(description: "tag", place: "\"tags\": []", text: "\"tags\": [\"Lake\"]") { $0.tags == ["Lake"] },
        Edit(description: "caption", place: caption, text: "\"caption\": \"other\"") { $0.caption == "other" },
        Edit(description: "rating", place: caption, text: caption + ", \"rating\": 4") { $0.rating == 4 },
        Edit(description: "field", place: caption, text: caption + ", \"fields\": {\"place\": \"Lake\"}") {
            $0.custom == ["place": "\"Lake\""]
        },
    ]

    /// Two devices of alice, a photo with a caption, and its sidecar as an editor has it open.
    private func opened() throws -> (Village, alice: Replica, second: Replica, buffer: String) {
        let (village, alice, second) = try Village.twoDevices(["a.jpg": "aaa"])
        try #require(alice.request(.caption(path: alice.path("a.jpg"), text: "before")).code == 0)
        try #require(try village.settle())
        return (village, alice, second, try alice.machine.library.text("a.jpg.json"))
    }

    private func fields(_ replica: Replica) throws -> SidecarFields {
        try #require(replica.sidecar("a.jpg", .library)?.fields)
    }

    @Test(arguments: edits, [false, true])
    func `what is said in one buffer and taken back in it is said no more`(edit: Edit, isRestarted: Bool) throws {
        let (village, alice, second, buffer) = try opened()
        let disk = alice.machine.library
        for _ in 0..<2 {
            try disk.write("a.jpg.json", edit.made(in: buffer))
            try #require(try village.settle())
            #expect(try edit.isSaid(fields(second)))
            if isRestarted { try alice.restart() }
            try disk.write("a.jpg.json", buffer)
            try #require(try village.settle())
            for replica in [alice, second] {
                #expect(try fields(replica) == SidecarFields(caption: "before", tags: []))
            }
        }
    }

    /// What was opened is kept from when something else was shown, not from when it was written.
    @Test func `a buffer of a sidecar that was written long ago is saved as often as one of today`() throws {
        let (village, alice, second, buffer) = try opened()
        village.world.clock.advance(milliseconds: 60 * 86_400_000)
        let disk = alice.machine.library
        let tagged = try Self.edits[0].made(in: buffer)
        for text in [tagged, try Self.edits[2].made(in: tagged)] {
            try disk.write("a.jpg.json", text)
            try #require(try village.settle())
        }
        try #require(try fields(second) == SidecarFields(caption: "before", tags: ["Lake"], rating: 4))
        try disk.write("a.jpg.json", buffer)
        try #require(try village.settle())
        for replica in [alice, second] {
            #expect(try fields(replica) == SidecarFields(caption: "before", tags: []))
        }
    }

    @Test func `what others said meanwhile stays when something is taken back in a buffer`() throws {
        let (village, alice, second, buffer) = try opened()
        let disk = alice.machine.library
        try disk.write("a.jpg.json", Self.edits[0].made(in: buffer))
        try #require(try village.settle())
        try #require(try fields(second).tags == ["Lake"])
        let photo = second.path("a.jpg")
        try #require(second.request(.caption(path: photo, text: "hers")).code == 0)
        try #require(second.request(.tag(path: photo, titles: ["Sea"], isMember: true)).code == 0)
        try #require(second.request(.rate(path: photo, value: 3)).code == 0)
        try #require(try village.settle())
        try disk.write("a.jpg.json", buffer)
        try #require(try village.settle())
        for replica in [alice, second] {
            #expect(try fields(replica) == SidecarFields(caption: "hers", tags: ["Sea"], rating: 3))
        }
    }

    @Test func `a sidecar that is as before after the machine's fall takes nothing back`() throws {
        let (village, alice, second, buffer) = try opened()
        let disk = alice.machine.library
        try disk.write("a.jpg.json", Self.edits[0].made(in: buffer))
        try #require(try village.settle())
        try #require(try fields(second).tags == ["Lake"])
        alice.machine.powerCut(.losingNothing)
        try alice.restart()
        try disk.write("a.jpg.json", buffer)
        try #require(try village.settle())
        #expect(try fields(second).tags == ["Lake"])
    }
}
