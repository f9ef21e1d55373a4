import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

// What users do with files.

extension Stage {
    /// Does it: what a user does with files first, then the command. Nil if there is no command.
    func begin() throws -> Reply? {
        let library = alice.machine.library
        let others = bob.machine.shared
        undone = (try? alice.store.read { db in try db.history(after: 0, limit: .max).map(\.token).max() }) ?? 0
        switch deed {
        case .importing:
            for number in 0..<3 { try library.write("Summer/new/\(number).jpg", "new \(number)") }
            try library.write("Private/d.jpg", "ddd")
            try library.write(
                "Private/d.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Lake", "tags": ["one", "two"]}"#)
        case .overwriting: try library.write("Summer/a.jpg", "other", saving: .replacing)
        case .renaming:
            try library.move("Summer/a.jpg", to: "Private/z.jpg")
            try library.move("Summer/deep", to: "Summer/deeper")
        case .moving:
            try library.move("Summer/deep/b.jpg", to: "Summer/b.jpg")
            try library.move("Private/c.jpg", to: "Summer/c.jpg")
        case .swapping:
            try library.move(
                try #require(RelativePath("Summer/a.jpg")), to: try #require(RelativePath("Private/c.jpg")),
                mode: .exchange)
        case .movingReplaced:
            try cross("Summer/a.jpg", library, "Summer/deep/moved.jpg", library)
            try library.write("Summer/a.jpg", "new")
        case .swappingSaved:
            try cross("Summer/a.jpg", library, "Summer/aside.jpg", library)
            try cross("Summer/d.jpg", library, "Summer/a.jpg", library)
            try cross("Summer/aside.jpg", library, "Summer/d.jpg", library)
            try library.write("Summer/a.jpg", "saved", saving: .replacing)
        case .movingOut:
            try cross("alice/Summer/a.jpg", others, "a.jpg", bob.machine.library)
            try others.write("alice/Summer/a.jpg", "new")
        case .movingIn:
            try cross("m.jpg", bob.machine.library, "alice/Summer/m.jpg", others)
            try bob.machine.library.write("m.jpg", "new")
        case .changingPlaces:
            try cross("alice/Summer/a.jpg", others, "aside.jpg", bob.machine.library)
            try cross("m.jpg", bob.machine.library, "alice/Summer/a.jpg", others)
            for suffix in ["", ".json"] {
                try bob.machine.library.move("aside.jpg" + suffix, to: "m.jpg" + suffix)
            }
        case .movingSaved:
            for suffix in ["", ".json"] { try library.delete("Summer/deep/b.jpg" + suffix) }
            try cross("Summer/d.jpg", library, "Summer/deep/b.jpg", library)
            try library.write("Summer/deep/b.jpg", "saved", saving: .replacing)
        case .renamedEdited:
            let text = String(decoding: try others.read("alice/Summer/a.jpg.json"), as: UTF8.self)
            try others.write("alice/Summer/a.jpg.json", text.replacing("of a", with: "by hand"))
        case .copyingTags:
            for (path, bytes) in library.tree() where path.hasPrefix("Summer/.tags/") {
                let copy = path.replacing("Summer/", with: "Summer/deep/")
                try library.write(copy, String(decoding: bytes, as: UTF8.self))
            }
        case .deleting: try library.delete("Summer/deep")
        case .deletingTheirs: try others.delete("alice/Summer/deep/b.jpg")
        case .droppingTheirs: try others.delete("alice/Summer")
        case .sidecar:
            try library.write(
                "Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "Sea", "tags": ["sun"]}"#)
        case .sidecarMended:
            try library.write("Summer/a.jpg.json", #"{"format": "shoebox.sidecar/1", "caption": "mended"}"#)
        case .segmentMended:
            let whole = try #require(segment)
            village.world.storage.rawWrite(whole.path, whole.bytes)
        case .conflict, .readOnlyEdit: try others.write("alice/Summer/a.jpg", "by bob")
        default: return command()
        }
        return nil
    }

    /// Moves a photo with its sidecar, perhaps to the other watched folder.
    private func cross(_ source: String, _ from: SimulatedDisk, _ target: String, _ to: SimulatedDisk) throws {
        for suffix in ["", ".json"] {
            if from === to {
                try from.move(source + suffix, to: target + suffix)
            } else {
                try from.move(source + suffix, to: target + suffix, on: to)
            }
        }
    }
}
