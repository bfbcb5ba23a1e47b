#include "net/server_thread.h"

#include <fmt/chrono.h>
#include <pthread.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <vector>

namespace koord::net {
namespace {

std::string httpDate(std::time_t second) {
  return fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(second));
}

}  // namespace

ServerThread::ServerThread(std::shared_ptr<const ServerOptions> options,
                           std::shared_ptr<HandlerSlot> slot, OnClosed onClosed)
    : options_(std::move(options)), slot_(std::move(slot)), onClosed_(std::move(onClosed)) {
  // How often deadlines are checked: once a second, or more often if they are short.
  const auto shortest =
      std::min({options_->handshakeTimeout, options_->headerTimeout, options_->bodyTimeout,
                options_->idleTimeout, options_->writeTimeout});
  tickTime_ = std::clamp<std::chrono::milliseconds>(shortest / 4, std::chrono::milliseconds(5),
                                                    std::chrono::seconds(1));
}

ServerThread::~ServerThread() {
  stop();
}

void ServerThread::run() {
  thread_ = std::thread([this] { context_.run(); });
  pthread_setname_np(thread_.native_handle(), "http-server");
}

void ServerThread::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

std::string_view ServerThread::date() const {
  if (const auto second = std::time(nullptr); second != dateSecond_) {
    dateSecond_ = second;
    date_ = httpDate(second);
  }
  return date_;
}

// An idle program does not wake up for connections that it does not have.
void ServerThread::tick() {
  ticking_ = !connections_.empty();
  if (!ticking_) return;
  const auto time = now();
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->checkDeadline(time);
  timer_.expires_after(tickTime_);
  timer_.async_wait([this](error_code ec) {
    if (!ec) tick();
  });
}

void ServerThread::add(Socket socket, TlsContext tls, std::string remote, std::string client) {
  const bool secure = tls != nullptr;
  const auto connection =
      std::make_shared<Connection>(*this, makeTransport(std::move(socket), std::move(tls)),
                                   std::move(remote), std::move(client), secure);
  connections_.insert(connection);
  connection->start();
  if (stopping_) connection->shutdown();
  if (!ticking_) tick();
}

bool ServerThread::evict(std::string_view client) {
  // Finding them is a pass over all connections, so a flood is answered by closing several.
  constexpr std::size_t kAtOnce = 16;
  std::vector<std::shared_ptr<Connection>> least;
  for (const auto& connection : connections_)
    if (connection->keepPriority() != Connection::KeepPriority::Busy &&
        (client.empty() || connection->client() == client))
      least.push_back(connection);
  if (least.empty()) return false;
  const auto end = least.begin() + static_cast<std::ptrdiff_t>(std::min(kAtOnce, least.size()));
  std::ranges::partial_sort(least, end, {}, [](const auto& connection) {
    return std::pair(connection->keepPriority(), connection->since());
  });
  const bool single = least.front()->keepPriority() != Connection::KeepPriority::Unproven;
  // Not more than a quarter of them: a small server must not lose all connections that are within a
  // handshake or request.
  least.resize(single ? 1 : std::min(kAtOnce, (least.size() + 3) / 4));
  for (const auto& connection : least)
    if (connection->keepPriority() == least.front()->keepPriority()) connection->close();
  return true;
}

void ServerThread::shutdownAll() {
  stopping_ = true;
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->shutdown();
}

void ServerThread::closeAll() {
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) connection->close();
}

std::move_only_function<void()> ServerThread::wakerOf(std::weak_ptr<Connection> connection) {
  return [self = weak_from_this(), connection = std::move(connection)] {
    const auto thread = self.lock();
    if (!thread) return;
    asio::post(thread->context_, [connection] {
      if (const auto alive = connection.lock()) alive->takeSteps();
    });
  };
}

void ServerThread::onConnectionClosed(const std::shared_ptr<Connection>& connection) {
  const auto kept = connection;
  connections_.erase(connection);
  onClosed_(*kept);
}

}  // namespace koord::net
