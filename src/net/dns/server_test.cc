#include "net/dns/server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <thread>

#include "base/fd.h"

namespace koord::net::dns {
namespace {

constexpr std::uint16_t kA = 1;

int answersIn(const std::string& message) {
  return static_cast<unsigned char>(message.at(6)) << 8 | static_cast<unsigned char>(message.at(7));
}
int codeOf(const std::string& message) {
  return message.at(3) & 0x0f;
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::string exchange(int type, std::uint16_t port, const std::string& message) {
  const Fd socket(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const timeval limit{10, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const auto address = loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return {};
  if (::send(socket.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) return {};
  std::string buffer(65'537, '\0');
  std::size_t have = 0;
  while (true) {
    const ssize_t size = ::recv(socket.get(), buffer.data() + have, buffer.size() - have, 0);
    if (size <= 0) return {};
    have += static_cast<std::size_t>(size);
    if (type == SOCK_DGRAM) return buffer.substr(0, have);
    const auto length = static_cast<std::size_t>(static_cast<unsigned char>(buffer[0]) << 8 |
                                                 static_cast<unsigned char>(buffer[1]));
    if (have >= length + 2) return buffer.substr(2, length);
  }
}

std::string byTcp(std::uint16_t port, const std::string& query) {
  std::string framed{static_cast<char>(query.size() >> 8), static_cast<char>(query.size() & 0xff)};
  return exchange(SOCK_STREAM, port, framed + query);
}

std::optional<Answer> answerFor(const Question& question) {
  Answer answer;
  if (question.name == "web.test") {
    answer.addresses = {"10.1.2.3"};
  } else if (question.name == "many.test") {
    for (int i = 0; i < 100; ++i) answer.addresses.push_back("10.0.0." + std::to_string(i));
  } else if (question.name == "other.test") {
    answer.alias = "web.test";
  } else if (question.name.ends_with(".test")) {
    answer.exists = false;
  } else {
    return std::nullopt;
  }
  return answer;
}

std::unique_ptr<Server> serverOf(std::vector<std::string> upstreams = {},
                                 std::uint16_t upstreamPort = 53) {
  ServerOptions options;
  options.zone = "test";
  options.answer = answerFor;
  options.upstreams = [upstreams] { return upstreams; };
  options.upstreamPort = upstreamPort;
  return Server::start(std::move(options)).value();
}

TEST(DnsServerTest, AnswersForItsZone) {
  const auto server = serverOf();
  const auto found = exchange(SOCK_DGRAM, server->port(), queryFor(7, "web.test", kA));
  EXPECT_THAT(addressRecordsIn(found, kA), testing::ElementsAre("\x0a\x01\x02\x03"));
  EXPECT_EQ(found.substr(0, 2), std::string("\0\7", 2));
  const auto unknown = exchange(SOCK_DGRAM, server->port(), queryFor(7, "no.test", kA));
  EXPECT_EQ(codeOf(unknown), 3);
  const auto noAaaa = exchange(SOCK_DGRAM, server->port(), queryFor(7, "web.test", 28));
  EXPECT_EQ(codeOf(noAaaa), 0);
  EXPECT_EQ(answersIn(noAaaa), 0);
  EXPECT_EQ(addressRecordsIn(byTcp(server->port(), queryFor(7, "WEB.test", kA)), kA).size(), 1u);
}

TEST(DnsServerTest, AnAliasComesWithTheAddressesOfItsTarget) {
  const auto server = serverOf();
  const auto found = exchange(SOCK_DGRAM, server->port(), queryFor(7, "other.test", kA));
  EXPECT_EQ(answersIn(found), 2);
  EXPECT_THAT(addressRecordsIn(found, kA), testing::ElementsAre("\x0a\x01\x02\x03"));
}

TEST(DnsServerTest, ALongAnswerIsCutByUdpAndWholeByTcp) {
  const auto server = serverOf();
  const auto cut = exchange(SOCK_DGRAM, server->port(), queryFor(7, "many.test", kA));
  EXPECT_NE(cut.at(2) & 0x02, 0);
  EXPECT_EQ(answersIn(cut), 30) << "for clients that do not ask by TCP";
  EXPECT_EQ(addressRecordsIn(cut, kA).size(), 30u);
  EXPECT_EQ(addressRecordsIn(byTcp(server->port(), queryFor(7, "many.test", kA)), kA).size(), 100u);
}

// The query with a record of EDNS that asks for responses of at most `size` bytes.
std::string withEdns(std::string query, int size) {
  query[11] = 1;
  query += std::string("\0\0\x29", 3);
  query += static_cast<char>(size >> 8);
  query += static_cast<char>(size & 0xff);
  return query + std::string(6, '\0');
}

TEST(DnsServerTest, ResponsesToEdnsHaveEdns) {
  const auto server = serverOf();
  const auto large =
      exchange(SOCK_DGRAM, server->port(), withEdns(queryFor(7, "many.test", kA), 4096));
  EXPECT_GT(addressRecordsIn(large, kA).size(), 70u);
  EXPECT_LE(large.size(), 1232u);
  EXPECT_EQ(large.at(11), 1) << "one additional record";
  EXPECT_EQ(large.substr(large.size() - 11), std::string("\0\0\x29\x04\xd0\0\0\0\0\0\0", 11));
  const auto none = exchange(SOCK_DGRAM, server->port(), withEdns(queryFor(7, "no.test", kA), 512));
  EXPECT_EQ(codeOf(none), 3);
  EXPECT_EQ(none.at(11), 1);
  const auto plain = exchange(SOCK_DGRAM, server->port(), queryFor(7, "web.test", kA));
  EXPECT_EQ(plain.at(11), 0);
}

TEST(DnsMessageTest, RecordsOfAnotherSizeAreNoAddresses) {
  std::string response = queryFor(7, "a.test", kA);
  response[2] = static_cast<char>(0x84);
  response[7] = 2;
  response += std::string("\xc0\x0c\0\1\0\1\0\0\0\5\0\2ab", 14);
  response += std::string("\xc0\x0c\0\1\0\1\0\0\0\5\0\4abcd", 16);
  EXPECT_THAT(addressRecordsIn(response, kA), testing::ElementsAre("abcd"));
}

// Clients that leave in the middle, and a server that ends meanwhile: nothing may outlive it.
TEST(DnsServerTest, EndsWhileClientsAndOtherServersAreBusy) {
  const Fd silent(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  auto address = loopback(0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  for (int round = 0; round < 20; ++round) {
    auto server = serverOf({"127.0.0.1", "127.0.0.1"}, ntohs(address.sin_port));
    const auto to = loopback(server->port());
    const auto* target = reinterpret_cast<const sockaddr*>(&to);
    std::vector<Fd> clients;
    for (int i = 0; i < 20; ++i) {
      const bool tcp = i % 2 == 0;
      const Fd& client = clients.emplace_back(
          ::socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::connect(client.get(), target, sizeof(to)), 0);
      std::string message = queryFor(7, i % 4 < 2 ? "example.com" : "web.test", kA);
      if (tcp) message = std::string{'\0', static_cast<char>(message.size())} + message;
      if (i % 5 == 0) message.resize(message.size() / 2);
      ::send(client.get(), message.data(), message.size(), MSG_NOSIGNAL);
      if (i % 3 == 0) clients.pop_back();
    }
    if (round % 2 == 0) exchange(SOCK_DGRAM, server->port(), queryFor(7, "web.test", kA));
    server.reset();
  }
}

TEST(DnsServerTest, OtherNamesComeFromUpstream) {
  const auto upstream = serverOf();  // knows .test only: it has no upstream of its own
  ServerOptions options;
  options.zone = "cluster.local";
  options.answer = [](const Question&) { return std::nullopt; };
  options.upstreams = [] { return std::vector<std::string>{"127.0.0.1"}; };
  options.upstreamPort = upstream->port();
  const auto server = Server::start(std::move(options)).value();
  const std::string query = queryFor(9, "web.test", kA);
  EXPECT_EQ(addressRecordsIn(exchange(SOCK_DGRAM, server->port(), query), kA).size(), 1u);
  EXPECT_EQ(addressRecordsIn(byTcp(server->port(), query), kA).size(), 1u);
  EXPECT_EQ(codeOf(exchange(SOCK_DGRAM, server->port(), queryFor(9, "example.com", kA))), 2)
      << "no upstream answers";
}

TEST(DnsServerTest, GarbageIsAnsweredOrDroppedAndTheServerGoesOn) {
  const auto server = serverOf();
  const std::string query = queryFor(7, "web.test", kA);
  for (std::size_t size = 12; size < query.size(); ++size)
    EXPECT_EQ(codeOf(exchange(SOCK_DGRAM, server->port(), query.substr(0, size))), 1);
  std::string loop = query;  // a name that points to itself
  loop[12] = static_cast<char>(0xc0);
  loop[13] = 0x0c;
  EXPECT_EQ(codeOf(exchange(SOCK_DGRAM, server->port(), loop)), 1);
  std::string response = query;
  response[2] = static_cast<char>(0x81);
  EXPECT_EQ(failureOf(response, Failure::Malformed), "") << "servers do not answer each other";
  std::string notify = query;
  notify[2] = 0x20;
  EXPECT_EQ(codeOf(exchange(SOCK_DGRAM, server->port(), notify)), 4);
  EXPECT_EQ(answersIn(exchange(SOCK_DGRAM, server->port(), query)), 1);
}

TEST(ResolvConfTest, ServersAndDomains) {
  const char* text =
      "search a\n# nameserver 1.1.1.1\nnameserver 2.2.2.2 \nnameserver 3.3.3.3\n"
      "nameserver 4.4.4.4\nnameserver 5.5.5.5\nsearch b c .\n";
  EXPECT_THAT(nameserversIn(text), testing::ElementsAre("2.2.2.2", "3.3.3.3", "4.4.4.4"));
  EXPECT_THAT(searchIn(text), testing::ElementsAre("b", "c"));
}

}  // namespace
}  // namespace koord::net::dns
