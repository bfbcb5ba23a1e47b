#include "net/dns/server.h"

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <thread>

#include "base/random.h"
#include "net/asio.h"

namespace koord::net::dns {

using asio::ip::tcp;
using asio::ip::udp;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kMaxMessage = 65'535;
constexpr std::size_t kMaxResponse = 16'384;  // by UDP: no server sends more in a datagram
constexpr int kMostPassed = 1000;
constexpr int kMostConnections = 200;
constexpr auto kUpstreamTime = 2s;     // for each server
constexpr auto kConnectionTime = 10s;  // for one query by TCP, and between two

auto into(error_code& error) {
  return asio::redirect_error(asio::use_awaitable, error);
}

// Closes a socket when its time is over, so that what waits for it fails.
template <class Socket>
class Deadline {
 public:
  Deadline(Socket& socket, std::chrono::steady_clock::duration time)
      : socket_(socket), timer_(socket.get_executor()) {
    restart(time);
  }
  void restart(std::chrono::steady_clock::duration time) {
    timer_.expires_after(time);
    timer_.async_wait([&socket = socket_, alive = std::weak_ptr(alive_)](error_code error) {
      error_code ignored;
      if (!error && !alive.expired()) socket.close(ignored);
    });
  }

 private:
  Socket& socket_;
  // The timer's handler may wait in the queue when this object ends.
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  asio::steady_timer timer_;
};

// Counts while it lives.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

std::string withLength(std::string_view message) {
  std::string out;
  out += static_cast<char>(message.size() >> 8 & 0xff);
  out += static_cast<char>(message.size() & 0xff);
  out += message;
  return out;
}

// Reads a message with its length before it; "" at the end.
asio::awaitable<std::string> readMessage(tcp::socket& socket) {
  error_code error;
  std::array<unsigned char, 2> size{};
  co_await asio::async_read(socket, asio::buffer(size), into(error));
  if (error) co_return "";
  std::string message(static_cast<std::size_t>(size[0]) << 8 | size[1], '\0');
  co_await asio::async_read(socket, asio::buffer(message), into(error));
  if (error) message.clear();
  co_return message;
}

}  // namespace

class Server::State {
 public:
  explicit State(ServerOptions options) : options_(std::move(options)) {}
  ~State() {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Result<> open() {
    error_code error;
    const auto address = asio::ip::make_address(options_.listen, error);
    if (error) return fail(ErrorCode::Invalid, options_.listen + ": not an address");
    // The kernel picks a port that is free for UDP; another program may have it for TCP.
    for (int tries = 0; tries < 20; ++tries) {
      udp::socket datagrams(context_);
      datagrams.open(address.is_v4() ? udp::v4() : udp::v6(), error);
      if (!error) datagrams.bind({address, 0}, error);
      if (error) break;
      port_ = datagrams.local_endpoint().port();
      tcp::acceptor acceptor(context_);
      acceptor.open(address.is_v4() ? tcp::v4() : tcp::v6(), error);
      if (!error) acceptor.bind({address, port_}, error);
      if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
      if (error) continue;
      udp_ = std::move(datagrams);
      acceptor_ = std::move(acceptor);
      break;
    }
    if (error) return fail(ErrorCode::Unavailable, "DNS server: " + error.message());
    asio::co_spawn(context_, serveUdp(), asio::detached);
    asio::co_spawn(context_, serveTcp(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const { return port_; }

 private:
  // The response that this server can give at once; nullopt: other servers are to be asked.
  std::optional<std::string> own(std::string_view query, std::size_t limit) const {
    const auto question = questionOf(query);
    if (!question) {
      const bool standard = query.size() < 3 || (query[2] & 0x78) == 0;
      return failureOf(query, standard ? Failure::Malformed : Failure::NotImplemented);
    }
    const auto answer = options_.answer(*question);
    if (!answer || !answer->alias.empty()) return std::nullopt;
    return responseTo(query, *question, *answer, options_.zone, limit);
  }

  // The response with the help of other servers.
  asio::awaitable<std::string> askOthers(std::string query, std::size_t limit, bool byTcp) {
    const auto question = questionOf(query);
    auto answer = question ? options_.answer(*question) : std::nullopt;
    if (!answer) {
      auto passing = pass(query, byTcp);
      std::string response = co_await std::move(passing);
      co_return response;
    }
    const auto local = options_.answer({answer->alias, question->type});
    if (local && question->type == static_cast<std::uint16_t>(Type::A)) {
      for (const auto& address : local->addresses) {
        const auto bytes = asio::ip::make_address_v4(address).to_bytes();
        answer->aliasRecords.emplace_back(bytes.begin(), bytes.end());
      }
    } else if (!local) {
      const std::string further = queryFor(static_cast<std::uint16_t>(random_.below(0x10000)),
                                           answer->alias, question->type);
      if (!further.empty()) {
        auto passing = pass(further, byTcp);
        const std::string response = co_await std::move(passing);
        answer->aliasRecords = addressRecordsIn(response, question->type);
      }
    }
    co_return responseTo(query, *question, *answer, options_.zone, limit);
  }

  asio::awaitable<std::string> pass(std::string query, bool byTcp) {
    const std::vector<std::string> servers = options_.upstreams();
    for (const auto& server : servers) {
      auto asking = byTcp ? askTcp(query, server) : askUdp(query, server);
      std::string response = co_await std::move(asking);
      if (!response.empty()) co_return response;
    }
    co_return failureOf(query, Failure::ServerFailure);
  }

  asio::awaitable<void> serveUdp() {
    std::string buffer(kMaxMessage, '\0');
    while (true) {
      error_code error;
      udp::endpoint client;
      const std::size_t size =
          co_await udp_.async_receive_from(asio::buffer(buffer), client, into(error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) continue;  // of an earlier response that did not arrive
      const std::string_view query(buffer.data(), size);
      if (const auto response = own(query, udpLimit(query))) {
        if (response->empty()) continue;
        co_await udp_.async_send_to(asio::buffer(*response), client, into(error));
      } else if (passed_ < kMostPassed) {
        asio::co_spawn(context_, passUdp(std::string(query), client), asio::detached);
      }
    }
  }

  asio::awaitable<void> passUdp(std::string query, udp::endpoint client) {
    const Counted counted(passed_);
    const std::size_t limit = udpLimit(query);
    auto asking = askOthers(std::move(query), limit, false);
    const std::string response = co_await std::move(asking);
    error_code error;
    co_await udp_.async_send_to(asio::buffer(response), client, into(error));
  }

  // The response of a server; "" without one. A socket of its own for each query has a port that
  // others cannot guess, and takes datagrams of that server only.
  asio::awaitable<std::string> askUdp(const std::string& query, const std::string& server) {
    error_code error;
    const auto address = asio::ip::make_address(server, error);
    if (error) co_return "";
    udp::socket socket(context_);
    socket.connect({address, options_.upstreamPort}, error);
    if (error) co_return "";
    Deadline deadline(socket, kUpstreamTime);
    co_await socket.async_send(asio::buffer(query), into(error));
    std::string response(kMaxResponse, '\0');
    while (!error) {
      const std::size_t size = co_await socket.async_receive(asio::buffer(response), into(error));
      if (error || size < 2 || response.compare(0, 2, query, 0, 2) != 0) continue;
      response.resize(size);
      co_return response;
    }
    co_return "";
  }

  asio::awaitable<void> serveTcp() {
    while (true) {
      error_code error;
      tcp::socket socket(context_);
      co_await acceptor_.async_accept(socket, into(error));
      if (error == asio::error::operation_aborted) co_return;
      if (error) {
        // For lack of descriptors, for example.
        asio::steady_timer pause(context_, 100ms);
        co_await pause.async_wait(into(error));
        continue;
      }
      if (connections_ < kMostConnections)
        asio::co_spawn(context_, serveConnection(std::move(socket)), asio::detached);
    }
  }

  asio::awaitable<void> serveConnection(tcp::socket socket) {
    const Counted counted(connections_);
    Deadline deadline(socket, kConnectionTime);
    while (true) {
      auto reading = readMessage(socket);
      const std::string query = co_await std::move(reading);
      if (query.empty()) co_return;
      auto response = own(query, kMaxMessage);
      if (!response) {
        auto asking = askOthers(query, kMaxMessage, true);
        response = co_await std::move(asking);
      }
      if (response->empty()) co_return;
      error_code error;
      const std::string framed = withLength(*response);
      co_await asio::async_write(socket, asio::buffer(framed), into(error));
      if (error) co_return;
      deadline.restart(kConnectionTime);
    }
  }

  asio::awaitable<std::string> askTcp(const std::string& query, const std::string& server) {
    error_code error;
    const auto address = asio::ip::make_address(server, error);
    if (error) co_return "";
    tcp::socket socket(context_);
    Deadline deadline(socket, kUpstreamTime);
    co_await socket.async_connect({address, options_.upstreamPort}, into(error));
    const std::string framed = withLength(query);
    if (!error) co_await asio::async_write(socket, asio::buffer(framed), into(error));
    if (error) co_return "";
    auto reading = readMessage(socket);
    std::string response = co_await std::move(reading);
    co_return response;
  }

  ServerOptions options_;
  asio::io_context context_{1};
  udp::socket udp_{context_};
  tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  Random random_{Random::entropy()};
  int passed_ = 0;
  int connections_ = 0;
  std::thread thread_;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  auto state = std::make_unique<State>(std::move(options));
  if (auto opened = state->open(); !opened) return fail(std::move(opened.error()));
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

std::uint16_t Server::port() const {
  return state_->port();
}

}  // namespace koord::net::dns
