#pragma once

// Core scheduling of Linux: processes with the same cookie, and only these, may run on the two
// threads of one core at the same time. A cookie is a number of the kernel's; it is made for a
// process and handed from process to process. All threads of a process have the same here.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace koord::koordlet {

class CoreSched {
 public:
  virtual ~CoreSched() = default;
  // 0: none. NotFound where the process is gone; Unavailable where the kernel has none of it.
  virtual Result<std::uint64_t> cookieOf(int pid) = 0;
  // A cookie of its own for the process.
  virtual Result<> create(int pid) = 0;
  // Hands the cookie of a process, or none (from = 0), to others; those that are gone are passed
  // over.
  virtual Result<> hand(int from, const std::vector<int>& to) = 0;
};
// This thread's own cookie is never touched.
std::unique_ptr<CoreSched> makeCoreSched();

}  // namespace koord::koordlet
