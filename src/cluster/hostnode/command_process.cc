#include "cluster/hostnode/command_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "cluster/hostnode/session_process.h"

namespace koord::cluster {

namespace {

class CommandProcess final : public StreamedCommand {
 public:
  CommandProcess(StreamIo& io, pid_t pid) : io_(io), pid_(pid) {}

  // Without a terminal the three are pipes; `in` may be missing.
  void setPipes(Fd in, Fd out, Fd err) {
    if (in) in_ = io_.open(std::move(in));
    out_ = io_.open(std::move(out));
    err_ = io_.open(std::move(err));
  }
  void setTerminal(Fd terminal) {
    out_ = io_.open(std::move(terminal));
    terminal_ = true;
  }

  Task<std::optional<std::string>> readOut() override {
    auto reading = out_->read();
    co_return co_await reading;
  }
  Task<std::optional<std::string>> readErr() override {
    if (!err_) co_return std::nullopt;
    auto reading = err_->read();
    co_return co_await reading;
  }
  Task<bool> write(std::string bytes) override {
    auto* stream = terminal_ ? out_.get() : in_.get();
    if (!stream) co_return false;
    auto writing = stream->write(std::move(bytes));
    co_return co_await writing;
  }
  void closeInput() override { in_.reset(); }
  void resize(TerminalSize size) override {
    if (!terminal_) return;
    const winsize window{size.rows, size.columns, 0, 0};
    ::ioctl(out_->fd(), TIOCSWINSZ, &window);
  }
  Task<Result<int>> ended() override {
    auto waiting = io_.waitFor(pid_);
    const int status = co_await waiting;
    ended_ = true;
    // Processes that the command leaves behind may hold its output open.
    out_->endWhenEmpty();
    if (err_) err_->endWhenEmpty();
    if (status == -1) co_return fail(ErrorCode::Internal, "the command's exit code is lost");
    co_return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  void hangUp() override {
    if (!ended_) ::kill(-pid_, SIGHUP);
  }

 private:
  StreamIo& io_;
  pid_t pid_;
  std::unique_ptr<FdStream> in_;
  std::unique_ptr<FdStream> out_;  // also the terminal
  std::unique_ptr<FdStream> err_;
  bool terminal_ = false;
  bool ended_ = false;
};

struct Pipe {
  Fd reader = Fd();
  Fd writer = Fd();
};

Result<Pipe> makePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errnoError("pipe", errno));
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

struct Terminal {
  Fd master;
  std::string path;  // of the other side
};

Result<Terminal> openTerminal() {
  Terminal terminal{Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), {}};
  char name[64];
  if (!terminal.master || ::grantpt(terminal.master.get()) != 0 ||
      ::unlockpt(terminal.master.get()) != 0 ||
      ::ptsname_r(terminal.master.get(), name, sizeof name) != 0)
    return fail(errnoError("open a terminal", errno));
  terminal.path = name;
  return terminal;
}

}  // namespace

Result<std::shared_ptr<StreamedCommand>> startCommandProcess(StreamIo& io,
                                                             std::vector<std::string> argv,
                                                             CommandStreams streams) {
  ChildFiles files;
  if (streams.terminal) {
    auto terminal = openTerminal();
    if (!terminal) return fail(std::move(terminal.error()));
    // The first terminal that the leader of a session opens becomes the session's.
    files.open(0, terminal->path, O_RDWR);
    files.take(1, 0);
    files.take(2, 0);
    files.closeFrom(3);
    auto pid = startSession(std::move(argv), files);
    if (!pid) return fail(std::move(pid.error()));
    auto process = std::make_shared<CommandProcess>(io, *pid);
    process->setTerminal(std::move(terminal->master));
    return process;
  }
  Result<Pipe> in = streams.in ? makePipe() : Result<Pipe>(Pipe{});
  Result<Pipe> out = makePipe();
  Result<Pipe> err = makePipe();
  for (auto* made : {&in, &out, &err})
    if (!*made) return fail(std::move(made->error()));
  if (streams.in) {
    files.take(0, in->reader.get());
  } else {
    files.open(0, "/dev/null", O_RDONLY);
  }
  files.take(1, out->writer.get());
  files.take(2, err->writer.get());
  files.closeFrom(3);
  auto pid = startSession(std::move(argv), files);
  if (!pid) return fail(std::move(pid.error()));
  auto process = std::make_shared<CommandProcess>(io, *pid);
  process->setPipes(std::move(in->writer), std::move(out->reader), std::move(err->reader));
  return process;
}

}  // namespace koord::cluster
