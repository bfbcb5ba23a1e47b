#include "simulation/journal.h"

#include <cstdio>

namespace koord::simulation {

void Journal::write(const std::string& text) {
  const double seconds =
      std::chrono::duration<double>(clock_.steadyNow().time_since_epoch()).count();
  lines_.push_back(fmt::format("{:10.3f}  {}", seconds, text));
  for (const char c : lines_.back()) {  // FNV-1a
    fingerprint_ ^= static_cast<unsigned char>(c);
    fingerprint_ *= 1099511628211U;
  }
  if (verbose_) std::printf("%s\n", lines_.back().c_str());
  if (lines_.size() > kKept) lines_.pop_front();
}

}  // namespace koord::simulation
