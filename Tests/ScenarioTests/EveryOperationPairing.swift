import Foundation
import ShoeboxCloud
import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxTestSupport
import ShoeboxWorld
import Testing

@testable import Shoebox

// A device that is to be admitted to an account.

extension Stage {
    func ask(_ device: PendingDevice) throws {
        let world = try #require(pendingMachine).world
        try Pairing(try #require(device.code), mount: world.mount).ask(
            device, nowMilliseconds: world.nowMilliseconds(), randomBytes: world.randomBytes)
    }

    /// What the other device does on its side: `init --join`, and what is typed on the first device in between.
    func pair() throws {
        let machine = try #require(pendingMachine)
        let state = try #require(pendingState).directory
        var setup = Setup(account: "alice", container: "", library: "", shared: "")
        var code = ""
        setup.joins = Setup.Joining(code: nil, waitMilliseconds: 0) { code = $0 }
        do { _ = try setup.makeIdentity(state, machine.world) } catch {
            guard !code.isEmpty, !machine.faults.isCrashed else { throw error }
            _ = alice.request(.deviceApprove(code: code))
            _ = try setup.makeIdentity(state, machine.world)
        }
        try enter(try #require(try state.readIdentity()))
    }

    /// What the other device does once it was admitted, if it was.
    func admitLaptop() throws {
        guard laptop == nil, let machine = pendingMachine, let pending else { return }
        let account = alice.identity.account
        if deed == .approve {
            let pairing = try Pairing(try #require(pending.code), mount: machine.world.mount)
            guard try pairing.admittedTo(pending.publicKeys.device) == account else { return }
        }
        let directory = AccountDirectory(mount: machine.world.mount)
        try directory.refresh(account)
        do {
            try enter(
                try pending.admitted(
                    to: account, statements: directory.statements(of: account), randomBytes: machine.world.randomBytes))
        } catch { guard (error as? CloudError)?.code == .notYet else { throw error } }
    }

    /// Sets the device up with its keys.
    private func enter(_ identity: Identity) throws {
        guard let machine = pendingMachine else { return }
        if laptop == nil {
            let faults = machine.faults
            laptop = try Replica(
                machine: machine, label: alice.label, identity: identity,
                store: try Store(gate: { try faults.pass("store", "write") }))
        }
        guard let laptop else { return }
        try laptop.setUp()
        if !village.replicas.contains(where: { $0 === laptop }) { village.replicas.append(laptop) }
    }
}

/// A state directory outside of the simulation, gone with this.
final class TemporaryState {
    let directory: StateDirectory

    init() throws {
        directory = StateDirectory(
            try #require(AbsolutePath(NSTemporaryDirectory() + "shoebox-state-\(UUID().uuidString)")))
        try directory.make()
    }

    deinit { try? FileManager.default.removeItem(atPath: directory.path.text) }
}
