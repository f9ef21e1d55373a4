public import ShoeboxModel

/// The one control that several tips mean together; nil for no tips. Their order does not matter.
public func joinControls(_ tips: some Sequence<Control>) -> Control? {
    var result: Control?
    for tip in tips { result = result?.joined(with: tip) ?? tip }
    return result
}
