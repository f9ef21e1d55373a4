import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import Testing

@testable import Shoebox

/// What `history` lists.
@Suite struct HistoryListingTests {
    @Test func `of a long history the newest is listed, and what is left out is said`() throws {
        let (village, alice, _) = try Village.twoDevices(["a.jpg": "aaa"])
        for word in ["one", "two", "three", "four"] {
            #expect(alice.request(.caption(path: alice.path("a.jpg"), text: word)).code == 0)
            try #require(try village.settle())
        }
        let listing = TreeListing(of: alice.engine)
        func captions(_ entries: [HistoryEntry]) -> [String] {
            entries.flatMap(\.items).flatMap(\.fields).filter { $0.key == "caption" }.map(\.value)
        }
        let newest = try listing.history(after: nil, limit: 3)
        #expect(captions(newest.entries) == ["three", "four"] && newest.isCut, "\(newest)")
        #expect(try newest.token == alice.store.read { db in try db.newestToken() })
        let all = try listing.history(after: nil)
        #expect(captions(all.entries) == ["one", "two", "three", "four"] && !all.isCut)
        // Reading on from the beginning leads to the same end.
        var read: [String] = []
        var token: Int64 = 0
        for _ in 0..<100 {
            let page = try listing.history(after: token, limit: 2)
            read += captions(page.entries)
            token = page.token
            guard page.isCut else { break }
        }
        #expect(read == captions(all.entries) && token == newest.token)
    }
}
