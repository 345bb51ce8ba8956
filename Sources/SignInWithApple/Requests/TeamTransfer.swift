import Encodings
package import HTTPMessages

/// Moving an app with its users to another team (Apple's TN3159). The sender asks for a transfer identifier of every
/// user, the recipient turns each into the user's subject under the new team; both within 60 days after the transfer
/// was accepted, and a user at a time, for some will be refused.
package enum TeamTransfer {
  /// How long after its acceptance, seconds.
  package static let window: Int64 = 60 * 86_400

  /// Why nothing is asked.
  package enum Refusal: Error, Equatable, Sendable {
    /// The target is the sender's own team: Apple takes it, and the users are stuck for good.
    case ownTeam
    /// No team id: ten letters and digits.
    case noTeam
  }

  /// A user under the new team.
  package struct User: Sendable, Equatable {
    package let subject: String
    /// Another relay address than before, where it is one; nil where the user gave none.
    package let email: String?
    package let isPrivateEmail: Bool?
  }
}

extension AppleRequests {
  /// Asks for the access token of the calls below; it holds for an hour. Read it by
  /// ``AppleAnswer/tokens(status:fields:body:)``.
  package func migrationToken(secret: ClientSecret) -> HTTPRequest {
    var form = credentials(secret)
    form.append("grant_type", "client_credentials")
    form.append("scope", "user.migration")
    return post("/auth/token", form)
  }

  /// The sender asks for a user's transfer identifier.
  ///
  /// - Parameters:
  ///   - recipient: the id of the team that gets the app.
  ///   - secret: of the sender's.
  package func transferIdentifier(
    of subject: String, to recipient: String, secret: ClientSecret, accessToken: String
  ) throws(TeamTransfer.Refusal) -> HTTPRequest {
    guard recipient.utf8.count == 10, recipient.utf8.allSatisfy(isLetterOrDigit) else { throw .noTeam }
    guard recipient.uppercased() != secret.teamID.uppercased() else { throw .ownTeam }
    return migration([("sub", subject), ("target", recipient)], secret, accessToken)
  }

  /// The recipient asks for the user of a transfer identifier.
  ///
  /// - Parameter secret: of the recipient's.
  package func transferredUser(
    _ identifier: String, secret: ClientSecret, accessToken: String
  ) -> HTTPRequest {
    migration([("transfer_sub", identifier)], secret, accessToken)
  }

  private func migration(
    _ form: [(String, String)], _ secret: ClientSecret, _ accessToken: String
  ) -> HTTPRequest {
    var request = post(
      "/auth/usermigrationinfo",
      FormParameters(form + credentials(secret).parameters.map { ($0.name, $0.value) }))
    request.fields["authorization"] = "Bearer \(accessToken)"
    return request
  }
}

extension AppleAnswer {
  /// The transfer identifier in an answer to the sender.
  package static func transferIdentifier(
    status: Int, fields: HTTPFields, body: [UInt8]
  ) throws(AppleRefusal) -> String {
    let claims = try transferClaims(status: status, fields: fields, body: body)
    guard let identifier = claims.text("transfer_sub", limit: 255) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    return identifier
  }

  /// The user in an answer to the recipient.
  package static func transferredUser(
    status: Int, fields: HTTPFields, body: [UInt8]
  ) throws(AppleRefusal) -> TeamTransfer.User {
    let claims = try transferClaims(status: status, fields: fields, body: body)
    guard let subject = claims.text("sub", limit: 255) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    let email = claims.text("email", limit: 254)
    return TeamTransfer.User(
      subject: subject, email: email,
      isPrivateEmail: email == nil ? nil : claims.truth("is_private_email"))
  }

  private static func transferClaims(
    status: Int, fields: HTTPFields, body: [UInt8]
  ) throws(AppleRefusal) -> Claims {
    guard status == 200 else { throw AppleRefusal(status: status, fields: fields, body: body) }
    guard let node = try? JSONReader.read(body, maximumDepth: 8) else {
      throw .retryable(status: status, retryAfter: nil)
    }
    return Claims(node: node)
  }
}

private func isLetterOrDigit(_ octet: UInt8) -> Bool {
  (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
}
