#include "cluster/hostnode/container_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/file.h"

namespace koord::cluster {

namespace {

constexpr int kPollMs = 1'000;  // while a client is behind, which ends after a time

Result<std::pair<Fd, Fd>> openPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(errnoError("pipe", errno));
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

void setNonBlocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

ContainerStreams::ContainerStreams(StreamSettings settings, LogLimits limits)
    : settings_(settings),
      log_(limits),
      clients_({[this](std::string_view bytes) {
                  if (inputFd() >= 0 && settings_.openStdin) input_ += bytes;
                },
                [this] { endInput(); },
                [this](std::uint16_t columns, std::uint16_t rows) {
                  const winsize size{rows, columns, 0, 0};
                  if (settings_.terminal) ::ioctl(outputs_[0].reader.get(), TIOCSWINSZ, &size);
                }}) {}

Result<> ContainerStreams::open(const std::string& dir) {
  if (!log_.open(dir + "/log")) return fail(errnoError("open " + dir + "/log", errno));
  // The container runs without it; a client that attaches sees an error.
  if (auto listening = clients_.listen(dir); !listening)
    std::fprintf(stderr, "%s\n", listening.error().message.c_str());
  return settings_.terminal ? openTerminal() : openPipes();
}

Result<> ContainerStreams::openPipes() {
  for (auto& output : outputs_) {
    auto pipe = openPipe();
    if (!pipe) return fail(std::move(pipe.error()));
    output.reader = std::move(pipe->first);
    output.writer = std::move(pipe->second);
    setNonBlocking(output.reader.get());
  }
  if (!settings_.openStdin) {
    inReader_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return inReader_ ? Result<>{} : fail(errnoError("open /dev/null", errno));
  }
  auto pipe = openPipe();
  if (!pipe) return fail(std::move(pipe.error()));
  inReader_ = std::move(pipe->first);
  inWriter_ = std::move(pipe->second);
  setNonBlocking(inWriter_.get());
  return {};
}

Result<> ContainerStreams::openTerminal() {
  Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[64];
  if (!master || ::grantpt(master.get()) != 0 || ::unlockpt(master.get()) != 0 ||
      ::ptsname_r(master.get(), name, sizeof name) != 0)
    return fail(errnoError("open a terminal", errno));
  Fd slave(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return fail(errnoError(std::string("open ") + name, errno));
  setNonBlocking(master.get());
  outputs_[0].reader = std::move(master);
  outputs_[0].writer = std::move(slave);
  return {};
}

bool ContainerStreams::become() const {
  if (!settings_.terminal)
    return ::dup2(inReader_.get(), 0) >= 0 && ::dup2(outputs_[0].writer.get(), 1) >= 0 &&
           ::dup2(outputs_[1].writer.get(), 2) >= 0;
  const int terminal = outputs_[0].writer.get();
  for (const int number : {0, 1, 2})
    if (::dup2(terminal, number) < 0) return false;
  return ::ioctl(0, TIOCSCTTY, 0) == 0;
}

void ContainerStreams::copyUntilEnd(pid_t child) {
  for (auto& output : outputs_) output.writer.reset();
  inReader_.reset();
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!ended) return;  // the caller that waits for the child drains afterwards
  for (;;) {
    const bool behind = clients_.isBehind();
    // poll ignores a descriptor of -1.
    std::vector<pollfd> polled = {
        {ended.get(), POLLIN, 0},
        {behind ? -1 : outputs_[0].reader.get(), POLLIN, 0},
        {behind ? -1 : outputs_[1].reader.get(), POLLIN, 0},
        {input_.empty() ? -1 : inputFd(), POLLOUT, 0},
    };
    const std::size_t own = polled.size();
    clients_.addTo(polled, input_.empty());
    if (::poll(polled.data(), polled.size(), behind ? kPollMs : -1) < 0 && errno != EINTR) break;
    if ((polled[3].revents & (POLLOUT | POLLERR)) != 0) writeInput();
    for (std::size_t i = 0; i < outputs_.size(); ++i)
      if (polled[i + 1].revents != 0) copy(outputs_[i]);
    clients_.handle(polled.data() + own);
    if (polled[0].revents != 0) break;
  }
}

void ContainerStreams::drain() {
  for (auto& output : outputs_) {
    while (copy(output)) {
    }
    log_.put(output.lines.finish(machineNow()));
  }
  clients_.finish();
}

bool ContainerStreams::copy(Output& output) {
  if (!output.reader) return false;
  char bytes[64 * 1024];
  const ssize_t got = ::read(output.reader.get(), bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return true;
  if (got < 0 && errno == EAGAIN) return false;
  if (got <= 0) {  // a terminal that no process has open reads as an error
    output.reader.reset();
    return false;
  }
  const std::string_view text(bytes, static_cast<std::size_t>(got));
  log_.put(output.lines.add(text, machineNow()));
  clients_.send(output.message, text);
  return true;
}

void ContainerStreams::writeInput() {
  while (!input_.empty()) {
    const ssize_t put = ::write(inputFd(), input_.data(), input_.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) return;
    // The command has closed its input: what comes is not read by anyone.
    if (put < 0) input_.clear();
    if (put > 0) input_.erase(0, static_cast<std::size_t>(put));
  }
  if (inputEnds_) inWriter_.reset();
}

void ContainerStreams::endInput() {
  if (!settings_.stdinOnce || settings_.terminal) return;
  inputEnds_ = true;
  if (input_.empty()) inWriter_.reset();
}

}  // namespace koord::cluster
