import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel

extension Control {
    /// The control as a message; equal controls give equal bytes.
    var wire: WireControl {
        var wire = WireControl()
        wire.kind = kind.rawValue
        wire.title = title
        wire.owner = owner.digest.wireBytes
        wire.ownerLabel = ownerLabel
        wire.publicPermission = publicPermission.rawValue
        wire.isSealed = isSealed
        wire.isStopped = isStopped
        wire.endPolicy = endPolicy == .remove ? "" : endPolicy.rawValue
        wire.participants = participants.sorted { $0.key < $1.key }.map(\.value.wire)
        setDevicesAndLinks(in: &wire)
        if let founder { (wire.founder, wire.founderLabel) = (founder.account.digest.wireBytes, founder.label) }
        if let offer {
            wire.offer.account = offer.account.digest.wireBytes
            wire.offer.permission = offer.permission.rawValue
            wire.offer.staysAdmin = offer.staysAdmin
            wire.offer.number = Data(offer.number)
        }
        return wire
    }

    /// The control that a message says, every field validated.
    init(wire: WireControl) throws(CloudError) {
        var participants: [AccountID: Participant] = [:]
        for entry in wire.participants {
            let participant = try Participant(wire: entry)
            guard participants.updateValue(participant, forKey: participant.account) == nil else {
                throw .damaged("A control names a participant twice.")
            }
        }
        self.init(
            kind: try known(ZoneKind.self, wire.kind, "kind"), title: wire.title,
            owner: AccountID(try digest(wire.owner, "control.owner")), ownerLabel: wire.ownerLabel,
            publicPermission: try known(Permission.self, wire.publicPermission, "public_permission"),
            isSealed: wire.isSealed, isStopped: wire.isStopped,
            endPolicy: wire.endPolicy.isEmpty ? .remove : try known(EndPolicy.self, wire.endPolicy, "end_policy"),
            participants: participants)
        try takeDevicesAndLinks(from: wire)
        if !wire.founder.isEmpty {
            founder = Founder(
                account: AccountID(try digest(wire.founder, "control.founder")), label: wire.founderLabel)
        }
        if wire.hasOffer {
            guard wire.offer.number.count == 16 else { throw .damaged("An offer has a number of the wrong length.") }
            offer = TransferOffer(
                account: AccountID(try digest(wire.offer.account, "offer.account")),
                permission: try known(Permission.self, wire.offer.permission, "offer.permission"),
                staysAdmin: wire.offer.staysAdmin, number: Array(wire.offer.number))
        }
    }
}

/// The case of an enumeration that a text names. An unknown one is of a newer version, and guessing would grant rights.
func known<Value: RawRepresentable<String>>(
    _ type: Value.Type, _ text: String, _ field: String
) throws(CloudError) -> Value {
    guard let value = Value(rawValue: text) else {
        throw CloudError(
            code: .newerFormat,
            message:
                "A control's \(field) is '\(escapeForDisplay(Array(text.utf8)))', which this version doesn't know.",
            remedy: "Update shoebox on this machine.")
    }
    return value
}

extension Participant {
    var wire: WireParticipant {
        var wire = WireParticipant()
        wire.account = account.digest.wireBytes
        wire.label = label
        wire.role = role.rawValue
        wire.permission = permission.rawValue
        wire.status = status.rawValue
        wire.generation = generation
        wire.isPublic = isPublic
        wire.hasLeft_p = hasLeft
        wire.hasDeclined_p = hasDeclined
        if let joinKey { wire.joinKey = joinKey.wireBytes }
        wire.replicas = intervals.sorted { $0.key < $1.key }.map { replica, intervals in
            var entry = WireReplicaIntervals()
            entry.replica = replica.wireBytes
            entry.intervals = intervals.map { interval in
                var wire = WireInterval()
                wire.from = interval.from
                if let end = interval.to { wire.to = WirePosition(end) }
                wire.ownOnly = interval.isOwnOnly
                wire.asOwner = interval.isOwners
                return wire
            }
            return entry
        }
        return wire
    }

    init(wire: WireParticipant) throws(CloudError) {
        var intervals: [ReplicaID: [Interval]] = [:]
        for entry in wire.replicas {
            var list: [Interval] = []
            for interval in entry.intervals {
                list.append(
                    Interval(
                        from: interval.from, to: interval.hasTo ? try interval.to.position("interval.to") : nil,
                        isOwnOnly: interval.ownOnly, isOwners: interval.asOwner && !interval.ownOnly))
            }
            let name = try replica(entry.replica, "participant.replicas")
            guard intervals.updateValue(list, forKey: name) == nil else {
                throw .damaged("A control names a replica twice.")
            }
        }
        let status = try known(ParticipantStatus.self, wire.status, "status")
        self.init(
            account: AccountID(try digest(wire.account, "participant.account")), label: wire.label,
            role: try known(Role.self, wire.role, "role"),
            permission: try known(Permission.self, wire.permission, "permission"), status: status,
            generation: wire.generation,
            isPublic: wire.isPublic, hasLeft: status == .removed && wire.hasLeft_p, intervals: intervals)
        hasDeclined = status == .removed && wire.hasDeclined_p
        joinKey = wire.joinKey.isEmpty ? nil : try digest(wire.joinKey, "participant.join_key")
    }
}
