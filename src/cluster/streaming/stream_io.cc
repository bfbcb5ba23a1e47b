#include "cluster/streaming/stream_io.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <deque>

#include "base/file.h"

namespace koord::cluster {

namespace {
constexpr std::size_t kReadAtOnce = 64 << 10;
constexpr Duration kConnectTime = std::chrono::seconds(10);
}  // namespace

// On the I/O thread, apart from `loop`.
struct FdStream::State {
  net::IoLoop& loop;
  Fd fd;
  std::unique_ptr<net::IoLoop::Watch> watch;
  std::optional<Completer<std::optional<std::string>>> reader;
  struct Write {
    std::string bytes;
    std::optional<Completer<bool>> done;
  };
  std::deque<Write> writes;
  std::size_t written = 0;  // of the first one
  bool ending = false;      // an empty read is the end
  bool isSocket = false;
  bool closing = false;  // after the last write

  State(net::IoLoop& ioLoop, Fd descriptor) : loop(ioLoop), fd(std::move(descriptor)) {}

  // Not watched while nothing is wanted: the loop would report an end or an error again and again.
  void want() {
    if (!fd || (!reader && writes.empty())) return watch.reset();
    if (!watch)
      watch = loop.watch(fd.get(), [this](net::IoLoop::Ready ready) {
        if (ready.read) tryRead();
        if (ready.write) tryWrite();
      });
    watch->want({.read = reader.has_value(), .write = !writes.empty()});
  }

  void tryRead() {
    if (!reader) return want();
    std::string bytes(kReadAtOnce, '\0');
    const ssize_t got = fd ? ::read(fd.get(), bytes.data(), bytes.size()) : 0;
    const bool later = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (!later || ending) {
      std::optional<std::string> result;
      if (got > 0) {
        bytes.resize(static_cast<std::size_t>(got));
        result = std::move(bytes);
      }
      reader->complete(std::move(result));
      reader.reset();
    }
    want();
  }

  void tryWrite() {
    while (!writes.empty()) {
      const std::string_view rest = std::string_view(writes.front().bytes).substr(written);
      if (rest.empty()) {
        endWrite(true);
        continue;
      }
      const ssize_t put = !fd        ? -1
                          : isSocket ? ::send(fd.get(), rest.data(), rest.size(), MSG_NOSIGNAL)
                                     : ::write(fd.get(), rest.data(), rest.size());
      if (put > 0) written += static_cast<std::size_t>(put);
      if (put < 0 && fd && errno == EAGAIN) break;
      if (put < 0 && (!fd || errno != EINTR)) endWrite(false);
    }
    if (writes.empty() && closing) closeNow();
    want();
  }

  void endWrite(bool whole) {
    if (writes.front().done) writes.front().done->complete(whole);
    writes.pop_front();
    written = 0;
  }

  void closeNow() {
    if (isSocket) {
      ::shutdown(fd.get(), SHUT_WR);
    } else {
      watch.reset();
      fd.reset();
    }
  }
};

FdStream::FdStream(Executor& executor, net::IoLoop& loop, Fd fd)
    : executor_(executor), state_(std::make_shared<State>(loop, std::move(fd))) {
  const int flags = ::fcntl(state_->fd.get(), F_GETFL);
  ::fcntl(state_->fd.get(), F_SETFL, flags | O_NONBLOCK);
  int type = 0;
  socklen_t size = sizeof type;
  state_->isSocket = ::getsockopt(state_->fd.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

FdStream::~FdStream() {
  state_->loop.post([state = state_] {
    state->watch.reset();
    state->fd.reset();
  });
}

int FdStream::fd() const {
  return state_->fd.get();
}

Future<std::optional<std::string>> FdStream::read() {
  auto [future, completer] = Future<std::optional<std::string>>::make(executor_);
  state_->loop.post([state = state_, completer = completer] {
    state->reader = completer;
    state->tryRead();
  });
  return std::move(future);
}

Future<bool> FdStream::write(std::string bytes) {
  auto [future, completer] = Future<bool>::make(executor_);
  state_->loop.post([state = state_, completer = completer, bytes = std::move(bytes)]() mutable {
    state->writes.push_back({std::move(bytes), completer});
    state->tryWrite();
  });
  return std::move(future);
}

void FdStream::post(std::string bytes) {
  state_->loop.post([state = state_, bytes = std::move(bytes)]() mutable {
    state->writes.push_back({std::move(bytes), std::nullopt});
    state->tryWrite();
  });
}

void FdStream::endWhenEmpty() {
  state_->loop.post([state = state_] {
    state->ending = true;
    state->tryRead();
  });
}

void FdStream::closeWrites() {
  state_->loop.post([state = state_] {
    state->closing = true;
    state->tryWrite();
  });
}

struct StreamIo::Wait {
  Fd fd;
  std::unique_ptr<net::IoLoop::Watch> watch;
};

StreamIo::~StreamIo() {
  thread_.runSync([this] { waits_.clear(); });
}

std::unique_ptr<FdStream> StreamIo::open(Fd fd) {
  return std::unique_ptr<FdStream>(new FdStream(executor_, thread_.loop(), std::move(fd)));
}

Future<int> StreamIo::waitFor(pid_t child) {
  auto [future, completer] = Future<int>::make(executor_);
  thread_.loop().post([this, child, completer = completer] {
    auto wait = std::make_shared<Wait>();
    wait->fd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (!wait->fd) return completer.complete(-1);
    waits_.insert(wait);
    wait->watch = thread_.loop().watch(wait->fd.get(),
                                       [this, child, completer, weak = std::weak_ptr(wait)](auto) {
                                         int status = -1;
                                         if (::waitpid(child, &status, WNOHANG) == 0) return;
                                         completer.complete(status);
                                         const auto ended = weak.lock();
                                         waits_.erase(ended);
                                         ended->watch.reset();
                                       });
    wait->watch->want({.read = true});
  });
  return std::move(future);
}

Task<Result<Fd>> StreamIo::connectLoopback(std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  six.sin6_addr = in6addr_loopback;
  int error = ECONNREFUSED;
  for (const bool second : {false, true}) {
    Fd fd(::socket(second ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) continue;
    const auto* address =
        second ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    int status = ::connect(fd.get(), address, second ? sizeof six : sizeof four) == 0 ? 0 : errno;
    // A connection to loopback is complete or refused at once, unless the listener's queue is full.
    const auto until = executor_.steadyNow() + kConnectTime;
    while ((status == EINPROGRESS || status == EALREADY) && executor_.steadyNow() < until) {
      auto pause = sleepFor(executor_, std::chrono::milliseconds(10));
      co_await pause;
      status = ::connect(fd.get(), address, second ? sizeof six : sizeof four) == 0 ? 0 : errno;
      if (status == EISCONN) status = 0;
    }
    if (status == 0) co_return fd;
    if (!second) error = status;
  }
  co_return fail(errnoError("connect to 127.0.0.1:" + std::to_string(port), error));
}

}  // namespace koord::cluster
