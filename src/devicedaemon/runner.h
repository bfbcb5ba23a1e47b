#pragma once

// Runs vendors' tools and libraries in a child process, with the host's root as its root. They need
// the host's files, may crash, and may hang on a faulty device.
//
// Errors: NotFound if the host has no such tool, Timeout if it takes longer than the limit,
// Cancelled if the program is stopping, Internal with its output if it fails.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"

namespace koord::devicedaemon {

class Runner {
 public:
  virtual ~Runner() = default;
  // Returns the tool's output, stdout and stderr.
  virtual Result<std::string> run(const std::vector<std::string>& command) = 0;
  // Returns the result of `work`, which runs in a fork: it sees this process's memory but cannot
  // change it.
  using Work = std::function<Result<std::string>()>;
  virtual Result<std::string> runIsolated(const std::string& name, const Work& work) = 0;
  // True if the program is stopping: answers may be missing.
  virtual bool stopping() const { return false; }
};

class HostRunner final : public Runner {
 public:
  // root: where the host's root is mounted; "" if it is this process's root. stop: a descriptor
  // that becomes readable when the program is to stop (a signalfd); -1 = none. From then on every
  // call is cancelled within milliseconds, or half a second if its child is stuck in a driver.
  HostRunner(std::string root, Duration limit, int stop = -1)
      : root_(std::move(root)), limit_(limit), stop_(stop) {}
  Result<std::string> run(const std::vector<std::string>& command) override;
  Result<std::string> runIsolated(const std::string& name, const Work& work) override;
  bool stopping() const override;

 private:
  struct Ended;
  Result<Ended> inChild(const std::string& name, const std::function<int(int output)>& body);
  bool enterRoot() const;

  std::string root_;
  Duration limit_;
  int stop_;
  std::vector<pid_t> stuck_;  // killed but still running
};

}  // namespace koord::devicedaemon
