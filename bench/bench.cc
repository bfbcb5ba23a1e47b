#include "bench.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <regex>

#include "base/log.h"

namespace koord::bench {

namespace {

std::string toText(const Numbers& numbers) {
  std::string text;
  for (const auto& [name, value] : numbers)
    text += fmt::format("{}\"{}\": {:.6g}", text.empty() ? "" : ", ", name, value);
  return text;
}

}  // namespace

int runAll(int argc, char** argv, const std::vector<Benchmark>& benchmarks) {
  std::regex filter(".*");
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string pattern;
    if (argument == "--filter" && i + 1 < argc) {
      pattern = argv[++i];
    } else if (argument.starts_with("--filter=")) {
      pattern = argument.substr(9);
    } else {
      std::fprintf(stderr, "usage: %s [--filter REGEX]\n", argv[0]);
      return argument == "--help" ? 0 : 2;
    }
    try {
      filter = std::regex(pattern);
    } catch (const std::regex_error& error) {
      std::fprintf(stderr, "--filter: %s\n", error.what());
      return 2;
    }
  }
  log::setup({.program = argv[0], .quiet = true});
  for (const Benchmark& benchmark : benchmarks) {
    if (!std::regex_search(benchmark.name, filter)) continue;
    const Numbers metrics = benchmark.run(benchmark.params);
    if (metrics.empty()) {
      fmt::print("{{\"benchmark\": \"{}\", \"skipped\": true}}\n", benchmark.name);
      continue;
    }
    fmt::print("{{\"benchmark\": \"{}\", \"params\": {{{}}}, \"metrics\": {{{}}}}}\n",
               benchmark.name, toText(benchmark.params), toText(metrics));
    std::fflush(stdout);
  }
  return 0;
}

double percentile(std::vector<double>& samples, double fraction) {
  if (samples.empty()) return 0;
  const auto at = std::min(
      samples.size() - 1, static_cast<std::size_t>(fraction * static_cast<double>(samples.size())));
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(at));
  return samples[at];
}

double cpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double instructions() {
  static const int counter = [] {
    perf_event_attr about{};
    about.type = PERF_TYPE_HARDWARE;
    about.size = sizeof about;
    about.config = PERF_COUNT_HW_INSTRUCTIONS;
    about.exclude_kernel = 1;
    about.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &about, 0, -1, -1, 0));
  }();
  std::uint64_t count = 0;
  if (counter < 0 || read(counter, &count, sizeof count) != sizeof count) return 0;
  return static_cast<double>(count);
}

double rssMib() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1048576;
}

double peakRssMib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace koord::bench
