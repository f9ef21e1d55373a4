import Crypto
import FoundationEssentials
public import ShoeboxModel
public import ShoeboxWorld

/// The container's assets: `assets/<2 digits>/<keyed hash>-<replica>`, sealed contents of files, never changed.
public struct AssetStore: Sendable {
    /// The most bytes of a content, 512 TiB: as many as its frames have numbers for.
    public static let sizeMax = UInt64(UInt32.max) << UInt64(AssetFormat.frameBits)

    private let access: MountAccess
    /// How many frames are read by one call: 1 MiB of content.
    private static let framesAtOnce = 8

    /// The assets of the container on this mount.
    public init(mount: any Mount) { access = MountAccess(mount: mount) }

    /// Whether a location from a record is one that an upload can have made: nothing else becomes a path.
    public static func locationIsValid(_ location: String) -> Bool { path(location) != nil }

    private static func path(_ location: String) -> MountPath? {
        let parts = location.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts[0].utf8.count == 2, parts[1].hasPrefix(parts[0]) else { return nil }
        let name = parts[1].split(separator: "-", omittingEmptySubsequences: false)
        guard name.count == 2 || name.count == 3, name[0].utf8.count == 64, name[1].utf8.count == 32,
            name.count == 2 || name[2].utf8.count == 8, name.allSatisfy({ decodeHex($0) != nil })
        else { return nil }
        return .of("assets", parts[0], parts[1])
    }

    /// Seals a file's content into the container, in one pass that also checks that it is the content expected.
    ///
    /// The reference may be written into a record after the mount's `synchronize`. A name that is taken, by an upload
    /// that a crash cut off from its record or by a stranger, is left alone and another one is used.
    /// - Throws: `.changedWhileReading` if size or SHA-256 is not the given one, `.sourceUnreadable` if the file can't be
    ///   read, and nothing is published then;
    ///   `.offline`, `.mount`.
    public func upload(
        from file: any ReadableFile, size: UInt64, contentHash: Digest32, identity: Identity,
        randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> AssetReference {
        let keyed = HMAC<SHA256>.authenticationCode(
            for: contentHash.bytes, using: SymmetricKey(data: identity.namingKey))
        let hex = encodeHex(Array(keyed))
        let plainName = "\(hex)-\(identity.replica)"
        for attempt in 0..<3 {
            let name = attempt == 0 ? plainName : plainName + "-" + encodeHex(randomBytes(4))
            let location = "\(hex.prefix(2))/\(name)"
            guard let path = Self.path(location) else {
                throw .invalid("The random source gives the wrong number of bytes.")
            }
            // A key of its own for each attempt: two files are never sealed with one key.
            let key = randomBytes(32)
            let prefix = randomBytes(7)
            guard key.count == 32, prefix.count == 7 else {
                throw .invalid("The random source gives the wrong number of bytes.")
            }
            let format = AssetFormat(key: key, prefix: prefix)
            do {
                try access.mount.publish(path) { write in
                    try Self.seal(file, size: size, contentHash: contentHash, format: format, write: write)
                }
                return AssetReference(contentHash: contentHash, size: size, location: location, key: key)
            } catch let error as CloudError {
                throw error
            } catch let error as FileError {
                if error.code != .exists { throw CloudError(error) }
            } catch {
                throw .invalid("Uploading failed: \(error).")
            }
        }
        throw .damaged("Every name tried for an asset is taken.", path: "assets/\(hex.prefix(2))")
    }

    /// Seals a content again under the name and the key that a reference has, where its file is gone from the container.
    /// A file that is there already is left as it is.
    ///
    /// - Throws: as `upload`.
    public func publish(
        _ reference: AssetReference, from file: any ReadableFile, randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) {
        let prefix = randomBytes(7)
        guard let path = reference.location.flatMap(Self.path), reference.key.count == 32, prefix.count == 7 else {
            throw .invalid("The reference has no place, or no key.")
        }
        // Two files under one key differ in their prefix, so no nonce is used twice.
        let format = AssetFormat(key: reference.key, prefix: prefix)
        do {
            try access.mount.publish(path) { write in
                try Self.seal(
                    file, size: reference.size, contentHash: reference.contentHash, format: format, write: write)
            }
        } catch let error as CloudError {
            throw error
        } catch let error as FileError {
            if error.code != .exists { throw CloudError(error) }
        } catch {
            throw .invalid("Uploading failed: \(error).")
        }
    }

    /// Whether an asset is seen; it may be there and not be seen yet.
    public func isThere(_ location: String) throws(CloudError) -> Bool {
        guard let path = Self.path(location) else { return false }
        return try access.read(path, from: 0, maxBytes: 1) != nil
    }

    /// The names of the assets that are seen in the directory of a location; the listing may be old.
    public func names(besides location: String) throws(CloudError) -> Set<String> {
        guard let path = Self.path(location) else { return [] }
        return Set(try access.list(path.parent))
    }

    private static func seal(
        _ file: any ReadableFile, size: UInt64, contentHash: Digest32, format: AssetFormat,
        write: ([UInt8]) throws -> Void
    ) throws {
        func changed(_ how: String) -> CloudError {
            CloudError(
                code: .changedWhileReading, message: "A file changed while it was uploaded: \(how).",
                remedy: "It is uploaded again when it has settled.")
        }
        // Not the mount's failure: what is said of it must not be, nor other files wait for it.
        func read(at offset: UInt64, maxBytes: Int) throws(CloudError) -> [UInt8] {
            do throws(FileError) { return try file.read(at: offset, maxBytes: maxBytes) } catch {
                throw CloudError(
                    code: .sourceUnreadable, message: error.description,
                    remedy: "Check the disk and the permissions of the file.", cause: error)
            }
        }
        // No file has so many bytes, whatever a record says of it.
        guard let frames = format.frames(size: size) else { throw changed("it has no \(size) bytes") }
        try write(format.header)
        var hasher = SHA256()
        var offset: UInt64 = 0
        for number in 0..<frames {
            let wanted = Int(min(UInt64(format.frameCount), size - offset))
            var plain = wanted == 0 ? [] : try read(at: offset, maxBytes: wanted)
            while plain.count < wanted {
                let more = try read(at: offset + UInt64(plain.count), maxBytes: wanted - plain.count)
                guard !more.isEmpty else { throw changed("it has fewer than \(size) bytes") }
                plain += more
            }
            guard plain.count == wanted else { throw CloudError.invalid("A file gave more bytes than asked for.") }
            plain.withUnsafeBytes { hasher.update(bufferPointer: $0) }
            try write(try format.seal(plain, number: number, isLast: number == frames - 1))
            offset += UInt64(wanted)
        }
        guard try read(at: size, maxBytes: 1).isEmpty else { throw changed("it has more than \(size) bytes") }
        guard Digest32(hasher.finalize()) == contentHash else { throw changed("its content is another one") }
    }

    /// Opens an asset and hands its content on in pieces of up to 128 KiB, in order.
    ///
    /// Each piece is authentic when it is handed on, the whole only when the function returns: on any error, throw away
    /// what was taken.
    /// - Throws: `.notYet` if there is no such file (yet) or the reference is pending; `.damaged` if the bytes are not
    ///   the ones referenced; `.offline`, `.mount`; and what `take` throws.
    public func download(_ reference: AssetReference, into take: (_ chunk: [UInt8]) throws -> Void) throws {
        guard let location = reference.location else {
            throw CloudError.notYet("The content is not uploaded yet.")
        }
        guard let path = Self.path(location) else {
            throw CloudError.damaged(
                "A record names an asset at '\(escapeForDisplay(Array(location.utf8)))', which is no place for one.")
        }
        do {
            try open(reference, at: path, take)
        } catch let error as CloudError { throw error.at(path) }
    }

    /// Reads an asset through, to learn whether it is there and whole.
    public func verify(_ reference: AssetReference) throws { try download(reference) { _ in } }

    private func open(_ reference: AssetReference, at path: MountPath, _ take: ([UInt8]) throws -> Void) throws {
        guard reference.key.count == 32 else { throw CloudError.damaged("A record has no key for its asset.") }
        guard let header = try first(path) else {
            throw CloudError.notYet("The content is not seen in the container yet.")
        }
        let format = try AssetFormat(header: header, key: reference.key)
        guard let frames = format.frames(size: reference.size) else {
            throw CloudError.damaged("A record claims an asset of \(reference.size) bytes.")
        }
        var hasher = SHA256()
        let sealedCount = format.frameCount + AssetFormat.tagCount
        let count = reference.size + UInt64(frames) * UInt64(AssetFormat.tagCount)
        var (number, left): (UInt32, UInt64) = (0, count)
        // One byte more is asked for than there may be: a file that goes on is not the one that was written.
        try access.read(path, from: UInt64(header.count), count: count + 1, pieceBytes: sealedCount * Self.framesAtOnce)
        {
            piece in
            var rest = piece[...]
            while left > 0, !rest.isEmpty {
                let sealed = rest.prefix(Int(min(UInt64(sealedCount), left)))
                guard sealed.count == sealedCount || UInt64(sealed.count) == left else {
                    throw CloudError.damaged("An asset is cut short.")
                }
                let plain = try format.open(sealed, number: number, isLast: number == frames - 1)
                plain.withUnsafeBytes { hasher.update(bufferPointer: $0) }
                try take(plain)
                rest = rest.dropFirst(sealed.count)
                left -= UInt64(sealed.count)
                number += 1
            }
            guard rest.isEmpty else { throw CloudError.damaged("An asset has bytes after its last frame.") }
        }
        guard left == 0 else { throw CloudError.damaged("An asset is cut short.") }
        guard Digest32(hasher.finalize()) == reference.contentHash else {
            throw CloudError.damaged("An asset's content is not the one that its record names.")
        }
    }

    private func first(_ path: MountPath) throws(CloudError) -> [UInt8]? {
        if let bytes = try access.read(path, from: 0, maxBytes: AssetFormat.headerCount) { return bytes }
        // Its directory is listed once, which cures a negative answer that a network file system remembers.
        _ = try access.list(path.parent)
        return try access.read(path, from: 0, maxBytes: AssetFormat.headerCount)
    }
}
