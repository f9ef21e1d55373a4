// SPDX-License-Identifier: GPL-2.0-only
internal import CFileSystem
internal import CInotifyTools
internal import Glibc

/// Watches directories and says which of them something happened in; ends when its standard input does.
///
/// libinotifytools keeps its state in the process and knows no threads, so this is a process with one thread. Of the
/// library, what is sound is used: it makes the queue, and it reads and decodes events one at a time without waiting.
/// Waiting is done by poll(2), so that idling costs nothing.
@main
struct Main {
    /// Events taken before what they point to is looked at.
    private static let eventsMax = 4096

    static func main() {
        signal(SIGPIPE, SIG_IGN)
        var output = Output()
        output.send(.hello)
        guard inotifytools_initialize() != 0 else {
            let number = inotifytools_error()
            let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
            output.send(.problem(-1, text: "cannot start watching: \(reason) (see fs.inotify.max_user_instances)"))
            _ = output.flush()
            exit(1)
        }
        let inotify = shoebox_find_inotify()
        guard inotify >= 0, output.flush() else { exit(1) }
        var tree = WatchTree(inotify: inotify, output: output)
        var input: [UInt8] = []
        // Whether the library may hold events that it has read already, of which poll knows nothing.
        var mayHoldEvents = false
        while true {
            var files = [
                pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
                pollfd(fd: inotify, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&files, 2, mayHoldEvents ? 0 : -1) >= 0 || errno == EINTR else { exit(1) }
            if files[1].revents != 0 || mayHoldEvents { mayHoldEvents = drain(&tree) }
            if files[0].revents != 0, !obey(&input, &tree) {
                _ = tree.flush()
                exit(0)
            }
            guard tree.flush() else { exit(0) }
        }
    }

    /// Takes events until there are none left, then looks where they point, so that a burst in one directory is one
    /// look; in between once in a while, so that a burst without end starves nobody.
    ///
    /// Returns whether there may be more.
    private static func drain(_ tree: inout WatchTree) -> Bool {
        defer { tree.settle() }
        for _ in 0..<eventsMax {
            guard let event = inotifytools_next_events(0, 1) else { return false }
            let raw = event.pointee
            var name: [UInt8] = []
            if raw.len > 0 {
                let bytes = UnsafeRawBufferPointer(start: UnsafeRawPointer(event) + 16, count: Int(raw.len))
                name = Array(bytes.prefix { $0 != 0 })
            }
            tree.take(watch: raw.wd, mask: raw.mask, name: name)
        }
        return true
    }

    /// Reads what commands there are; false when there will be no more.
    private static func obey(_ input: inout [UInt8], _ tree: inout WatchTree) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let got = read(0, &buffer, buffer.count)
        if got < 0 { return errno == EINTR || errno == EAGAIN }
        if got == 0 { return false }
        input += buffer.prefix(got)
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let command = Command(input[..<end])
            input.removeSubrange(...end)
            switch command {
            case .root(let index, let path): tree.add(index, path: path)
            case .drop(let index): tree.drop(index)
            case .quit: return false
            case nil: break
            }
        }
        return input.count < 1 << 20
    }
}
