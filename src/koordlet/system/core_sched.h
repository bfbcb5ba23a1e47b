#pragma once

// Linux core scheduling: only processes with the same cookie may run on the two threads of one core
// at the same time. A cookie is a number of the kernel; it is created for a process and copied from
// process to process. Here all threads of a process have the same cookie.

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"

namespace koord::koordlet {

class CoreSched {
 public:
  virtual ~CoreSched() = default;
  // Returns 0 if the process has no cookie. NotFound if the process has ended; Unavailable if the
  // kernel has no core scheduling.
  virtual Result<std::uint64_t> cookieOf(int pid) = 0;
  // Creates a new cookie for the process.
  virtual Result<> create(int pid) = 0;
  // Copies the cookie of a process, or none (from = 0), to other processes. Skips processes that
  // have ended.
  virtual Result<> copyCookie(int from, const std::vector<int>& to) = 0;
};
// Never changes the calling thread's own cookie.
std::unique_ptr<CoreSched> makeCoreSched();

}  // namespace koord::koordlet
