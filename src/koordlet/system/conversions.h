#pragma once

// Conversions between Kubernetes CPU amounts and what cgroup v1 and v2 files hold.

#include <cstdint>

#include "base/result.h"

namespace koord::koordlet {

inline constexpr std::int64_t kCfsPeriodUs = 100'000;
inline constexpr std::int64_t kMinQuotaUs = 1'000;  // the kernel refuses a shorter one
inline constexpr std::int64_t kMinShares = 2;
inline constexpr std::int64_t kMaxShares = 262'144;
inline constexpr std::int64_t kMaxWeight = 10'000;
inline constexpr std::int64_t kUnlimited = INT64_MAX;  // "max" where an amount is compared

// 1000 milli-cores are 1024 shares; clamped to the kernel's range.
std::int64_t milliCpuToShares(std::int64_t milli);
// Microseconds per kCfsPeriodUs, at least kMinQuotaUs; -1 (no limit) for 0 and less.
std::int64_t milliCpuToQuota(std::int64_t milli);
// Converts a quota for kCfsPeriodUs to another period, at least kMinQuotaUs; kubelet's flag
// --cpu-cfs-quota-period sets the period.
std::int64_t quotaInPeriod(std::int64_t quota, std::int64_t periodUs);
// cpu.shares of v1 <-> cpu.weight of v2; out of range is an error.
Result<std::int64_t> sharesToWeight(std::int64_t shares);
Result<std::int64_t> weightToShares(std::int64_t weight);

// "100000 100000", "max 100000": cpu.max of v2. Quota -1 = no limit.
Result<std::int64_t> quotaOfCpuMax(std::string_view text);
Result<std::int64_t> periodOfCpuMax(std::string_view text);

// Parses an amount of a cgroup file: a number, or "max" or -1, which both yield kUnlimited.
Result<std::int64_t> parseAmount(std::string_view text);

}  // namespace koord::koordlet
