#pragma once

// One end of a byte stream on a loop: reports received bytes and queues bytes to send. On the
// loop's thread. The object may be dropped at any time, also inside its callbacks.

#include <functional>
#include <memory>
#include <string>

#include "net/rpc/io_loop.h"
#include "net/rpc/send_queue.h"
#include "net/rpc/unix_socket.h"

namespace koord::runtimeproxy {

class SocketEnd : public std::enable_shared_from_this<SocketEnd> {
 public:
  struct User {
    std::function<void(std::string_view)> onBytes;
    std::function<void()> onEnd;    // the other side has ended its stream; it may still read
    std::function<void()> onLost;   // the connection is lost
    std::function<void()> onEmpty;  // all queued bytes are sent
  };

  static std::shared_ptr<SocketEnd> start(net::IoLoop& loop, Fd socket, User user);

  void write(std::string bytes);
  std::size_t queued() const { return queue_.size(); }
  // Starts or stops reading. While stopped, received bytes wait in the kernel.
  void read(bool wanted);
  // Ends this side's stream after the queued bytes.
  void endWriting();
  // Ends the callbacks. Drops the queued bytes unless `afterSending`.
  void close(bool afterSending = false);

 private:
  SocketEnd(net::IoLoop& loop, Fd socket, User user)
      : loop_(loop),
        socket_(std::move(socket)),
        user_(std::make_shared<const User>(std::move(user))) {}
  void watch();
  void lose();
  void onReady(net::IoLoop::Ready ready);
  void receive();
  void flush();
  void want();

  net::IoLoop& loop_;
  Fd socket_;
  std::shared_ptr<const User> user_;  // callers keep a copy: callbacks may call close()
  std::unique_ptr<net::IoLoop::Watch> watch_;
  net::SendQueue queue_;
  std::shared_ptr<SocketEnd> lingering_;  // itself, while it sends its last bytes after close()
  bool reading_ = true;
  bool ended_ = false;   // by the other side
  bool ending_ = false;  // by us
};

}  // namespace koord::runtimeproxy
