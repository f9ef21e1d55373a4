import ShoeboxModel
import ShoeboxWorld

/// The mount with errors of this layer, with limits on what is read, and with the cure for names not seen yet.
struct MountAccess: Sendable {
    /// The mount beneath.
    let mount: any Mount

    /// The names in a directory; none if it isn't there (yet), or if something else has its name.
    func list(_ directory: MountPath) throws(CloudError) -> [String] {
        do { return try mount.list(directory) } catch {
            if error.code == .absent || (error.code == .unexpectedKind && directory != .root) { return [] }
            throw CloudError(error)
        }
    }

    /// Bytes from an offset; nil if there is no such file (yet). What is there and is no file is damage, as bytes of no
    /// sense are: anybody who can reach the container can put that there.
    func read(_ path: MountPath, from offset: UInt64, maxBytes: Int) throws(CloudError) -> [UInt8]? {
        do { return try mount.read(path, from: offset, maxBytes: maxBytes) } catch {
            if error.code == .absent { return nil }
            if error.code == .unexpectedKind { throw .damaged("It is not a regular file.", path: path.description) }
            throw CloudError(error)
        }
    }

    /// Many bytes of a file that is known to exist, in pieces; see `Mount`. An absent file has none.
    func read(
        _ path: MountPath, from offset: UInt64, count: UInt64, pieceBytes: Int,
        into take: (_ piece: [UInt8]) throws -> Void
    ) throws {
        // What goes wrong at the taker's side is no error of the mount, though it may be a `FileError` too.
        var takersError: (any Error)?
        do {
            try mount.read(path, from: offset, count: count, pieceBytes: pieceBytes) { piece in
                do { try take(piece) } catch {
                    takersError = error
                    throw error
                }
            }
        } catch {
            if let takersError { throw takersError }
            guard let failure = error as? FileError else { throw error }
            if failure.code == .unexpectedKind {
                throw CloudError.damaged("It is not a regular file.", path: path.description)
            }
            if failure.code != .absent { throw CloudError(failure) }
        }
    }

    /// The whole of a file that is known to exist. Where it isn't seen, its directory is listed once, which cures a
    /// negative answer that a network file system remembers, and it is tried again; nil means "not yet".
    func readKnown(_ path: MountPath, maxBytes: Int) throws(CloudError) -> [UInt8]? {
        if let bytes = try readAll(path, maxBytes: maxBytes) { return bytes }
        _ = try list(path.parent)
        return try readAll(path, maxBytes: maxBytes)
    }

    private func readAll(_ path: MountPath, maxBytes: Int) throws(CloudError) -> [UInt8]? {
        var result: [UInt8] = []
        while true {
            guard let chunk = try read(path, from: UInt64(result.count), maxBytes: 131_072) else { return nil }
            if chunk.isEmpty { return result }
            result += chunk
            guard result.count <= maxBytes else {
                throw .damaged("The file has more than \(maxBytes) bytes.", path: path.description)
            }
        }
    }

    /// Publishes bytes under a name that holds their hash, so that a file which is there already is this one.
    func publish(_ path: MountPath, _ bytes: [UInt8]) throws(CloudError) {
        do { try mount.publish(path, bytes) } catch {
            if error.code != .exists { throw CloudError(error) }
        }
    }

    /// Publishes what others act on, or wait for, without a head that is written after it: it is there also after the server's power
    /// failed.
    func publishDurably(_ path: MountPath, _ bytes: [UInt8]) throws(CloudError) {
        try publish(path, bytes)
        do { try mount.synchronize() } catch { throw CloudError(error) }
    }

    /// Appends to the caller's own file.
    func append(_ path: MountPath, _ bytes: [UInt8]) throws(CloudError) {
        do { try mount.append(path, bytes) } catch { throw CloudError(error) }
    }

    /// Makes a directory and its parents.
    func makeDirectory(_ path: MountPath) throws(CloudError) {
        do { try mount.makeDirectory(path) } catch { throw CloudError(error) }
    }
}

extension MountPath {
    /// A path from components that this module made: names of hexadecimal digits and fixed words, always valid.
    static func of(_ components: String...) -> MountPath { MountPath(components) ?? .root }
}
