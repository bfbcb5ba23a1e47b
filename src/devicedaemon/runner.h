#pragma once

// Work that is done in a process of its own, with the root of the host as its root: vendors' tools, and
// vendors' libraries, which are made for the host's files, may crash, and hang when a device is ill.
//
// Errors: NotFound where the host has no such tool, Timeout when it takes longer than the limit,
// Cancelled when the program is to end, Internal with what it said when it fails.

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
  // What the tool prints, on both outputs.
  virtual Result<std::string> run(const std::vector<std::string>& command) = 0;
  // What `work` returns. It sees memory as it is now, and changes nothing here.
  using Work = std::function<Result<std::string>()>;
  virtual Result<std::string> apart(const std::string& name, const Work& work) = 0;
  // The program is to end: answers may be missing.
  virtual bool stopping() const { return false; }
};

class HostRunner final : public Runner {
 public:
  // root: where the host's root is mounted; "" when it is our own. stop: a descriptor that becomes readable when the
  // program is to end (a signalfd); -1: there is none. From then on every call is cancelled within milliseconds.
  HostRunner(std::string root, Duration limit, int stop = -1)
      : root_(std::move(root)), limit_(limit), stop_(stop) {}
  Result<std::string> run(const std::vector<std::string>& command) override;
  Result<std::string> apart(const std::string& name, const Work& work) override;
  bool stopping() const override;

 private:
  struct Ended;
  Result<Ended> inChild(const std::string& name, const std::function<int(int output)>& body);
  bool enterRoot() const;

  std::string root_;
  Duration limit_;
  int stop_;
  std::vector<pid_t> stuck_;  // killed, and not ended yet
};

}  // namespace koord::devicedaemon
