#pragma once

// Journal: the events of a run on virtual time, and the first violated invariant. Keeps the last
// lines only. The fingerprint covers all lines, so that two runs of a seed can be compared.

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>

#include "base/executor.h"

namespace koord::simulation {

class Journal {
 public:
  explicit Journal(const Clock& clock, bool verbose) : clock_(clock), verbose_(verbose) {}

  // Invariants that are reported and not counted, because they are known to be violated.
  static inline std::set<std::string, std::less<>> tolerated;

  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    write(fmt::format(format, std::forward<Args>(args)...));
  }
  // Only the first violation counts: later ones may follow from it.
  template <class... Args>
  void violated(std::string_view invariant, fmt::format_string<Args...> format, Args&&... args) {
    if (failed()) return;
    if (tolerated.contains(invariant))
      return note("NOT YET {}: {}", invariant, fmt::format(format, std::forward<Args>(args)...));
    violation_ = fmt::format("{}: {}", invariant, fmt::format(format, std::forward<Args>(args)...));
    write("VIOLATED " + violation_);
  }

  const Clock& clock() const { return clock_; }
  bool failed() const { return !violation_.empty(); }
  const std::string& violation() const { return violation_; }
  const std::deque<std::string>& lastLines() const { return lines_; }
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  static constexpr std::size_t kKept = 80;
  void write(const std::string& text);

  const Clock& clock_;
  const bool verbose_;
  std::deque<std::string> lines_;
  std::string violation_;
  std::uint64_t fingerprint_ = 14695981039346656037U;
};

}  // namespace koord::simulation
