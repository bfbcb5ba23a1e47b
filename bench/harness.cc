#include "harness.h"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>

namespace koord::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

int usage(const char* program) {
  fmt::print(stderr, "usage: {} [--filter REGEX]\n", program);
  return 2;
}

}  // namespace

double cpuSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double wallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double residentMebibytes() {
  long total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

int runCases(int argc, char** argv, const std::vector<Case>& cases) {
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--filter=")) {
      filter = argument.substr(std::strlen("--filter="));
    } else if (argument == "--filter" && i + 1 < argc) {
      filter = argv[++i];
    } else {
      return usage(argv[0]);
    }
  }
  std::regex pattern;
  try {
    pattern = std::regex(filter);
  } catch (const std::regex_error& error) {
    fmt::print(stderr, "{}: --filter: {}\n", argv[0], error.what());
    return 2;
  }
  for (const auto& one : cases) {
    if (!std::regex_search(one.name, pattern)) continue;
    for (auto& outcome : one.run()) {
      fmt::print("{}\n", toJson(json::object{{"benchmark", one.name},
                                             {"params", std::move(outcome.params)},
                                             {"metrics", std::move(outcome.metrics)}}));
      std::fflush(stdout);
    }
  }
  return 0;
}

}  // namespace koord::bench
