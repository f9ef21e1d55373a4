import ShoeboxPlanning
import Testing

@Suite struct SidecarTests {
    static let shown = SidecarFields(caption: "Lake", tags: ["Sea", "Sun"], rating: 3, custom: ["k": "1", "m": "2"])

    @Test(
        arguments: [
            (shown, []),
            (SidecarFields(), []),
            (
                SidecarFields(caption: "", tags: [], rating: 0, custom: ["k": "null"]),
                [.clearCaption, .removeTag("Sea"), .removeTag("Sun"), .clearRating, .clearCustom(key: "k")]
            ),
            (
                SidecarFields(
                    caption: "Pond", tags: ["sea", "Fun", "FUN"], rating: 5, custom: ["k": "2", "n": "\"x\""]),
                [
                    .setCaption("Pond"), .addTag("Fun"), .removeTag("Sun"), .setRating(5),
                    .setCustom(key: "k", json: "2"),
                    .setCustom(key: "n", json: "\"x\""),
                ]
            ),
        ] as [(SidecarFields, [SidecarEdit])])
    func `a file is compared with the state it was written from`(file: SidecarFields, expected: [SidecarEdit]) {
        #expect(sidecarEdits(file: file, shown: Self.shown) == expected)
    }

    @Test func `a stale buffer does not remove a tag that it never showed`() {
        let old = SidecarFields(caption: "Lake", tags: ["Sea"])
        var edited = old
        edited.caption = "Pond"
        // Ann's tag came in between; the buffer's own state is what counts.
        #expect(sidecarEdits(file: edited, shown: old, current: Self.shown) == [.setCaption("Pond")])
    }

    @Test func `without a known state nothing is removed`() {
        let file = SidecarFields(caption: "", tags: ["Fun"], rating: 4, custom: ["k": "null", "z": "1"])
        #expect(
            sidecarEdits(file: file, shown: nil, current: Self.shown)
                == [.addTag("Fun"), .setRating(4), .setCustom(key: "z", json: "1")])
    }
}
