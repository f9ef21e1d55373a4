import ShoeboxModel

/// What a simulation's people did with shares, as they know it: who owns what, and who was given or lost which standing
/// when. Knows nothing of the engine; what may never happen follows from it.
public struct SimulationShares: Sendable {
    /// A share that was made.
    public struct Share: Hashable, Sendable {
        /// Its title; no two are equal.
        public var title: String
        /// The account that made it.
        public var owner: String
        /// Whether it is of single photos, which the owner keeps where they are.
        public var isSelection: Bool
    }

    /// What became of an account's standing.
    public enum Deed: Hashable, Sendable {
        /// Invited, or given another permission.
        case granted(SimulationStep.Grant)
        /// Removed by the owner or an admin.
        case revoked
        /// Left.
        case left
        /// Something of these that may have happened or not: the process died over it.
        case uncertain
    }

    struct Event: Hashable, Sendable {
        var step: Int
        var machine: String
        var share: String
        var account: String
        var deed: Deed
    }

    /// The shares, oldest first.
    public private(set) var shares: [Share] = []
    /// Titles of shares that were stopped, or perhaps were.
    public private(set) var stopped: Set<String> = []
    private(set) var events: [Event] = []
    /// Whoever may own a share besides who made it: who has accepted an offer of it, or perhaps has.
    public private(set) var handed: [String: Set<String>] = [:]

    /// A title that no share has.
    var freshTitle: String { "Share\(shares.count + 1)" }

    mutating func note(_ request: SimulationRequest, isCertain: Bool, machine: SimulatedMachine, step: Int) {
        func add(_ share: String, _ account: String, _ deed: Deed) {
            events.append(
                Event(
                    step: step, machine: machine.name, share: share, account: account,
                    deed: isCertain ? deed : .uncertain))
        }
        switch request {
        case .share(let paths, let title):
            // One that may not be there is no harm: nobody else is in it.
            shares.append(Share(title: title, owner: machine.account, isSelection: paths.count > 1))
        case .invite(let share, let account, let grant), .permit(let share, let account, let grant):
            add(share, account, .granted(grant))
        case .revoke(let share, let account): add(share, account, .revoked)
        case .leave(let share, _): add(share, machine.account, .left)
        case .stop(let share): stopped.insert(share)
        case .answerOffer(let share, accepts: true): handed[share, default: []].insert(machine.account)
        case .open(let share, nil):
            // Who came by the link is out, who was invited is not.
            for account in Set(events.filter { $0.share == share }.map(\.account)).sorted() {
                add(share, account, .uncertain)
            }
        // As what, and whether at once or after somebody has decided, is not known here.
        case .come(let share): add(share, machine.account, .uncertain)
        case .answerRequest(let share, let account, _): add(share, account, .uncertain)
        default: break
        }
    }

    /// Whether an account made a share, or may have been given it.
    func mayOwn(_ share: Share, _ account: String) -> Bool {
        share.owner == account || handed[share.title]?.contains(account) == true
    }

    /// What an account was ever given in a share, for sure or not.
    private func grants(of account: String, in share: String) -> [SimulationStep.Grant] {
        var grants: [SimulationStep.Grant] = []
        for event in events where event.share == share && event.account == account {
            switch event.deed {
            case .granted(let grant): grants.append(grant)
            case .uncertain: grants += SimulationStep.Grant.allCases
            case .revoked, .left: break
            }
        }
        return grants
    }

    /// Why a request should have been refused; nil if it was right to do it.
    func objection(to request: SimulationRequest, of account: String) -> String? {
        func isOwner(_ title: String) -> Bool { shares.contains { $0.title == title && mayOwn($0, account) } }
        switch request {
        case .invite(let share, _, _), .permit(let share, _, _), .revoke(let share, _), .answerRequest(let share, _, _):
            return isOwner(share) || grants(of: account, in: share).contains(.admin)
                ? nil : "\(account) manages people of '\(share)' and is no admin"
        case .stop(let share), .add(let share, _), .remove(let share, _), .offer(let share, _, _),
            .withdrawOffer(let share), .open(let share, _), .makeLink(let share, _, _):
            return isOwner(share) ? nil : "\(account) does what only the owner of '\(share)' may"
        case .tag(.shared, let path, _), .caption(.shared, let path, _):
            guard let share = self.share(at: path), !mayOwn(share, account) else { return nil }
            return grants(of: account, in: share.title).contains { $0 != .readOnly }
                ? nil : "\(account) edits in '\(share.title)' and may only read it"
        default: return nil
        }
    }

    /// The share that shows at a path of a shared folder: `owner/title/…`.
    func share(at path: RelativePath) -> Share? {
        guard path.names.count >= 2 else { return nil }
        return shares.first { $0.owner == path.names[0].description && $0.title == path.names[1].description }
    }

    /// Accounts that may ever have seen something of an account: those who are, or were, in a share together, and through
    /// others.
    func circle(of account: String) -> Set<String> {
        var circle: Set = [account]
        while true {
            var larger = circle
            for share in shares {
                let members = events.filter { $0.share == share.title }.map(\.account) + [share.owner]
                if !circle.isDisjoint(with: members) { larger.formUnion(members) }
            }
            if larger == circle { return circle }
            circle = larger
        }
    }

    /// Whether an account could not write in a share when something was written, and never could again: what it wrote
    /// counts for nobody else.
    func couldNotWrite(_ account: String, in share: String, at step: Int) -> Bool {
        let own = events.filter { $0.share == share && $0.account == account }
        // Who owned it stays as what the offer says.
        guard handed[share] == nil else { return false }
        guard let index = own.lastIndex(where: { $0.step < step }), !own.contains(where: { $0.step >= step }) else {
            return false
        }
        let last = own[index]
        // Who says again what was so already, and has not heard that another device gave more meanwhile, changes nothing.
        if let first = own[..<index].firstIndex(where: { $0.deed == last.deed }),
            own[first..<index].contains(where: { $0.machine != last.machine && $0.deed != last.deed })
        {
            return false
        }
        switch last.deed {
        case .granted(.readOnly), .revoked: return true
        default: return false
        }
    }

    /// Whether an account may delete what others made, at a place of its roots (`shared/owner/title/…`), and could all the
    /// time: it was never given less by anybody, and by nobody but the owner. Who may not deletes for itself alone, and
    /// has it back.
    func couldAlwaysDelete(_ account: String, at place: String) -> Bool {
        let prefix = "shared/"
        guard place.hasPrefix(prefix), let path = RelativePath(String(place.dropFirst(prefix.count))),
            let share = share(at: path)
        else { return false }
        let own = events.filter { $0.share == share.title && $0.account == account }
        return !own.isEmpty
            && own.allSatisfy { event in
                (event.deed == .granted(.readWrite) || event.deed == .granted(.admin))
                    && SimulatedMachine.account(of: event.machine) == share.owner
            }
    }

    /// Whether an account never could delete what others made, at a place of its roots, whoever gave it what and when.
    func couldNeverDelete(_ account: String, at place: String) -> Bool {
        let prefix = "shared/"
        guard place.hasPrefix(prefix), let path = RelativePath(String(place.dropFirst(prefix.count))),
            let share = share(at: path), share.owner != account
        else { return false }
        return events.filter { $0.share == share.title && $0.account == account }.allSatisfy { event in
            ![.granted(.readWrite), .granted(.admin), .uncertain].contains(event.deed)
        }
    }

    /// Whether an account had been removed from all shares that it ever was in, each time by one machine, before that
    /// machine wrote something, and has no share of its own: it must not see it.
    func wasOut(_ account: String, before step: Int, by machine: String) -> Bool {
        let own = events.filter { $0.account == account }
        guard !own.isEmpty, !shares.contains(where: { $0.owner == account }) else { return false }
        return Set(own.map(\.share)).allSatisfy { share in
            guard handed[share] == nil, let last = own.last(where: { $0.share == share }) else { return false }
            return last.deed == .revoked && last.step < step && last.machine == machine
        }
    }
}

extension SimulatedMachine {
    /// The account whose device it is: the name without the number of the device.
    public var account: String { Self.account(of: name) }

    /// The account of a machine's name.
    static func account(of name: String) -> String { String(name.prefix { !$0.isNumber }) }
}
