// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target, tests included (docs/architecture.md).
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
]

func target(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func test(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .testTarget(
    name: name + "Tests",
    dependencies: [.byName(name: name), "BramleyTesting"] + dependencies,
    swiftSettings: settings)
}

func system(_ name: String, package: String? = nil, apt: String? = nil) -> Target {
  .systemLibrary(
    name: name, path: "Sources/C/\(name)", pkgConfig: package,
    providers: apt.map { [.apt([$0])] })
}

let package = Package(
  name: "bramley",
  // The rooms need Linux; BramleyClient is for Apple's platforms as well.
  platforms: [.macOS(.v15), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
  products: [
    .executable(name: "bramley", targets: ["bramley"]),
    .library(name: "BramleyClient", targets: ["BramleyClient"]),
    .library(name: "AppleSimulator", targets: ["AppleSimulator"]),
  ],
  targets: [
    // C: system libraries, imported only by their room.
    system("CCurl", package: "libcurl", apt: "libcurl4-openssl-dev"),
    system("CLinux"),
    system("COpenSSL", package: "openssl", apt: "libssl-dev"),
    system("CPostgres", package: "libpq", apt: "libpq-dev"),
    system("CSQLite", package: "sqlite3", apt: "libsqlite3-dev"),

    // Values: no I/O, no Foundation.
    target("Encodings"),
    target("HTTPMessages", ["Encodings"]),
    target("BramleyAPI", ["Encodings"]),

    // Rooms: `unsafe` is allowed here only.
    target("System", ["CLinux"]),
    target("Cryptography", ["COpenSSL", "Encodings"]),
    target("SQL", ["CPostgres", "CSQLite", "System"]),
    target("Transport", ["CCurl", "CLinux", "HTTPMessages", "System"]),

    // Domain: rules, no I/O, none knows another.
    target("AppAttest", ["Cryptography", "Encodings", "HTTPMessages"]),
    target("Accounts", ["Cryptography", "Encodings"]),
    target("Gateway", ["Encodings", "HTTPMessages"]),
    target("SignInWithApple", ["Cryptography", "Encodings", "HTTPMessages"]),
    target("UserData", ["Encodings"]),
    target("Admission", ["AppAttest", "Gateway"]),

    // Application.
    target("Stores", ["Accounts", "Admission", "AppAttest", "Encodings", "Gateway", "SQL", "UserData"]),
    target(
      "Server",
      [
        "Accounts", "Admission", "AppAttest", "BramleyAPI", "Cryptography", "Encodings", "Gateway",
        "HTTPMessages", "SignInWithApple", "UserData",
      ]),
    target("AppleSimulator", ["AppAttest", "BramleyAPI", "Cryptography", "Encodings", "HTTPMessages"]),
    target("BramleyClient", ["BramleyAPI", "Encodings", "HTTPMessages"]),
    .executableTarget(
      name: "bramley",
      dependencies: [
        "Accounts", "Admission", "AppAttest", "AppleSimulator", "BramleyAPI", "BramleyClient",
        "Cryptography", "Encodings", "Gateway", "HTTPMessages", "SQL", "Server", "SignInWithApple", "Stores",
        "System", "Transport",
      ],
      swiftSettings: settings),

    // Tests.
    target("BramleyTesting", ["Encodings", "HTTPMessages", "System"]),
    test("Encodings"),
    test("HTTPMessages", ["Encodings"]),
    test("BramleyAPI", ["Encodings", "Cryptography"]),
    test("System"),
    test("Cryptography", ["Encodings"]),
    test("SQL", ["System"]),
    test("Transport", ["HTTPMessages", "System"]),
    test("AppAttest", ["Cryptography", "Encodings", "HTTPMessages", "AppleSimulator"]),
    test("Gateway", ["Encodings", "HTTPMessages"]),
    test("Admission", ["AppAttest", "Gateway"]),
    test("Accounts", ["Cryptography", "Encodings"]),
    test("SignInWithApple", ["Cryptography", "Encodings", "HTTPMessages"]),
    test("UserData", ["Encodings"]),
    test(
      "Stores",
      ["Accounts", "Admission", "AppAttest", "Encodings", "Gateway", "SQL", "System", "UserData"]),
    test(
      "Server",
      [
        "Accounts", "Admission", "AppAttest", "AppleSimulator", "BramleyAPI", "BramleyClient",
        "Cryptography", "Encodings", "Gateway", "HTTPMessages", "SQL", "SignInWithApple", "Stores", "System",
        "UserData",
      ]),
    test(
      "AppleSimulator",
      ["AppAttest", "BramleyAPI", "Cryptography", "Encodings", "HTTPMessages", "SignInWithApple"]),
    test(
      "BramleyClient",
      ["AppleSimulator", "BramleyAPI", "Cryptography", "Encodings", "HTTPMessages"]),
    test(
      "bramley",
      [
        "Accounts", "Admission", "AppAttest", "AppleSimulator", "Encodings", "HTTPMessages", "SQL", "Server",
        "SignInWithApple", "Stores", "System", "Transport",
      ]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: [
        "AppleSimulator", "BramleyClient", "BramleyTesting", "Cryptography", "Encodings", "Gateway",
        "HTTPMessages", "SQL", "Stores", "System", "Transport", "bramley",
      ],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// Programs that only developers build: `make fuzz` and `make bench` ask for them. They live in this package
// because `package` access ends at its border, and outside `Sources` because users never need them.
if Context.environment["BRAMLEY_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "BramleyFuzz",
      dependencies: [
        "AppAttest", "Cryptography", "Encodings", "Gateway", "HTTPMessages", "SignInWithApple", "Transport",
      ],
      path: "Fuzz/Sources", swiftSettings: settings))
}

if Context.environment["BRAMLEY_BENCHMARKS"] != nil {
  package.targets.append(
    .executableTarget(
      name: "BramleyBenchmarks",
      dependencies: [
        "Accounts", "Admission", "AppAttest", "BramleyAPI", "Cryptography", "Encodings", "Gateway",
        "HTTPMessages", "SQL", "Server", "SignInWithApple", "Stores", "System", "Transport",
      ],
      path: "Benchmarks/Sources"))
}

// A quick round on a part: `BRAMLEY_TEST_TARGETS=Transport,System swift test` builds those tests alone.
if let only = Context.environment["BRAMLEY_TEST_TARGETS"] {
  let names = Set(only.split(separator: ",").map { String($0) + "Tests" })
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}
