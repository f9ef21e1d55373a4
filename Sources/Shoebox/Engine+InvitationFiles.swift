import ShoeboxLibrary
import ShoeboxModel
import ShoeboxStore
import ShoeboxWorld

import class GRDB.Database

// An invitation file that is dropped into the shared folder, beside the shares, is accepted: to put it there is the answer.
// It may lie there since before the daemon was started.

private let invitationPrefix = "invitationFile."

extension Engine {
    /// How long after a failure an invitation file is tried again, milliseconds.
    private var invitationRetryMilliseconds: UInt64 { 60_000 }
    private var invitationFileBytesMax: Int { 65_536 }

    /// Notes an invitation file that was found beside the shares.
    func noteInvitationFile(_ path: RelativePath, _ db: Database) throws {
        try db.setMetaText(invitationPrefix + encodeHex(path.bytes), "1")
    }

    /// Accepts the invitation files that were found; one that is done goes to the trash, one that can't be is reported.
    func takeInvitationFiles() throws {
        let noted = try store.read { db in try db.metaTexts(prefix: invitationPrefix) }
        guard !noted.isEmpty, try checkRoot(.shared) else { return }
        for key in noted.map(\.key).sorted() {
            guard let hex = decodeHex(String(key.dropFirst(invitationPrefix.count))),
                let path = PathReference.relativePath(hex)
            else {
                try store.write { db in try db.setMetaText(key, nil) }
                continue
            }
            let name = display(path, .shared)
            do {
                guard let entry = try files(.shared).entry(at: path), entry.kind == .file else {
                    try forgetInvitationFile(key, name)
                    continue
                }
                let now = world.uptimeMilliseconds()
                if let last = invitationsTried[key], last.stamp == entry.stamp,
                    now < last.at + invitationRetryMilliseconds
                {
                    continue
                }
                invitationsTried[key] = (entry.stamp, now)
                let bytes = try files(.shared).readAll(path, maxBytes: invitationFileBytesMax)
                let reply = InvitationFile.link(in: bytes).map { perform(.accept(link: $0)) }
                guard let reply, [ExitCode.done, ExitCode.reported].contains(reply.code) else {
                    try report(
                        "invitationFile", path: name,
                        "The invitation file can't be accepted: \(reply?.lines.first ?? "it holds no link to a share").",
                        (reply?.remedy ?? "Use the file that you were sent.") + " Remove it to have it forgotten.")
                    continue
                }
                log("accepted the invitation '\(name)'")
                _ = makeApplier(.shared).trash(path, expecting: entry.stamp)
                try forgetInvitationFile(key, name)
            } catch let error as FileError {
                log("the invitation '\(name)' waits: \(error)")
            }
        }
    }

    private func forgetInvitationFile(_ key: String, _ name: String) throws {
        invitationsTried[key] = nil
        try store.write { db in try db.setMetaText(key, nil) }
        try clearProblem("invitationFile", path: name)
    }
}
