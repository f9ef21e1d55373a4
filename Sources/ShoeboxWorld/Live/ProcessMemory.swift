internal import CFileSystem

/// How the process's allocator deals with large buffers.
public enum ProcessMemory {
    /// Buffers are reused from now on instead of given back to the kernel one by one. Without this, half of the time that
    /// copying a file takes goes into clearing fresh pages.
    public static func keepFreed() { shoebox_keep_freed_memory() }

    /// Gives what is free back to the kernel; for the end of a piece of work.
    public static func giveBack() { shoebox_give_back_memory() }
}
