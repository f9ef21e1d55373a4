import FoundationEssentials
import ShoeboxFormat
import ShoeboxModel

extension Control {
    /// Writes what the control says of devices, keys and links; equal controls give equal bytes.
    func setDevicesAndLinks(in wire: inout WireControl) {
        wire.retired = retired.sorted { $0.key < $1.key }.map { device, replicas in
            var entry = WireRetiredDevice()
            entry.device = device.wireBytes
            entry.replicas = replicas.sorted { $0.key < $1.key }.map { replica, position in
                var pin = WireVectorEntry()
                pin.replica = replica.wireBytes
                pin.position = WirePosition(position)
                return pin
            }
            return entry
        }
        wire.keyedFor = keyedFor.sorted { $0.key < $1.key }.map { account, key in
            var entry = WireKeyedFor()
            entry.account = account.digest.wireBytes
            entry.agreementKey = key.wireBytes
            return entry
        }
        wire.links = links.sorted { $0.key < $1.key }.map { key, link in
            var entry = WireJoinLink()
            entry.joinKey = key.wireBytes
            entry.agreementKey = Data(link.agreementKey)
            entry.permission = link.permission.rawValue
            entry.isRequest = link.isRequest
            entry.expiresMilliseconds = link.expiresMilliseconds
            entry.countMax = link.countMax
            entry.needsApproval = link.needsApproval
            entry.secret = Data(link.secret)
            entry.isOff = link.isOff
            return entry
        }
    }

    /// Reads the same, every field validated.
    mutating func takeDevicesAndLinks(from wire: WireControl) throws(CloudError) {
        for entry in wire.retired {
            var replicas: [ReplicaID: Position] = [:]
            for pin in entry.replicas {
                replicas[try replica(pin.replica, "retired.replica")] = try pin.position.position("retired.position")
            }
            retired[try digest(entry.device, "retired.device")] = replicas
        }
        for entry in wire.keyedFor {
            let account = AccountID(try digest(entry.account, "keyed_for.account"))
            keyedFor[account] = try digest(entry.agreementKey, "keyed_for.agreement_key")
        }
        for entry in wire.links {
            guard [0, 32].contains(entry.agreementKey.count), [0, 32].contains(entry.secret.count) else {
                throw .damaged("A link has a key or a secret of the wrong length.")
            }
            links[try digest(entry.joinKey, "link.join_key")] = JoinLink(
                permission: try known(Permission.self, entry.permission, "link.permission"),
                agreementKey: Array(entry.agreementKey), isRequest: entry.isRequest,
                expiresMilliseconds: entry.expiresMilliseconds, countMax: entry.countMax,
                needsApproval: entry.needsApproval, secret: Array(entry.secret), isOff: entry.isOff)
        }
    }
}
