/// Which Bramley this is; CHANGELOG.md tells what changed.
enum Version {
  static let current = "0.1.0-dev"
}
