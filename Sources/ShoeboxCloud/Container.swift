import FoundationEssentials
import ShoeboxModel
public import ShoeboxWorld

/// A container on a mount: its root is read, and it is one that this version understands.
public struct Container: Sendable {
    /// Who may reach the files, beside what is sealed; the live mount sets modes by it.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// Directories 3770, files 0640: the group of the container's directory.
        case group
        /// Directories 3777, files 0644: everybody on the machines.
        case open
    }

    /// The features that this version knows; a container that requires another is refused.
    public static let knownFeatures: Set<String> = []

    /// The mount.
    public let mount: any Mount
    /// 32 lower-case hexadecimal digits.
    public let id: String
    /// When it was made, milliseconds since 1970.
    public let createdMilliseconds: UInt64
    /// Who may reach the files.
    public let mode: Mode

    /// What every version has.
    private struct Start: Codable {
        var format: String
    }

    private struct Description: Codable {
        var format: String
        var id: String
        var createdMilliseconds: UInt64
        var mode: String
    }

    /// Makes a container in an existing directory; `.containerExists` if there is one.
    ///
    /// - Parameter wanted: the id of a container that is lost and made anew; nil for a new one.
    public static func create(
        mount: any Mount, mode: Mode = .group, id wanted: String? = nil, nowMilliseconds: UInt64,
        randomBytes: (Int) -> [UInt8]
    ) throws(CloudError) -> Container {
        let access = MountAccess(mount: mount)
        let id = wanted ?? encodeHex(randomBytes(16))
        guard isID(id) else { throw .invalid("The random source gives the wrong number of bytes.") }
        let exists = CloudError(
            code: .containerExists, message: "There is a container in this directory already.",
            remedy: "Open it, or choose another directory.", path: "container.json")
        guard try !access.list(.root).contains("container.json") else { throw exists }
        for name in ["accounts", "assets", "features", "zones"] { try access.makeDirectory(.of(name)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let bytes: [UInt8]
        do {
            bytes =
                Array(
                    try encoder.encode(
                        Description(
                            format: "shoebox.container/1", id: id, createdMilliseconds: nowMilliseconds,
                            mode: mode.rawValue))) + [UInt8(ascii: "\n")]
        } catch { throw .invalid("container.json can't be written: \(error).") }
        // Last, so that a half-made container is none.
        do {
            try mount.publish(.of("container.json"), bytes)
            try mount.synchronize()
        } catch { throw error.code == .exists ? exists : CloudError(error) }
        return Container(mount: mount, id: id, createdMilliseconds: nowMilliseconds, mode: mode)
    }

    /// Opens the container at the root of a mount.
    ///
    /// - Parameter expected: the id that it must have; nil takes any.
    /// - Throws: `.notAContainer`, `.otherContainer`, `.newerFormat`, `.damaged`, `.offline`.
    public static func open(mount: any Mount, expecting expected: String? = nil) throws(CloudError) -> Container {
        let access = MountAccess(mount: mount)
        let path = MountPath.of("container.json")
        // The listing is also what cures a stale "no such file" of a network file system.
        _ = try access.list(.root)
        guard let bytes = try access.read(path, from: 0, maxBytes: 65_536), !bytes.isEmpty else {
            throw CloudError(
                code: .notAContainer, message: "There is no container in this directory.",
                remedy: "Check that the right directory is mounted; 'shoebox init' makes a container.",
                path: path.description)
        }
        if let start = try? JSONDecoder().decode(Start.self, from: Data(bytes)),
            start.format.hasPrefix("shoebox.container/"), start.format != "shoebox.container/1"
        {
            // Nothing else of it has to be as in this one.
            throw newer("format '\(escapeForDisplay(Array(start.format.utf8)))'")
        }
        guard let description = try? JSONDecoder().decode(Description.self, from: Data(bytes)) else {
            throw damaged("container.json is not what it must be.")
        }
        guard description.format == "shoebox.container/1" else {
            throw damaged("container.json is of format '\(escapeForDisplay(Array(description.format.utf8)))'.")
        }
        guard isID(description.id) else { throw damaged("The container's id is not valid.") }
        guard let mode = Mode(rawValue: description.mode) else { throw newer("mode '\(description.mode)'") }
        for feature in try access.list(.of("features")).sorted() where !knownFeatures.contains(feature) {
            throw newer("feature '\(escapeForDisplay(Array(feature.utf8)))'")
        }
        if let expected, expected != description.id {
            throw CloudError(
                code: .otherContainer,
                message: "The container here is \(description.id), not \(expected).",
                remedy: "Mount the container that this account belongs to.", path: path.description)
        }
        return Container(
            mount: mount, id: description.id, createdMilliseconds: description.createdMilliseconds, mode: mode)
    }

    private static func isID(_ text: String) -> Bool { decodeHex(text)?.count == 16 }

    private static func damaged(_ message: String) -> CloudError {
        CloudError(
            code: .damaged, message: message,
            remedy:
                "Check that the right folder is mounted. If only this file is damaged, 'shoebox verify --repair --new-container' writes it anew.",
            path: "container.json")
    }

    private static func newer(_ what: String) -> CloudError {
        CloudError(
            code: .newerFormat, message: "The container has \(what), which this version doesn't know.",
            remedy: "Update shoebox on this machine; nothing was changed.", path: "container.json")
    }
}
