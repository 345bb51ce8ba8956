/// The targets of users' objects, as Supabase Storage has them. `{+path}` stands for a path with slashes.
public enum StorageTargets {
  /// Before all of them.
  public static let prefix = "/storage/v1"
  /// The bucket in which functions keep what they made.
  public static let functionBucket = "functions"
  /// `GET` and `DELETE`: an object of the bearer's user.
  public static let object = "\(prefix)/object/\(functionBucket)/{+path}"
  /// `GET`: the same.
  public static let authenticatedObject = "\(prefix)/object/authenticated/\(functionBucket)/{+path}"
  /// `GET`: what is known of an object.
  public static let information = "\(prefix)/object/info/\(functionBucket)/{+path}"
  /// `DELETE`: removes several.
  public static let bucket = "\(prefix)/object/\(functionBucket)"
  /// `POST`: lists a folder.
  public static let list = "\(prefix)/object/list/\(functionBucket)"
  /// Every one of them.
  public static let all = [object, authenticatedObject, information, bucket, list]
}
