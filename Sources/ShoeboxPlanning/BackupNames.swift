public import ShoeboxModel

extension RelativePath {
    /// Whether this is a path under which editors keep what a file was before they saved another one in its place:
    /// `a.jpg~`, `a.jpg_original`, `a (old).jpg`.
    public func isBackup(of original: RelativePath) -> Bool {
        guard parent == original.parent, let name = last, let former = original.last else { return false }
        if name.bytes.contains(former.bytes) { return true }
        guard name.stem.starts(with: former.stem), let next = name.stem.dropFirst(former.stem.count).first else {
            return false
        }
        return !Unicode.Scalar(next).properties.isAlphabetic && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
    }
}
