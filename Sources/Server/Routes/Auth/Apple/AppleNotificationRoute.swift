import BramleyAPI
import Encodings
import HTTPMessages
import SignInWithApple

/// `POST /apple/notifications`: what Apple tells of its users. 200 says that it is kept, 503 that Apple should come
/// again.
struct AppleNotificationRoute: Endpoint {
  let method = HTTPMethod.post
  let path = AccountTargets.appleNotifications
  let notifications: AppleNotifications

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let body = try await request.body.collect(upTo: AppleNotificationBody.maximumLength)
    guard let payload = AppleNotificationBody.payload(body) else {
      throw Failure(400, .notificationInvalid, "The body is {\"payload\": \"…\"}, and no more than 64 KiB.")
    }
    let types = try await notifications.receive(payload)
    exchange.notes.append(("events", .array(types.map { .string($0) })))
    return HTTPResponse(status: 200)
  }
}
