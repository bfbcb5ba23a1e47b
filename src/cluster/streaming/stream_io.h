#pragma once

// Pipes, terminals and sockets for coroutines: an I/O thread reads and writes, the executor awaits.

#include <sys/types.h>

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "base/task.h"
#include "net/rpc/io_loop.h"

namespace koord::cluster {

class FdStream;

class StreamIo {
 public:
  explicit StreamIo(Executor& executor) : executor_(executor) {}
  // Its streams and waits must be gone, or be used no more.
  ~StreamIo();

  std::unique_ptr<FdStream> open(Fd fd);
  // The exit status of a child process, in the format of wait(), when it has ended. -1 if it cannot
  // be known. No one else may wait for it.
  Future<int> waitFor(pid_t child);
  // Connects to a TCP port of the loopback addresses, 127.0.0.1 first. The error names the port.
  Task<Result<Fd>> connectLoopback(std::uint16_t port);

 private:
  struct Wait;
  Executor& executor_;
  std::set<std::shared_ptr<Wait>> waits_;  // on the thread only
  net::IoThread thread_{"streams"};
};

// One descriptor. At most one read at a time; writes follow each other.
class FdStream {
 public:
  ~FdStream();
  FdStream(const FdStream&) = delete;
  FdStream& operator=(const FdStream&) = delete;

  // The next bytes; nullopt at the end, also if the other end is broken.
  Future<std::optional<std::string>> read();
  // Completes when all bytes are written; false if they cannot be.
  Future<bool> write(std::string bytes);
  // The same for a caller that does not wait.
  void post(std::string bytes);
  // Ends the stream after what is there now, although others may still have it open for writing.
  void endWhenEmpty();
  // No further writes: the other end of a socket or pipe reads the end.
  void closeWrites();
  int fd() const;

 private:
  friend class StreamIo;
  struct State;
  FdStream(Executor& executor, net::IoLoop& loop, Fd fd);
  Executor& executor_;
  std::shared_ptr<State> state_;
};

}  // namespace koord::cluster
