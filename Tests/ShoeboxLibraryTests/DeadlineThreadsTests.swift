import Dispatch
import Glibc
@testable import ShoeboxWorld
import Testing

struct DeadlineThreadsTests {
    @Test func `a call that hangs is given up, three make the mount offline, and one that comes back ends that`() throws
    {
        let threads = DeadlineThreads(threadsMax: 2, stuckMax: 3)
        let gate = DispatchSemaphore(value: 0)
        let back = DispatchSemaphore(value: 0)
        // On a busy machine one may be given up before a thread has taken it.
        while threads.stuckCount < 3 {
            let error = #expect(throws: FileError.self) {
                try threads.run(deadlineSeconds: 0.02, operation: "read", path: "a") { () throws(FileError) in
                    gate.wait()
                    back.signal()
                }
            }
            #expect(error?.code == .timedOut)
        }
        let error = #expect(throws: FileError.self) {
            try threads.run(deadlineSeconds: 60, operation: "read", path: "a") { () throws(FileError) in 1 }
        }
        #expect(error?.code == .offline)
        for _ in 0..<3 { gate.signal() }
        for _ in 0..<3 { back.wait() }
        while threads.stuckCount > 0 { Thread.yield() }
        let value = try threads.run(deadlineSeconds: 60, operation: "read", path: "a") { () throws(FileError) in 7 }
        #expect(value == 7)
    }

    @Test func `errors of a call reach the caller`() {
        let threads = DeadlineThreads()
        let error = #expect(throws: FileError.self) {
            try threads.run(deadlineSeconds: 60, operation: "read", path: "a") { () throws(FileError) -> Int in
                throw FileError(code: .full, operation: "write", path: "b")
            }
        }
        #expect(error == FileError(code: .full, operation: "write", path: "b"))
    }
}

private enum Thread {
    static func yield() { sched_yield() }
}
