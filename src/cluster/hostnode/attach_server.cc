#include "cluster/hostnode/attach_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace koord::cluster {

namespace {
constexpr std::size_t kMaxClients = 64;
constexpr std::chrono::seconds kFinishPatience{5};

std::uint16_t numberAt(std::string_view text, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<std::uint8_t>(text[at]) << 8 |
                                    static_cast<std::uint8_t>(text[at + 1]));
}
}  // namespace

Result<> AttachServer::listen(const std::string& dir) {
  auto listener = listenForAttach(dir);
  if (!listener) return fail(std::move(listener.error()));
  listener_ = *std::move(listener);
  return {};
}

void AttachServer::addTo(std::vector<pollfd>& polled, bool takesInput) const {
  const bool full = clients_.size() >= kMaxClients;
  polled.push_back({full ? -1 : listener_.get(), POLLIN, 0});
  for (const auto& client : clients_) {
    const int events = (takesInput ? POLLIN : 0) | (client->unsent.empty() ? 0 : POLLOUT);
    polled.push_back({client->fd.get(), static_cast<short>(events), 0});
  }
}

void AttachServer::handle(const pollfd* polled) {
  const std::size_t known = clients_.size();
  for (std::size_t i = 0; i < known; ++i) {
    const auto ready = polled[i + 1].revents;
    Client& client = *clients_[i];
    if (client.fd && (ready & POLLOUT) != 0) flush(client);
    if (client.fd && (ready & (POLLIN | POLLHUP | POLLERR)) != 0) receive(client);
    if (client.fd && !client.unsent.empty() && Clock::now() - client.behindSince > kAttachPatience)
      close(client);
  }
  if ((polled[0].revents & POLLIN) != 0) {
    Fd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      clients_.push_back(std::make_unique<Client>());
      clients_.back()->fd = std::move(fd);
    }
  }
  dropClosed();
}

// One message, so that the owner can stop when the container does not read.
void AttachServer::receive(Client& client) {
  char bytes[kMaxAttachBytes + 1];
  const ssize_t got = ::recv(client.fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return close(client);
  const std::string_view rest(bytes + 1, static_cast<std::size_t>(got) - 1);
  switch (static_cast<AttachMessage>(bytes[0])) {
    case AttachMessage::In:
      client.sentInput = true;
      return events_.onInput(rest);
    case AttachMessage::InEnd:
      client.sentInput = false;
      return events_.onInputEnd();
    case AttachMessage::Size:
      if (rest.size() == 4) events_.onSize(numberAt(rest, 0), numberAt(rest, 2));
      return;
    default:
      return close(client);
  }
}

void AttachServer::send(AttachMessage output, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, kMaxAttachBytes);
    bytes.remove_prefix(part.size());
    for (const auto& client : clients_) {
      if (!client->fd) continue;
      if (client->unsent.empty()) client->behindSince = Clock::now();
      client->unsent.push_back(std::string(1, static_cast<char>(output)).append(part));
      flush(*client);
    }
  }
}

void AttachServer::flush(Client& client) {
  while (!client.unsent.empty()) {
    const auto& message = client.unsent.front();
    const ssize_t put =
        ::send(client.fd.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    if (put < 0) return close(client);
    client.unsent.pop_front();
    client.behindSince = Clock::now();
  }
}

bool AttachServer::isBehind() const {
  return std::ranges::any_of(clients_, [](const auto& client) { return !client->unsent.empty(); });
}

void AttachServer::close(Client& client) {
  if (client.sentInput) events_.onInputEnd();
  client.sentInput = false;
  client.unsent.clear();
  client.fd.reset();
}

void AttachServer::dropClosed() {
  std::erase_if(clients_, [](const auto& client) { return !client->fd; });
}

void AttachServer::finish() {
  const auto until = Clock::now() + kFinishPatience;
  while (isBehind() && Clock::now() < until) {
    std::vector<pollfd> polled;
    addTo(polled, false);
    polled.front().fd = -1;
    ::poll(polled.data(), polled.size(), 100);
    handle(polled.data());
  }
  clients_.clear();
  listener_.reset();
}

}  // namespace koord::cluster
