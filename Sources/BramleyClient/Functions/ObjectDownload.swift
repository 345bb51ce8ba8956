public import BramleyAPI
public import HTTPMessages

extension BramleyClient {
  /// The content of an object that the server keeps for the user, as it comes.
  ///
  /// - Parameter accessToken: the user's. Nobody else's opens it.
  /// - Throws: ``BramleyError`` with `object_not_found` where the user has no such object.
  public func object(_ object: FunctionAnswer.Object, accessToken: String) async throws -> HTTPBody {
    try await self.object(object.path, in: object.bucket, accessToken: accessToken)
  }

  /// The content of an object by its place.
  public func object(
    _ path: String, in bucket: String = StorageTargets.functionBucket, accessToken: String
  ) async throws -> HTTPBody {
    let response = try await sendPlain(
      HTTPRequest(
        method: .get, target: "\(StorageTargets.prefix)/object/authenticated/\(bucket)/\(path)",
        fields: ["authorization": "Bearer \(accessToken)"]))
    guard response.status == 200 else {
      throw BramleyError(response, body: await response.errorBody())
    }
    return response.body
  }
}
