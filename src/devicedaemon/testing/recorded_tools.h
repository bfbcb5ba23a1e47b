#pragma once

// A Runner whose tools print recorded output. Libraries run in this process, so that a test sees
// their effects.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "devicedaemon/runner.h"

namespace koord::devicedaemon {

class RecordedTools final : public Runner {
 public:
  // By command line; tools without a recording are not installed.
  std::map<std::string, std::string> outputs;
  std::map<std::string, Error> failures;
  std::vector<std::string> asked;
  bool isStopping = false;

  Result<std::string> run(const std::vector<std::string>& command) override {
    const std::string line = fmt::format("{}", fmt::join(command, " "));
    asked.push_back(line);
    if (const auto failure = failures.find(line); failure != failures.end())
      return fail(failure->second);
    if (const auto output = outputs.find(line); output != outputs.end()) return output->second;
    return fail(ErrorCode::NotFound, command.front() + " is not installed on the host");
  }
  Result<std::string> runIsolated(const std::string&, const Work& work) override { return work(); }
  bool stopping() const override { return isStopping; }
};

}  // namespace koord::devicedaemon
