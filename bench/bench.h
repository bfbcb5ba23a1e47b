#pragma once

// What benchmark programs share: --filter REGEX, and one JSON object per line and benchmark:
//   {"benchmark": "...", "params": {...}, "metrics": {"name": number}}
// or, when what it needs is not installed (its function gives no numbers):
//   {"benchmark": "...", "skipped": true}

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace koord::bench {

using Numbers = std::map<std::string, double>;

struct Benchmark {
  std::string name;
  Numbers params;
  std::function<Numbers(const Numbers& params)> run;
};

int runAll(int argc, char** argv, const std::vector<Benchmark>& benchmarks);

// The time at this fraction (0 to 1) of the samples; they are reordered.
double percentile(std::vector<double>& samples, double fraction);
double cpuSeconds();  // of this process
// That this process has executed outside the kernel, from the first call on: what other programs on
// the machine do changes nothing about it. 0 where they are not counted.
double instructions();
double rssMib();      // of this process, now
double peakRssMib();  // of this process, since it began

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace koord::bench
