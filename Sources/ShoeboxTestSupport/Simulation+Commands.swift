import ShoeboxModel

/// What people ask of the engines, and what must hold whatever they ask.
extension Simulation {
    /// Gives a command on a machine, as a step does; returns whether it was done, nil if the process died over it.
    @discardableResult
    public func ask(_ request: SimulationRequest, on number: Int) -> Bool? {
        let machine = machine(number)
        busy.insert(index(number))
        defer { busy.remove(index(number)) }
        look(at: index(number))
        let isRestore =
            switch request {
            case .undo, .restoreTrash, .restoreVersion: true
            default: false
            }
        let said = users.said(by: request, on: machine)
        if case .restoreTrash = request { users.notePutBack(trashed(on: machine)) }
        let done =
            isRestore
            ? bringingBack(index(number)) { replicas[index(number)].perform(request) }
            : replicas[index(number)].perform(request)
        look(at: index(number), isCommand: true)
        noteComparison(of: index(number))
        users.noteOutdated(
            done == true && !isRestore ? said : [:], keepingOthers: !isRestore && done != nil, on: machine,
            step: stepNumber)
        guard done != false else { return done }
        if isRestore { bringsBack = true }
        if case .undo = request { undoes = true }
        if case .leave(_, keepsCopy: false) = request { leavers.insert(machine.account) }
        if case .retire = request { deviceWasRetired = true }
        if case .undo = request { users.waiveLastCommand(of: machine.name, step: stepNumber) }
        if done == true, let objection = shares.objection(to: request, of: machine.account) {
            failures.append("step \(stepNumber): permission exceeded: \(objection)")
        }
        shares.note(request, isCertain: done == true, machine: machine, step: stepNumber)
        switch request {
        case .tag(let root, let path, let words):
            pairs.append(words)
            if done == true {
                for word in words { users.noteCommand(.tag, word, machine, root, path, step: stepNumber) }
            }
        case .caption(let root, let path, let word):
            if done == true { users.noteCommand(.caption, word, machine, root, path, step: stepNumber) }
        default: break
        }
        return done
    }

    /// What lies in the trash of a machine.
    private func trashed(on machine: SimulatedMachine) -> Set<Int> {
        ledger.found(
            in: [machine.library, machine.shared].flatMap { disk in
                disk.tree().filter { $0.key.hasPrefix(".shoebox/trash/") }.values
            })
    }

    /// Takes in where a machine's files are, and what its replica knows of shares.
    func look(at number: Int, isCommand: Bool = false, isAfterRound: Bool = false) {
        privacy.look(
            at: machine(number), replicas[number].sharing, touched: users.touched,
            fresh: users.takeFresh(on: machine(number)), outdated: users.outdated, isCommand: isCommand,
            isAfterRound: isAfterRound)
    }

    /// Does what a person asks for by which former contents may come back: these are to be told where that is.
    func bringingBack<Result>(_ number: Int, _ act: () -> Result) -> Result {
        let before = replicas[number].told(isPublished: false)
        let result = act()
        let after = replicas[number].told(isPublished: false)
        privacy.noteBroughtBack(after.reduce(into: [:]) { $0[$1.key] = $1.value.subtracting(before[$1.key] ?? []) })
        return result
    }

    /// Fills in what a command's picks stand for now; nil if there is nothing to pick.
    func request(
        for command: SimulationStep.Command, _ machine: SimulatedMachine, _ root: SimulationStep.Root
    ) -> SimulationRequest? {
        let own = shares.shares.filter {
            shares.mayOwn($0, machine.account) && !shares.stopped.contains($0.title)
        }
        func share(_ pick: Int) -> String? {
            let some = pick % 8 == 0 || own.isEmpty ? shares.shares : own
            return some.isEmpty ? nil : some[pick / 8 % some.count].title
        }
        func anyShare(_ pick: Int) -> String? {
            shares.shares.isEmpty ? nil : shares.shares[pick % shares.shares.count].title
        }
        func account(_ pick: Int) -> String? {
            let others = Set(world.machines.map(\.account)).subtracting([machine.account]).sorted()
            return others.isEmpty ? nil : others[pick % others.count]
        }
        let library = Places(machine.library, .library)
        let disk = root == .library ? machine.library : machine.shared
        /// A photo in the folder that the command is about.
        func photo(_ pick: Int) -> RelativePath? {
            guard let path = Places(disk, root).file(pick) else { return nil }
            users.touch(path, disk, on: machine)
            return path
        }
        switch command {
        case .share(let folder): return library.subfolder(folder).map { .share([$0], title: shares.freshTitle) }
        case .shareSelection(let file, let other):
            guard let one = library.file(file), let two = library.file(other), one != two else { return nil }
            return .share([one, two], title: shares.freshTitle)
        case .invite(let share_, let account_, let grant):
            guard let title = share(share_), let name = account(account_) else { return nil }
            return .invite(share: title, account: name, grant)
        case .permit(let share_, let account_, let grant):
            guard let title = share(share_), let name = account(account_) else { return nil }
            return .permit(share: title, account: name, grant)
        case .revoke(let share_, let account_):
            guard let title = share(share_), let name = account(account_) else { return nil }
            return .revoke(share: title, account: name)
        case .accept: return .accept
        case .leave(let pick, let keepsCopy):
            let others = shares.shares.filter { $0.owner != machine.account }
            return others.isEmpty ? nil : .leave(share: others[pick % others.count].title, keepsCopy: keepsCopy)
        case .stop(let pick): return share(pick).map { .stop(share: $0) }
        case .add(let pick, let file):
            guard let title = share(pick), let path = library.file(file) else { return nil }
            users.touch(path, machine.library, on: machine)
            return .add(share: title, path)
        case .remove(let pick, let file):
            guard let title = share(pick), let path = library.file(file) else { return nil }
            users.touch(path, machine.library, on: machine)
            return .remove(share: title, path)
        case .tagTwice(let file): return photo(file).map { .tag(root, $0, [users.freshWord(), users.freshWord()]) }
        case .rate(let file, let stars): return photo(file).map { .rate(root, $0, stars: stars) }
        case .caption(let file): return photo(file).map { .caption(root, $0, users.freshWord()) }
        case .undo: return .undo
        case .restoreTrash: return .restoreTrash()
        case .restoreSome(let pick, let isFolder):
            guard let (root, path) = users.removed(pick, on: machine) else { return nil }
            return .restoreTrash(root, isFolder && !path.parent.isRoot ? path.parent : path)
        case .restoreVersion(let file): return photo(file).map { .restoreVersion(root, $0) }
        case .offer(let share_, let account_, let grant):
            guard let title = share(share_), let name = account(account_) else { return nil }
            return .offer(share: title, account: name, stays: grant)
        case .withdrawOffer(let pick): return share(pick).map { .withdrawOffer(share: $0) }
        case .answerOffer(let pick, let accepts):
            return anyShare(pick).map { .answerOffer(share: $0, accepts: accepts) }
        case .open(let pick, let grant): return share(pick).map { .open(share: $0, grant) }
        case .makeLink(let pick, let grant, let asks):
            return share(pick).map { .makeLink(share: $0, grant, asks: asks) }
        case .come(let pick): return anyShare(pick).map { .come(share: $0) }
        case .answerRequest(let share_, let account_, let admits):
            guard let title = share(share_), let name = account(account_) else { return nil }
            return .answerRequest(share: title, account: name, admits: admits)
        case .retire(let pick):
            let others = world.machines.filter { $0.account == machine.account && $0.name != machine.name }
            return others.isEmpty ? nil : .retire(machine: others[pick % others.count].name)
        }
    }

    // MARK: What must hold

    /// Transactions show whole or not at all: of tags that were given in one, a machine's sidecars say all or none.
    func checkTransactions(on machine: SimulatedMachine) {
        // A tag that has another title now is not missing.
        let retitled = users.retitled
        let pairs = pairs.filter { retitled.isDisjoint(with: $0) }
        guard !pairs.isEmpty else { return }
        for disk in [machine.library, machine.shared] {
            // What users see of a photo; each tag has a file of its own.
            for (path, bytes) in disk.tree(without: ".") where path.hasSuffix(".json") {
                // One that breaks off says nothing: a power cut tore it, and somebody copied it before it was written again.
                guard let text = String(validating: bytes, as: UTF8.self), (try? JSONText.parse(bytes)) != nil else {
                    continue
                }
                for words in pairs {
                    let found = words.filter { text.contains("\"\($0)\"") }
                    guard !found.isEmpty, found.count < words.count else { continue }
                    let line = "half a transaction on \(machine.name): \(found) of \(words) in \(disk.name)/\(path)"
                    if !failures.contains(where: { $0.hasSuffix(line) }) {
                        failures.append("step \(stepNumber): \(line)")
                    }
                }
            }
        }
    }

    /// Nobody has what was never theirs to see, and nothing counts that nobody was permitted to write.
    func checkPermissions() {
        var places: [(machine: SimulatedMachine, numbers: Set<Int>)] = []
        for machine in world.machines {
            let files = [machine.library, machine.shared].flatMap { Array($0.tree().values) }
            places.append((machine, ledger.found(in: files)))
        }
        for (machine, numbers) in places {
            for number in numbers.sorted() {
                let entry = ledger.entries[number]
                let author = SimulatedMachine.account(of: entry.machine)
                guard author != machine.account else { continue }
                if !shares.circle(of: author).contains(machine.account) {
                    failures.append("permission exceeded: \(machine.name) has \(entry) of nobody it shares with")
                }
                if entry.path.names.first?.description == Places.untouched, entry.root == "library" {
                    failures.append("permission exceeded: \(machine.name) has \(entry), which was never shared")
                }
                guard !storageWasRestored, entry.touches == 0 else { continue }
                // Who shares something may share the private copies of what was not permitted.
                if entry.root == "shared", let share = shares.share(at: entry.path),
                    shares.couldNotWrite(author, in: share.title, at: entry.step),
                    !shares.shares.contains(where: { $0.owner == author })
                {
                    failures.append("permission exceeded: \(machine.name) shows \(entry), which was not permitted")
                }
                guard entry.kind == .content else { continue }
                if shares.wasOut(machine.account, before: entry.step, by: entry.machine) {
                    failures.append("permission exceeded: \(machine.name) has \(entry), written after its removal")
                }
            }
        }
    }

    /// What somebody said of a photo of their own library, and nobody has said otherwise since, is said in the folders of their
    /// devices as long as these show the photo: beside it, beside what came of an edit that crossed with another, in the file in which
    /// its user left it behind, or in the trash.
    func checkSaid() {
        guard !bringsBack, !storageWasRestored, !stateWasLost, !stateWasRestored, !deviceWasRetired else { return }
        let silenced = users.silenced
        let captions = Dictionary(grouping: ledger.entries.filter { $0.kind == .caption }) { $0.photo }
        /// What the folders of each account's devices hold, with or without their trash: a photo that is renamed over another one is
        /// an edit of that, and what was said of the first goes there.
        func found(inTrash: Bool) -> [String: Set<Int>] {
            Dictionary(grouping: world.machines, by: \.account).mapValues { machines in
                let files = machines.flatMap { machine in
                    [machine.library, machine.shared].flatMap { disk in
                        disk.tree().filter { path, _ in
                            !path.hasPrefix(".shoebox/") || inTrash && path.hasPrefix(".shoebox/trash/")
                        }.values
                    }
                }
                return ledger.found(in: files)
            }
        }
        let (shown, said) = (found(inTrash: false), found(inTrash: true))
        for entry in ledger.required where entry.kind != .content && entry.root == "library" {
            let account = SimulatedMachine.account(of: entry.machine)
            guard let photo = entry.photo, !silenced.contains(photo),
                entry.kind == .tag ? !users.hasChangedTags : captions[photo]?.count == 1,
                let content = ledger.entries.first(where: { $0.kind == .content && $0.bytes == photo }),
                !content.wasCopied, !content.wasCarriedIn, !content.wasPutBack,
                shown[account]?.contains(content.number) == true, said[account]?.contains(entry.number) == false
            else { continue }
            failures.append("said no more by \(account), whose folders show the photo: \(entry)")
        }
    }

    /// What one user made, and one who was shown it and may do so deleted, and nobody else ever touched, is gone for everybody.
    func checkDeleted() {
        guard !undoes, !storageWasRestored, !stateWasLost, !deviceWasRetired, shares.handed.isEmpty else { return }
        let deleted = ledger.entries.filter { entry in
            // The folder of an own share comes back with all that is in it: who wants it gone stops the share.
            let wentWithShare =
                entry.wentWithFolder
                && shares.shares.contains { $0.owner == SimulatedMachine.account(of: entry.machine) && !$0.isSelection }
            let deleter = SimulatedMachine.account(of: entry.deletedOn ?? "")
            // What somebody may only see is gone for nobody when they delete it.
            let countsForAll =
                deleter == SimulatedMachine.account(of: entry.machine)
                || entry.deletedFrom.allSatisfy { shares.couldAlwaysDelete(deleter, at: $0) }
            // Whatever one and the same user did to it before, at home.
            let isOnlyTheirs =
                entry.touches == 1
                || entry.deletedOn == entry.machine && entry.touchedOn == [entry.machine] && !entry.wasCarriedIn
            return entry.isNewFile && isOnlyTheirs && entry.deletedInStep != nil && entry.root == "library"
                && !entry.wasPutBack && !wentWithShare && countsForAll && !entry.wasDeletedUnknowing
        }
        guard !deleted.isEmpty else { return }
        for machine in world.machines {
            for disk in [machine.library, machine.shared] {
                let numbers = ledger.found(in: disk.tree(without: ".shoebox").values)
                for entry in deleted where numbers.contains(entry.number) {
                    // Somebody else's library may have a copy that was kept at the end of a share.
                    let author = SimulatedMachine.account(of: entry.deletedOn ?? "")
                    guard disk.name == "shared" || machine.account == author else { continue }
                    failures.append("deleted and back on \(machine.name): \(entry)")
                }
            }
        }
    }

    /// What one user made in the own library, and somebody deleted who may not, and nobody else ever touched, is still there.
    func checkNotDeleted() {
        guard !undoes, !storageWasRestored, !stateWasLost, !deviceWasRetired, shares.handed.isEmpty else { return }
        for entry in ledger.entries where entry.isNewFile && entry.touches == 1 && entry.root == "library" {
            let author = SimulatedMachine.account(of: entry.machine)
            guard entry.deletedInStep != nil, let deleter = entry.deletedOn.map(SimulatedMachine.account),
                deleter != author, !entry.deletedFrom.isEmpty,
                entry.deletedFrom.allSatisfy({ shares.couldNeverDelete(deleter, at: $0) })
            else { continue }
            let isThere = world.machines.filter { $0.account == author }.contains { machine in
                !ledger.found(in: machine.library.tree(without: ".shoebox").values).isDisjoint(with: [entry.number])
            }
            if !isThere { failures.append("deleted by somebody who may not, \(deleter): \(entry)") }
        }
    }

    /// Nothing was written into a directory that was in the place of a root, or into another container.
    func checkForeignPlaces() {
        for machine in world.machines where !markersCopied.contains(machine.name) {
            for disk in [machine.library, machine.shared] where !disk.replacementTree.isEmpty {
                failures.append(
                    "wrote into another directory on \(machine.name): \(disk.replacementTree.keys.sorted())")
            }
        }
        for (machine, storage, before) in foreignStorages {
            let lines = treeDifference(storage.tree(), before)
            if !lines.isEmpty { failures.append("wrote into another container on \(machine): \(lines)") }
        }
    }
}
