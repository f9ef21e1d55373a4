import ShoeboxModel

/// What a power cut takes of all that was not synchronised. What was synchronised is always kept.
public enum SimulatedPowerCut: Hashable, Sendable {
    /// Nothing: only the processes die.
    case losingNothing
    /// Every change of names, attributes and bytes.
    case losingEverything
    /// Names and attributes are kept; bytes that were not synchronised are gone: new files are empty.
    case emptyingFiles
    /// Names and attributes are kept; bytes that were not synchronised are kept up to the middle.
    case tearingFiles
    /// Only the first changes of names and attributes since the last synchronisation are kept; bytes as with
    /// `emptyingFiles`.
    case keepingFirst(Int)
    /// Some prefix of the changes of names is kept, and of each file's bytes: the old, none, some, or all.
    case random(seed: UInt64)
}

extension SimulatedVolume {
    /// Makes everything durable.
    mutating func synchronize() {
        durable = nodes.filter { path(of: $0.key) != nil }
        journal = []
    }

    /// Makes one file's bytes and attributes durable, but not its name: POSIX promises no more.
    mutating func synchronizeBytes(of serial: Int) {
        guard var node = nodes[serial] else { return }
        node.parent = durable[serial]?.parent
        node.name = durable[serial]?.name
        durable[serial] = node
        journal = journal.map { group in
            group.filter { entry in
                switch entry {
                case .mode(serial, _), .modified(serial, _): false
                default: true
                }
            }
        }
    }

    /// Makes all names and attributes durable, as fsync of any file does on a journalling file system, and one file's
    /// bytes; other files' bytes stay in danger.
    mutating func commitJournal(andBytesOf serial: Int) {
        for group in journal { for entry in group { Self.apply(entry, to: &durable) } }
        journal = []
        if let bytes = nodes[serial]?.bytes { durable[serial]?.bytes = bytes }
    }

    /// Loses what a power cut takes, and starts anew: every handle is dead.
    mutating func powerCut(_ cut: SimulatedPowerCut) {
        epoch += 1
        openCounts = [:]
        writerCounts = [:]
        if cut == .losingNothing {
            dropUnlinked()
            return
        }
        var random = SeededGenerator(seed: 0)
        var kept = journal.count
        switch cut {
        case .losingEverything: kept = 0
        case .keepingFirst(let count): kept = min(max(0, count), journal.count)
        case .random(let seed):
            random = SeededGenerator(seed: seed)
            kept = random.below(journal.count + 1)
        default: break
        }
        var result = durable
        for group in journal.prefix(kept) { for entry in group { Self.apply(entry, to: &result) } }
        for serial in result.keys.sorted() {
            guard let node = result[serial], node.kind == .file, let current = nodes[serial],
                current.bytes != node.bytes
            else { continue }
            let middle = Array(current.bytes.prefix(current.bytes.count / 2))
            switch cut {
            case .emptyingFiles, .keepingFirst: result[serial]?.bytes = []
            case .tearingFiles: result[serial]?.bytes = middle
            case .random:
                switch random.below(4) {
                case 0: break
                case 1: result[serial]?.bytes = []
                case 2: result[serial]?.bytes = Array(current.bytes.prefix(random.below(current.bytes.count + 1)))
                default: result[serial]?.bytes = current.bytes
                }
            case .losingNothing, .losingEverything: break
            }
        }
        nodes = result
        dropUnlinked()
        rebuildInodes()
        durable = nodes
        journal = []
    }

    private mutating func dropUnlinked() {
        nodes = nodes.filter { path(of: $0.key) != nil }
    }
}
