/// The operating system of a simulated device, and so the shape of what it attests.
public struct SimulatedSystem: Sendable, Equatable {
  /// Which family.
  public enum Platform: String, Sendable {
    /// iPhone and iPad.
    case iOS = "iphoneos"
    /// Mac.
    case macOS = "macosx"
  }

  /// Whether the authenticator data ends in an extension map, and whether its flag says so.
  public enum Extensions: String, Sendable {
    /// None: up to iOS 26.
    case absent
    /// A map, and the ED flag is set.
    case flagged
    /// A map, though the ED flag is clear, as some of iOS 27 make it.
    case unflagged
  }

  /// Which family.
  public var platform: Platform
  /// Such as `26.3`.
  public var version: String
  /// Such as `23D127`.
  public var build: String
  /// The extension map.
  public var extensions: Extensions
  /// Whether the leaf has an extended key usage and an access control extension, as since 2026.
  public var hasAccessControl: Bool

  /// A system.
  public init(
    platform: Platform, version: String, build: String, extensions: Extensions, hasAccessControl: Bool
  ) {
    self.platform = platform
    self.version = version
    self.build = build
    self.extensions = extensions
    self.hasAccessControl = hasAccessControl
  }

  /// The first one with App Attest.
  public static let iOS14 = SimulatedSystem(
    platform: .iOS, version: "14.0.1", build: "18A393", extensions: .absent, hasAccessControl: false)
  /// The last one without extensions.
  public static let iOS26 = SimulatedSystem(
    platform: .iOS, version: "26.3", build: "23D127", extensions: .absent, hasAccessControl: true)
  /// With extensions.
  public static let iOS27 = SimulatedSystem(
    platform: .iOS, version: "27.0.1", build: "24A446", extensions: .flagged, hasAccessControl: true)
  /// With extensions that no flag announces.
  public static let iOS27Unflagged = SimulatedSystem(
    platform: .iOS, version: "27.0", build: "24A437", extensions: .unflagged, hasAccessControl: true)
  /// A Mac.
  public static let macOS27 = SimulatedSystem(
    platform: .macOS, version: "27.0", build: "26A412", extensions: .flagged, hasAccessControl: true)

  /// Every shape.
  public static let all = [iOS14, iOS26, iOS27, iOS27Unflagged, macOS27]
}

/// The app that runs on a simulated device.
public struct SimulatedApp: Sendable, Equatable {
  /// App ID prefix, a dot and the bundle id, such as `TEAM123456.com.example.app`.
  public var id: String
  /// `CFBundleVersion`.
  public var version: String
  /// Where the build came from, which decides the environment and the validation category.
  public var distribution: Distribution

  /// Where a build came from.
  public enum Distribution: UInt32, Sendable {
    /// TestFlight: production.
    case testFlight = 2
    /// Xcode: development.
    case development = 3
    /// App Store: production.
    case appStore = 4
    /// Developer ID, on a Mac: production.
    case developerID = 6
  }

  /// An app.
  public init(id: String, version: String = "1", distribution: Distribution = .development) {
    self.id = id
    self.version = version
    self.distribution = distribution
  }
}
