import BramleyClient
import Foundation
import HTTPMessages
import SQL
import System
import Testing
import Transport

/// A file system of a few megabytes; only root can make one.
private final class SmallDisk {
  let path: String

  init?(megabytes: Int, in folder: Folder) async throws {
    path = folder.path("disk")
    try Files.createDirectory(path)
    guard geteuid() == 0,
      try await Self.run("mount", ["-t", "tmpfs", "-o", "size=\(megabytes)m,mode=700", "tmpfs", path])
    else { return nil }
  }

  func unmount() async throws { _ = try await Self.run("umount", ["--lazy", path]) }

  /// Takes what is left of the room.
  func fill() throws {
    try Data().write(to: URL(filePath: path + "/filler"))
    let file = try FileHandle(forWritingTo: URL(filePath: path + "/filler"))
    defer { try? file.close() }
    while (try? Files.writeAll([UInt8](repeating: 0, count: 4_096), to: file.fileDescriptor)) != nil {}
  }

  func free() throws { try Files.remove(path + "/filler") }

  private static func run(_ program: String, _ arguments: [String]) async throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardError = FileHandle.nullDevice
    try process.run()
    try await waitUntil(program) { !process.isRunning }
    return process.terminationStatus == 0
  }
}

@Suite("A full disk")
struct FullDiskTests {
  @Test(
    "requests are refused with 503 and Retry-After, nothing is damaged, and all goes on when there is room")
  func full() async throws {
    let folder = try Folder()
    guard let disk = try await SmallDisk(megabytes: 4, in: folder) else {
      print("skipped: only root can make a small file system")
      return
    }
    do {
      try await check(disk, folder)
    } catch {
      try await disk.unmount()
      throw error
    }
    try await disk.unmount()
  }

  private func check(_ disk: SmallDisk, _ folder: Folder) async throws {
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    let server = try await DevelopmentServer(daily: 10_000, data: disk.path)
    let traffic = Traffic(network)
    let phone = try Load.phone(at: server.base, data: disk.path, over: traffic)
    #expect(try await phone.respond(to: Load.question()).status == 200)
    try disk.fill()
    var refusals: [HTTPResponse] = []
    for _ in 0..<200 where refusals.count < 5 {
      let response = try await phone.respond(to: Load.question())
      if response.status == 200 { continue }
      #expect(response.status == 503)
      refusals.append(response)
    }
    #expect(refusals.count == 5)
    for refusal in refusals { #expect(refusal.fields["retry-after"] == "5") }
    #expect(try await status("\(server.base)/health") == 200)
    #expect(server.program.errorText.contains("no room left"), "\(server.program.errorText)")
    try disk.free()
    for _ in 0..<5 { #expect(try await phone.respond(to: Load.question()).status == 200) }
    // None was counted that was refused, and none that was answered is missing.
    try OnlineCopy.check(disk.path + "/bramley.sqlite")
    #expect(try await server.stop() == 0)
    let database = try Database(.readOnlyFile(disk.path + "/bramley.sqlite"))
    let counted = try await database.read { transaction in
      try await transaction.first(
        "select sum(used) from lines l join rules r on r.id = l.rule where r.name = 'daily'"
      ) { $0.int(0) }
    }
    database.close()
    #expect(await traffic.answered.count == counted)
  }
}
