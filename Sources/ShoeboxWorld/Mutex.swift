#if THREAD_SANITIZER
    internal import Glibc

    /// What `Synchronization.Mutex` is, for builds that the thread sanitizer watches: it can't follow that one, which waits
    /// in the kernel, and takes everything that it guards for a race. Of POSIX threads it knows.
    public final class Mutex<Value>: @unchecked Sendable {
        private let lock: UnsafeMutablePointer<pthread_mutex_t>
        private var value: Value

        /// A mutex that guards a value.
        public init(_ value: sending Value) {
            lock = .allocate(capacity: 1)
            pthread_mutex_init(lock, nil)
            self.value = value
        }

        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        /// Runs a body that has the value for itself.
        public func withLock<Result, E: Error>(
            _ body: (inout sending Value) throws(E) -> sending Result
        ) throws(E) -> sending Result {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return try body(&value)
        }
    }
#else
    // Everybody who waits for a lock has it from here; see above.
    @_exported public import struct Synchronization.Mutex
#endif
