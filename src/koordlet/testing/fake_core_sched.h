#pragma once

// Fake core scheduling with the kernel's rules: a new cookie for each create, copied by value.

#include <map>

#include "koordlet/system/core_sched.h"

namespace koord::koordlet {

// The kernel's state, which survives a restart of koordlet.
struct FakeCookies {
  std::map<int, std::uint64_t> of;  // by process
  std::uint64_t last = 100;
  bool refuses = false;  // true if passing on or removing a cookie fails
};

struct FakeCoreSched final : CoreSched {
  explicit FakeCoreSched(FakeCookies& cookies) : cookies(cookies) {}
  FakeCookies& cookies;
  Result<std::uint64_t> cookieOf(int pid) override { return cookies.of[pid]; }
  Result<> create(int pid) override {
    cookies.of[pid] = ++cookies.last;
    return {};
  }
  Result<> copyCookie(int from, const std::vector<int>& to) override {
    if (cookies.refuses) return fail(ErrorCode::Io, "not now");
    for (const int pid : to) cookies.of[pid] = from == 0 ? 0 : cookies.of[from];
    return {};
  }
};

}  // namespace koord::koordlet
