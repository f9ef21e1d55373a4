public import ShoeboxModel

public func planLocal(
    base: [BaseEntry], local: [LocalEntry], listed: Set<RelativePath>, roots: [RecordID: RelativePath],
    parked: Set<RecordID> = []
) -> LocalPlan {
    LocalPlan()
}
