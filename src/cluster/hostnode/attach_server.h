#pragma once

// The clients that are attached to a container, on the side of the shim (attach_socket.h). The
// owner polls: it adds the descriptors, waits, and passes the result.
//
// A client that does not read stops the container's output, as a full pipe does, but not longer
// than kAttachPatience: then the client is closed.

#include <poll.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "cluster/hostnode/attach_socket.h"

namespace koord::cluster {

inline constexpr std::chrono::seconds kAttachPatience{30};

class AttachServer {
 public:
  struct Events {
    std::function<void(std::string_view bytes)> onInput;
    std::function<void()> onInputEnd;  // also if a client that has sent input is gone
    std::function<void(std::uint16_t columns, std::uint16_t rows)> onSize;
  };
  explicit AttachServer(Events events) : events_(std::move(events)) {}

  Result<> listen(const std::string& dir);

  // Appends what it waits for. takesInput: messages of clients may be read now.
  void addTo(std::vector<pollfd>& polled, bool takesInput) const;
  // `polled`: the same elements, after the wait.
  void handle(const pollfd* polled);
  void send(AttachMessage output, std::string_view bytes);
  // A client has not taken all of its output: the owner should read no more of it.
  bool isBehind() const;
  // Waits until clients have their output, then closes them.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    Fd fd;
    std::deque<std::string> unsent;
    Clock::time_point behindSince{};
    bool sentInput = false;
  };

  void receive(Client& client);
  void flush(Client& client);
  void close(Client& client);
  void dropClosed();

  Events events_;
  Fd listener_;
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace koord::cluster
