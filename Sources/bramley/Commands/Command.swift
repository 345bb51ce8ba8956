/// One command of the program.
protocol Command: Sendable {
  /// What it takes.
  static var syntax: CommandSyntax { get }
  /// Reads its arguments.
  init(_ arguments: ParsedArguments) throws(UsageError)
  /// Does it. What is thrown is reported as one line on stderr; `CommandFailure` chooses the exit code.
  func run(_ console: Console) async throws -> ExitCode
}

/// Every command, in the order of the help.
let allCommands: [any Command.Type] = [
  Dev.self, Serve.self, Doctor.self,
  Migrate.self, Backup.self, Restore.self, Copy.self,
  ShowUsage.self, ShowAudit.self, ListClosedModels.self, ReopenModel.self, ShowJobs.self, DeleteUser.self,
  ListDeletions.self, ShowDeletion.self, RetryDeletion.self, ListKeys.self, BanKey.self,
  RevokeKey.self,
  ListEvents.self, ListDeadEvents.self, ReplayEvents.self,
  ExportUsers.self, ImportUsers.self,
  Ask.self, CallFunction.self, Proxy.self, BuyToken.self, AppleSignIn.self, AppleSettings.self,
  DeviceRisk.self,
  InspectAttestation.self, InspectAssertion.self, InspectReceipt.self,
  CreateDebugKey.self, ListDebugKeys.self, RevokeDebugKey.self,
  ListSigningKeys.self, RotateSigningKey.self,
  CreateAdminKey.self, ListAdminKeys.self, RevokeAdminKey.self,
]

/// Why a command ended without doing what it was asked.
struct CommandFailure: Error, Equatable {
  /// One line, without the program's name.
  var message: String
  var code: ExitCode = .failure
}
