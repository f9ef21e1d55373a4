/// Lets the disk write a new file while the rest of it is still being made, so that the barrier at the end finds little
/// left to do.
struct WriteBehind {
    /// How many bytes are written before the disk is told.
    private static let stepBytes: UInt64 = 1 << 20

    private var written: UInt64 = 0
    private var started: UInt64 = 0

    /// To be called after bytes were added at the file's end.
    mutating func wrote(_ count: Int, to file: Descriptor) {
        written += UInt64(count)
        if written - started >= Self.stepBytes { start(file) }
    }

    /// To be called when all bytes are written.
    mutating func end(_ file: Descriptor) { if written > started { start(file) } }

    private mutating func start(_ file: Descriptor) {
        file.startWriting(from: started, count: written - started)
        started = written
    }
}
