public import ShoeboxModel

/// What a verification looked at and found.
public struct VerifyReport: Sendable {
    /// Something that is not as it must be.
    public struct Fault: Hashable, Sendable {
        /// Stable code: `container`, `account`, `control`, `head`, `headBehind`, `segment`, `asset`, `assetAbsent`, `version`,
        /// `versionAbsent`, `letter`, `file`, `root`, `zone` or `database`.
        public var code: String
        /// The file: below the container's folder, or `library/…`, `shared/…`.
        public var path: String
        /// The share, or nil.
        public var zone: ZoneID?
        /// What is wrong, and why.
        public var message: String
        /// What to do now.
        public var remedy: String
        /// Whether this replica has what it takes to mend it.
        public var isMendable: Bool
        /// Where an asset should be, below `assets/`.
        var location: String?
        /// A file in a watched folder.
        var reference: PathReference?

        /// As `--json` prints it.
        public var json: JSONObject {
            [
                "code": .string(code), "path": .string(path), "zone": zone.map { .string($0.description) } ?? .null,
                "message": .string(message), "remedy": .string(remedy), "isMendable": .bool(isMendable),
            ]
        }
    }

    /// How much was looked at.
    public struct Counts: Hashable, Sendable {
        /// Zones whose folder was read.
        public var zones = 0
        /// Heads that were read.
        public var heads = 0
        /// Segments whose hash, signature and place in their chain were checked.
        public var segments = 0
        /// Changes in them.
        public var changes = 0
        /// Assets that were opened and hashed.
        public var assets = 0
        /// Bytes of their contents.
        public var assetBytes: UInt64 = 0
        /// Files of the watched folders that were hashed.
        public var files = 0
        /// Bytes in them.
        public var fileBytes: UInt64 = 0
        /// Files that have changed or gone since the last look at them: they wait for the next scan.
        public var unscanned = 0
    }

    /// What is wrong, in the order in which it was found.
    public var faults: [Fault] = []
    /// How much was looked at.
    public var counts = Counts()
    /// Whether the container was not there: nothing of it was checked.
    public var isOffline = false

    /// What has to be done about the faults that can be mended here; nil if there are none.
    public var repair: Request? {
        let mendable = faults.filter(\.isMendable)
        guard !mendable.isEmpty else { return nil }
        var zones: Set<String> = []
        var assets: [DamagedAsset] = []
        for fault in mendable {
            guard let zone = fault.zone?.description else { continue }
            if let location = fault.location {
                assets.append(DamagedAsset(zone: zone, location: location))
            } else if fault.reference == nil {
                zones.insert(zone)
            }
        }
        return .repair(zones: zones.sorted(), assets: assets, files: mendable.compactMap(\.reference))
    }

    /// As `--json` prints it.
    public var json: JSONObject {
        [
            "faults": .array(faults.map { .object($0.json) }), "isOffline": .bool(isOffline),
            "checked": .object([
                "zones": .integer(Int64(counts.zones)), "heads": .integer(Int64(counts.heads)),
                "segments": .integer(Int64(counts.segments)), "changes": .integer(Int64(counts.changes)),
                "assets": .integer(Int64(counts.assets)), "assetBytes": .integer(Int64(clamping: counts.assetBytes)),
                "files": .integer(Int64(counts.files)), "fileBytes": .integer(Int64(clamping: counts.fileBytes)),
                "unscannedFiles": .integer(Int64(counts.unscanned)),
            ]),
        ]
    }

    /// As a person reads it.
    public var lines: [String] {
        var result: [String] = []
        for fault in faults {
            result.append("fault: \(fault.path): \(fault.message)")
            result.append("  hint: \(fault.remedy)")
        }
        result.append(
            "checked \(counts.segments) segments with \(counts.changes) changes in \(counts.zones) zones, "
                + "\(counts.assets) assets (\(StatusText.size(counts.assetBytes))), "
                + "\(counts.files) files (\(StatusText.size(counts.fileBytes)))")
        if counts.unscanned > 0 { result.append("\(counts.unscanned) files wait for the next scan") }
        if isOffline { result.append("the container is not there: nothing of it was checked") }
        result.append(faults.isEmpty ? "no faults" : faults.count == 1 ? "1 fault" : "\(faults.count) faults")
        return result
    }
}
