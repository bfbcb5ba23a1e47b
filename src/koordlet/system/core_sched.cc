#include "koordlet/system/core_sched.h"

#include <fmt/core.h>
#include <sys/prctl.h>

#include <cerrno>
#include <thread>

// Numbers of linux/prctl.h and linux/pid.h, which older headers lack.

namespace koord::koordlet {
namespace {

constexpr int kCoreSched = 62;
constexpr unsigned long kGet = 0, kCreate = 1, kShareTo = 2, kShareFrom = 3;
constexpr unsigned long kThread = 0, kThreadGroup = 1;

Result<> call(unsigned long command, int pid, unsigned long scope, std::uint64_t* cookie) {
  if (::prctl(kCoreSched, command, pid, scope, cookie) == 0) return {};
  const int problem = errno;
  if (problem == ESRCH) return fail(ErrorCode::NotFound, fmt::format("process {} has ended", pid));
  if (problem == EINVAL || problem == ENODEV)
    return fail(ErrorCode::Unavailable,
                "the kernel does not support core scheduling, or the CPU has one thread per core");
  return fail(errnoError(fmt::format("core scheduling of process {}", pid), problem));
}

class KernelCoreSched final : public CoreSched {
 public:
  Result<std::uint64_t> cookieOf(int pid) override {
    std::uint64_t cookie = 0;
    auto got = call(kGet, pid, kThread, &cookie);
    if (!got) return fail(std::move(got.error()));
    return cookie;
  }
  Result<> create(int pid) override { return call(kCreate, pid, kThreadGroup, nullptr); }
  // The thread that passes a cookie on must first take it over itself, so a temporary thread does
  // this.
  Result<> copyCookie(int from, const std::vector<int>& to) override {
    Result<> result;
    std::thread([&] {
      if (from != 0) result = call(kShareFrom, from, kThread, nullptr);
      for (std::size_t i = 0; result && i < to.size(); ++i) {
        auto handed = call(kShareTo, to[i], kThreadGroup, nullptr);
        if (!handed && handed.error().code != ErrorCode::NotFound) result = std::move(handed);
      }
    }).join();
    return result;
  }
};

}  // namespace

std::unique_ptr<CoreSched> makeCoreSched() {
  return std::make_unique<KernelCoreSched>();
}

}  // namespace koord::koordlet
