internal import Dispatch

/// Lets the disk write a new file while the rest of it is still being made, so that the barrier at the end finds little
/// left to do, and lets go of the memory of what is written.
///
/// Who passes on gigabytes in the background must not push what others need out of the memory; and memory that was let
/// go of is taken again for the next piece, which costs a third of taking fresh one.
struct WriteBehind {
    /// How many bytes are written before the disk is told.
    private static let stepBytes: UInt64 = 1 << 20
    /// How many bytes may be on their way to the disk.
    private static let windowBytes: UInt64 = 8 << 20

    private let queue: WriteBehindQueue
    private var written: UInt64 = 0
    private var started: UInt64 = 0
    private var finished: UInt64 = 0

    init(_ queue: WriteBehindQueue) { self.queue = queue }

    /// To be called after bytes were added at the file's end.
    mutating func wrote(_ count: Int, to file: Descriptor) {
        written += UInt64(count)
        if written - started >= Self.stepBytes { start(file) }
        if started - finished > Self.windowBytes { finish(file, upTo: started - Self.windowBytes / 2) }
    }

    /// To be called when all bytes are written. What is smaller than a step stays in memory.
    mutating func end(_ file: Descriptor) {
        if written > started { start(file) }
        if written >= Self.stepBytes { finish(file, upTo: written) }
    }

    private mutating func start(_ file: Descriptor) {
        file.startWriting(from: started, count: written - started)
        started = written
    }

    private mutating func finish(_ file: Descriptor, upTo end: UInt64) {
        queue.finishWriting(file, from: finished, count: end - finished)
        finished = end
    }
}

/// Waits for the disk on a thread of its own, while the next file is made.
final class WriteBehindQueue: Sendable {
    private let queue = DispatchQueue(label: "shoebox.write-behind")
    /// How many ranges may be waited for: who writes faster than the disk waits in the end.
    private let room = DispatchSemaphore(value: 3)

    /// Waits until a range is on the disk and lets go of its memory; returns before that, if not too many wait already.
    /// The file stays open until then.
    func finishWriting(_ file: Descriptor, from offset: UInt64, count: UInt64) {
        room.wait()
        queue.async { [room] in
            file.finishWriting(from: offset, count: count)
            room.signal()
        }
    }

    /// Returns when nothing is waited for any more.
    func drain() { queue.sync {} }
}
