#pragma once

// Core scheduling with the kernel's rules: a new cookie for each create, handed on by value.

#include <map>

#include "koordlet/system/core_sched.h"

namespace koord::koordlet {

// What the kernel knows; it outlives a koordlet.
struct FakeCookies {
  std::map<int, std::uint64_t> of;  // by process
  std::uint64_t last = 100;
  bool refuses = false;  // to hand one on or take it back
};

struct FakeCoreSched final : CoreSched {
  explicit FakeCoreSched(FakeCookies& cookies) : cookies(cookies) {}
  FakeCookies& cookies;
  Result<std::uint64_t> cookieOf(int pid) override { return cookies.of[pid]; }
  Result<> create(int pid) override {
    cookies.of[pid] = ++cookies.last;
    return {};
  }
  Result<> hand(int from, const std::vector<int>& to) override {
    if (cookies.refuses) return fail(ErrorCode::Io, "not now");
    for (const int pid : to) cookies.of[pid] = from == 0 ? 0 : cookies.of[from];
    return {};
  }
};

}  // namespace koord::koordlet
