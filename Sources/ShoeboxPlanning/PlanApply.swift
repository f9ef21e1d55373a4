public import ShoeboxModel

public func planApply(
    base: [BaseEntry], desired: Layout, roots: [RecordID: RelativePath], scope: Set<RecordID>? = nil,
    parked: Set<RecordID> = []
) -> [FileOperation] {
    []
}
