import Foundation
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxWorld
import Testing

/// Hashing real files.
struct ContentHasherTests {
    @Test func `the hash is SHA-256`() throws {
        let directory = try TemporaryDirectory()
        try directory.write("abc", to: "a")
        let (hash, stamp) = try ContentHasher.hash(path("a"), directory.files)
        #expect(hash.description == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(stamp == (try directory.files.entry(at: path("a"))?.stamp))
    }

    @Test func `several files are hashed as each by itself is, in their order, and one that cannot be keeps none back`()
        throws
    {
        let directory = try TemporaryDirectory()
        var paths: [RelativePath] = []
        for number in 0..<9 {
            try directory.write(String(repeating: "\(number)", count: number * 50_000), to: "\(number)")
            paths.append(path("\(number)"))
        }
        paths.insert(path("missing"), at: 4)
        let results = ContentHasher.hashAll(paths, directory.files)
        #expect(results.count == paths.count)
        for (path, result) in zip(paths, results) {
            switch result {
            case .hashed(let hash, let stamp):
                let alone = try ContentHasher.hash(path, directory.files)
                #expect(hash == alone.0)
                #expect(stamp == alone.1)
            case .failed(let error):
                #expect(path == paths[4])
                #expect(error.code == .absent)
            }
        }
        #expect(ContentHasher.hashAll([], directory.files).isEmpty)
    }
}
