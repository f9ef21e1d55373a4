// swift-tools-version: 6.1
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let protobuf: Target.Dependency = .product(name: "SwiftProtobuf", package: "swift-protobuf")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "shoebox",
    products: [
        .executable(name: "shoebox", targets: ["shoebox"]),
        .executable(name: "shoebox-watch", targets: ["shoebox-watch"]),
        .library(name: "Shoebox", targets: ["Shoebox"]),
        .library(name: "ShoeboxTestSupport", targets: ["ShoeboxTestSupport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    ],
    targets: [
        .systemLibrary(name: "CInotifyTools", providers: [.apt(["libinotifytools0-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CFileSystem"),

        // The order of this list is the order of the arrows: a target may depend on what stands above it only.
        .target(name: "ShoeboxModel", swiftSettings: strict),
        .target(name: "ShoeboxPlanning", dependencies: ["ShoeboxModel", crypto], swiftSettings: strict),
        .target(
            name: "ShoeboxFormat", dependencies: ["ShoeboxModel", protobuf], exclude: ["Schema", "generate.sh"],
            swiftSettings: strict),
        .target(name: "ShoeboxWorld", dependencies: ["ShoeboxModel", "CFileSystem"], swiftSettings: strict),
        .target(
            name: "ShoeboxStore",
            dependencies: ["ShoeboxModel", "ShoeboxPlanning", "ShoeboxFormat", grdb, sqlite], swiftSettings: strict),
        .target(
            name: "ShoeboxCloud",
            dependencies: [
                "ShoeboxModel", "ShoeboxPlanning", "ShoeboxFormat", "ShoeboxWorld", "CZlib", crypto, cryptoExtras,
                protobuf,
            ], swiftSettings: strict),
        .target(
            name: "ShoeboxLibrary",
            dependencies: ["ShoeboxModel", "ShoeboxPlanning", "ShoeboxWorld", "CFileSystem", crypto],
            swiftSettings: strict),
        .target(
            name: "Shoebox",
            dependencies: [
                "ShoeboxModel", "ShoeboxPlanning", "ShoeboxFormat", "ShoeboxWorld", "ShoeboxStore", "ShoeboxCloud",
                "ShoeboxLibrary", crypto, grdb,
            ], swiftSettings: strict),
        .executableTarget(
            name: "shoebox",
            dependencies: ["Shoebox", "ShoeboxModel", "ShoeboxWorld", arguments],
            path: "Sources/ShoeboxCommand", swiftSettings: strict),
        .executableTarget(
            name: "shoebox-watch", dependencies: ["CInotifyTools", "CFileSystem"], path: "Sources/shoebox-watch",
            exclude: ["LICENSE"],
            swiftSettings: strict),
        .target(
            name: "ShoeboxTestSupport", dependencies: ["ShoeboxModel", "ShoeboxPlanning", "ShoeboxWorld"],
            swiftSettings: strict),

        .testTarget(
            name: "ShoeboxModelTests", dependencies: ["ShoeboxModel", "ShoeboxTestSupport"], swiftSettings: strict),
        .testTarget(
            name: "ShoeboxPlanningTests", dependencies: ["ShoeboxPlanning", "ShoeboxModel", "ShoeboxTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ShoeboxWorldTests", dependencies: ["ShoeboxWorld", "ShoeboxModel", "ShoeboxTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ShoeboxStoreTests",
            dependencies: ["ShoeboxStore", "ShoeboxModel", "ShoeboxPlanning", "ShoeboxTestSupport"],
            swiftSettings: strict),
        .testTarget(
            name: "ShoeboxCloudTests",
            dependencies: [
                "ShoeboxCloud", "ShoeboxFormat", "ShoeboxModel", "ShoeboxPlanning", "ShoeboxWorld",
                "ShoeboxTestSupport", crypto,
            ], swiftSettings: strict),
        .testTarget(
            name: "ShoeboxLibraryTests",
            dependencies: [
                "ShoeboxLibrary", "ShoeboxModel", "ShoeboxPlanning", "ShoeboxWorld", "ShoeboxTestSupport",
            ], swiftSettings: strict),
        .testTarget(
            name: "ScenarioTests",
            dependencies: [
                "Shoebox", "ShoeboxModel", "ShoeboxPlanning", "ShoeboxWorld", "ShoeboxStore", "ShoeboxCloud",
                "ShoeboxLibrary", "ShoeboxFormat", "ShoeboxTestSupport", crypto, grdb,
            ], swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
