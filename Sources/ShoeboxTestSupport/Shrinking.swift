/// The smallest script found that still fails, by leaving out ever smaller runs of its steps: first halves, at last single
/// steps, until none can be left out.
///
/// - Parameters:
///   - script: steps with which `fails` is true.
///   - triesMax: how often `fails` is called at most; the shortest script known to fail by then is returned.
///   - fails: whether a script fails; a pure function of it.
public func shrink<Step>(_ script: [Step], triesMax: Int = .max, while fails: ([Step]) -> Bool) -> [Step] {
    var script = script
    var tries = 0
    var length = max(1, script.count / 2)
    while tries < triesMax {
        var start = 0
        var hasShrunk = false
        while start < script.count, tries < triesMax {
            let shorter = Array(script[..<start]) + script[min(start + length, script.count)...]
            tries += 1
            if fails(shorter) {
                script = shorter
                hasShrunk = true
            } else {
                start += length
            }
        }
        if length > 1 { length /= 2 } else if !hasShrunk { break }
    }
    return script
}
