/// What apps may ask of OpenAI's Chat Completions. Everything is an allow-list: what is not named is refused.
package struct OpenAIPolicy: Sendable, Equatable {
  /// The names that an app may say, each with the provider's name for it.
  package var models: [String: String]
  /// The most output tokens a choice, reasoning included; also what a request without a limit gets.
  package var maximumOutput: Int64
  /// The most choices a request (`n`); each is paid for.
  package var maximumChoices: Int64
  /// Types of tools; of all of them the app runs `function` and `custom` alone.
  package var tools: Set<String>
  /// The most images a request; only inline ones are taken.
  package var maximumImages: Int
  /// The most octets of a body.
  package var maximumBody: Int
  /// The most messages a request.
  package var maximumMessages: Int

  package init(
    models: [String: String], maximumOutput: Int64 = 4_096, maximumChoices: Int64 = 1,
    tools: Set<String> = ["function"], maximumImages: Int = 8, maximumBody: Int = 2 << 20,
    maximumMessages: Int = 1_000
  ) {
    self.models = models
    self.maximumOutput = maximumOutput
    self.maximumChoices = maximumChoices
    self.tools = tools
    self.maximumImages = maximumImages
    self.maximumBody = maximumBody
    self.maximumMessages = maximumMessages
  }
}
