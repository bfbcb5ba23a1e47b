#pragma once

// The standard streams of a container that a shim runs: copies its output to the log and to
// attached clients (attach_server.h), and their input to it. With pipes, or with a terminal. For
// the shim: blocks, and has no thread of its own.

#include <sys/types.h>

#include <array>
#include <string>

#include "base/fd.h"
#include "cluster/hostnode/attach_server.h"
#include "cluster/hostnode/container_log.h"
#include "cluster/hostnode/log_writer.h"

namespace koord::cluster {

struct StreamSettings {
  bool openStdin = false;  // else the input is empty
  bool stdinOnce = false;  // the input ends with that of the first client
  bool terminal = false;
};

class ContainerStreams {
 public:
  explicit ContainerStreams(StreamSettings settings = {}, LogLimits limits = {});

  // Opens the log and the socket for clients, both in the container's folder, and the streams.
  Result<> open(const std::string& dir);
  // In the child, which leads its session: makes the streams its standard streams. Returns false
  // with errno.
  bool become() const;
  // In the parent, which must be the only reader. Copies until the child has ended; the caller
  // waits for it.
  void copyUntilEnd(pid_t child);
  // Copies the rest of the output, also unfinished lines, and ends the clients' connections.
  void drain();

 private:
  struct Output {
    explicit Output(const char* name, AttachMessage kind) : lines(name), message(kind) {}
    LogLines lines;
    AttachMessage message;
    Fd reader;
    Fd writer;  // for the child
  };
  Result<> openPipes();
  Result<> openTerminal();
  // Returns false at the end of the output, or if there is nothing now.
  bool copy(Output& output);
  void writeInput();
  void endInput();
  int inputFd() const { return settings_.terminal ? outputs_[0].reader.get() : inWriter_.get(); }

  StreamSettings settings_;
  LogWriter log_;
  std::array<Output, 2> outputs_{Output("stdout", AttachMessage::Out),
                                 Output("stderr", AttachMessage::Err)};
  Fd inReader_;
  Fd inWriter_;
  std::string input_;  // not yet written
  bool inputEnds_ = false;
  AttachServer clients_;
};

}  // namespace koord::cluster
