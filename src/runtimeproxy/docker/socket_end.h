#pragma once

// One end of a byte stream on a loop: what comes is told, what is to go out is queued. On the loop's
// thread. The object may be dropped at any time, also from within its own calls.

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
    std::function<void()> onEnd;    // the other side says no more; it may still listen
    std::function<void()> onLost;   // nor does it listen
    std::function<void()> onEmpty;  // all that was queued has gone
  };

  static std::shared_ptr<SocketEnd> start(net::IoLoop& loop, net::Fd socket, User user);

  void write(std::string bytes);
  std::size_t queued() const { return queue_.size(); }
  // Whether more is read; what comes meanwhile waits in the kernel.
  void read(bool wanted);
  // We say no more, once all is sent.
  void endWriting();
  // The user is told nothing any more; what is queued is lost, unless `afterSending`.
  void close(bool afterSending = false);

 private:
  SocketEnd(net::IoLoop& loop, net::Fd socket, User user)
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
  net::Fd socket_;
  std::shared_ptr<const User> user_;  // who calls holds it, as the call may end in close()
  std::unique_ptr<net::IoLoop::Watch> watch_;
  net::SendQueue queue_;
  std::shared_ptr<SocketEnd> lingering_;  // itself, while it sends the last of a closed one
  bool reading_ = true;
  bool ended_ = false;   // by the other side
  bool ending_ = false;  // by us
};

}  // namespace koord::runtimeproxy
