/// The targets of the operator's own listener.
public enum AdminTargets {
  /// Before all of them.
  public static let prefix = "/admin/v1"
  /// `GET`: the audit log.
  public static let audit = prefix + "/audit"
}
