import Testing

@testable import bramley

@Suite("A server that runs")
struct LiveServerTests {
  @Test("connections leave descriptors to the database and to the calls that they make")
  func connections() {
    for descriptors in [0, 64, 256, 1_024, 65_536, Int.max] {
      let most = LiveServer.connections(descriptors: descriptors)
      #expect(most == 8 || most * 2 + 64 <= descriptors)
      #expect(most >= 8)
    }
  }
}
