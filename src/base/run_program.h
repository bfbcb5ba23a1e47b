#pragma once

// Runs a program without a shell and collects its output. Blocks the calling thread.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace koord {

struct ProgramSpec {
  std::vector<std::string> argv;  // argv[0] is looked up in PATH unless it has a slash
  // In addition to this process' own.
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string folder = {};  // "" = this process' own
  std::chrono::milliseconds limit{};
  // Limit of each stream. Excess output ends the program, or is read and dropped.
  std::size_t maxOutput = 1 << 20;
  bool dropsOutput = false;
};

struct ProgramOutput {
  int status = 0;  // exit status; 128 + signal if a signal ended the program
  int signal = 0;  // 0 = the program exited
  std::string out;
  std::string err;
  // Why the program was killed: Timeout, Cancelled (the interrupt), Invalid (its output).
  std::optional<Error> killed = {};
};

// Ends a running program from another thread.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  void raise();
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Standard input is empty. Returns when the program has ended and its output streams are closed.
// Killing it kills its process group. NotFound: the program does not exist.
Result<ProgramOutput> runProgram(const ProgramSpec& program, const Interrupt& interrupt);

}  // namespace koord
