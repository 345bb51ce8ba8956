import Server
import Testing
import Transport

@testable import bramley

@Suite("Where a development server is") struct DevelopmentBasesTests {
  private let addresses = ["192.168.1.5:0", "10.0.0.7:0", "[2001:db8::5]:0"].compactMap { SocketAddress($0) }

  private func bases(_ listen: String, host: String = "studio.home") throws -> DevelopmentBases {
    DevelopmentBases(try #require(ListenAddress(listen)), addresses: addresses, host: host)
  }

  @Test("on all addresses: loopback, every address of the machine, and its name")
  func all() throws {
    let any = try bases("0.0.0.0:8080")
    #expect(any.own == "http://127.0.0.1:8080")
    #expect(any.others == ["http://192.168.1.5:8080", "http://10.0.0.7:8080", "http://studio.local:8080"])
    #expect(
      any.audiences == [
        "http://127.0.0.1:8080", "http://localhost:8080", "http://0.0.0.0:8080", "http://192.168.1.5:8080",
        "http://10.0.0.7:8080", "http://studio.local:8080",
      ])
    #expect(any.audiences.allSatisfy { BaseURL($0) != nil })
    let six = try bases("[::]:80", host: "odd_name")
    #expect(six.own == "http://[::1]:80" && six.others == ["http://[2001:db8::5]:80"])
  }

  @Test("on loopback nobody else is invited; on one address that one is")
  func one() throws {
    #expect(
      try bases("127.0.0.1:8080").audiences == ["http://127.0.0.1:8080", "http://localhost:8080"])
    #expect(try bases("127.0.0.1:8080").others == [])
    #expect(try bases("localhost:1").audiences == ["http://localhost:1"])
    #expect(try bases("192.168.1.5:8080").others == ["http://192.168.1.5:8080"])
  }

  @Test("this machine's addresses are addresses of others' use")
  func machine() {
    for address in LocalAddresses.all {
      #expect(!address.host.hasPrefix("127.") && address.host != "::1" && !address.host.hasPrefix("fe80"))
    }
    #expect(Set(LocalAddresses.all).count == LocalAddresses.all.count)
  }
}
