#if canImport(DeviceCheck)
  import Foundation
  public import HTTPMessages
  #if canImport(FoundationNetworking)
    import FoundationNetworking
  #endif

  /// Sends requests by URLSession: nothing cached, no cookies, no redirects followed.
  public struct URLSessionTransport: HTTPHandler {
    private let session: URLSession

    /// A transport.
    ///
    /// - Parameter timeout: seconds without an octet after which a request fails.
    public init(timeout: Double = 120) {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.urlCache = nil
      configuration.httpShouldSetCookies = false
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.timeoutIntervalForRequest = timeout
      session = URLSession(configuration: configuration)
    }

    /// Sends, and returns as soon as the head of the answer is there.
    public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
      let text = "\(request.scheme)://\(request.authority)\(request.target)"
      // What was signed must be sent octet for octet.
      guard let url = URL(string: text), url.absoluteString == text else {
        throw BramleyError(.unattestableRequest)
      }
      var message = URLRequest(url: url)
      message.httpMethod = request.method.rawValue
      for field in request.fields.lines { message.addValue(field.value, forHTTPHeaderField: field.name) }
      let content = try await request.body.collect(upTo: 64 << 20)
      if !content.isEmpty { message.httpBody = Data(content) }

      let task = session.dataTask(with: message)
      let (heads, head) = AsyncThrowingStream.makeStream(of: HTTPURLResponse.self)
      let (chunks, chunk) = AsyncThrowingStream.makeStream(of: Data.self)
      chunk.onTermination = { _ in task.cancel() }
      task.delegate = URLSessionExchange(head: head, body: chunk)
      return try await withTaskCancellationHandler {
        task.resume()
        for try await head in heads {
          return HTTPResponse(
            status: head.statusCode, fields: Self.fields(head),
            body: HTTPBody(stream: URLSessionBody(chunks, task)))
        }
        try Task.checkCancellation()
        throw URLError(.badServerResponse)
      } onCancel: {
        task.cancel()
      }
    }

    /// Without what URLSession has taken away already: codings and lengths.
    private static func fields(_ head: HTTPURLResponse) -> HTTPFields {
      var fields = HTTPFields()
      for (name, value) in head.allHeaderFields {
        guard let name = name as? String, let value = value as? String else { continue }
        let hidden = ["content-encoding", "content-length", "transfer-encoding"]
        if !hidden.contains(name.lowercased()) { fields.append(name, value) }
      }
      return fields
    }
  }

  /// Hands on what URLSession tells of one task.
  private final class URLSessionExchange: NSObject, URLSessionDataDelegate, Sendable {
    private let head: AsyncThrowingStream<HTTPURLResponse, any Error>.Continuation
    private let body: AsyncThrowingStream<Data, any Error>.Continuation

    init(
      head: AsyncThrowingStream<HTTPURLResponse, any Error>.Continuation,
      body: AsyncThrowingStream<Data, any Error>.Continuation
    ) {
      self.head = head
      self.body = body
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
      completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
      if let response = response as? HTTPURLResponse { head.yield(response) }
      head.finish()
      completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      body.yield(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      head.finish(throwing: error)
      body.finish(throwing: error)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
      newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
      completionHandler(nil)
    }
  }

  /// The content of an answer as it comes.
  private actor URLSessionBody: HTTPBodyStream {
    private let chunks: AsyncThrowingStream<Data, any Error>
    private let task: URLSessionTask

    init(_ chunks: AsyncThrowingStream<Data, any Error>, _ task: URLSessionTask) {
      self.chunks = chunks
      self.task = task
    }

    deinit { task.cancel() }

    func next() async throws -> [UInt8]? {
      for try await chunk in chunks where !chunk.isEmpty { return Array(chunk) }
      // The end of the stream is also what a cancelled reader sees.
      try Task.checkCancellation()
      return nil
    }

    nonisolated func cancel() { task.cancel() }
  }
#endif
