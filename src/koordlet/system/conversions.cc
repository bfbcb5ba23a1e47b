#include "koordlet/system/conversions.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/split.h"
#include "koordlet/system/small_file.h"

namespace koord::koordlet {
namespace {

constexpr std::int64_t kShareSpan = kMaxShares - kMinShares;
constexpr std::int64_t kWeightSpan = kMaxWeight - 1;

Result<std::pair<std::string_view, std::string_view>> fieldsOfCpuMax(std::string_view text) {
  std::string_view rest = trim(text);
  const auto quota = takeWord(rest);
  const auto period = takeWord(rest);
  if (period.empty() || !takeWord(rest).empty())
    return fail(ErrorCode::Invalid, fmt::format("cpu.max is '{}', not '<quota> <period>'", text));
  return std::pair{quota, period};
}

}  // namespace

std::int64_t milliCpuToShares(std::int64_t milli) {
  // Divided first where the product would not fit; the result is clamped there anyway.
  if (milli > kMaxShares * 1000) return kMaxShares;
  if (milli <= 0) return kMinShares;
  return std::clamp(milli * 1024 / 1000, kMinShares, kMaxShares);
}

std::int64_t milliCpuToQuota(std::int64_t milli) {
  if (milli <= 0) return -1;
  if (milli > INT64_MAX / (kCfsPeriodUs / 1000)) return -1;
  return std::max(milli * kCfsPeriodUs / 1000, kMinQuotaUs);
}

std::int64_t quotaInPeriod(std::int64_t quota, std::int64_t periodUs) {
  if (quota <= 0 || periodUs <= 0 || periodUs == kCfsPeriodUs) return quota;
  const __int128 scaled = static_cast<__int128>(quota) * periodUs / kCfsPeriodUs;
  return static_cast<std::int64_t>(std::clamp<__int128>(scaled, kMinQuotaUs, INT64_MAX));
}

Result<std::int64_t> sharesToWeight(std::int64_t shares) {
  if (shares < kMinShares || shares > kMaxShares)
    return fail(ErrorCode::Invalid,
                fmt::format("cpu.shares {} is not within {}..{}", shares, kMinShares, kMaxShares));
  return 1 + (shares - kMinShares) * kWeightSpan / kShareSpan;
}

Result<std::int64_t> weightToShares(std::int64_t weight) {
  if (weight < 1 || weight > kMaxWeight)
    return fail(ErrorCode::Invalid,
                fmt::format("cpu.weight {} is not within 1..{}", weight, kMaxWeight));
  return (weight - 1) * kShareSpan / kWeightSpan + kMinShares;
}

Result<std::int64_t> quotaOfCpuMax(std::string_view text) {
  const auto fields = fieldsOfCpuMax(text);
  if (!fields) return fail(fields.error());
  if (fields->first == "max") return -1;
  return parseInt(fields->first);
}

Result<std::int64_t> periodOfCpuMax(std::string_view text) {
  const auto fields = fieldsOfCpuMax(text);
  if (!fields) return fail(fields.error());
  return parseInt(fields->second);
}

Result<std::int64_t> parseAmount(std::string_view text) {
  if (trim(text) == "max") return kUnlimited;
  auto value = parseInt(text);
  if (value && *value == -1) return kUnlimited;
  return value;
}

}  // namespace koord::koordlet
