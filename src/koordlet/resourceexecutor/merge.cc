#include "base/cpuset.h"
#include "base/split.h"
#include "koordlet/resourceexecutor/resource_executor.h"
#include "koordlet/system/conversions.h"
#include "koordlet/system/small_file.h"

// The rules of the first, loosening pass of a leveled update.

namespace koord::koordlet {
namespace {

using Merged = Result<std::optional<std::string>>;

Merged ifLarger(const Result<std::int64_t>& before, std::string_view wanted) {
  if (!before) return fail(before.error());
  const auto after = parseAmount(wanted);
  if (!after) return fail(after.error());
  if (*after <= *before) return std::nullopt;
  return std::string(wanted);
}

Merged unionOf(std::string_view current, std::string_view wanted) {
  const auto before = CpuSet::parse(trim(current));
  if (!before) return fail(before.error());
  const auto after = CpuSet::parse(wanted);
  if (!after) return fail(after.error());
  if (after->isSubsetOf(*before)) return std::nullopt;
  return before->unionWith(*after).toString();
}

Result<std::int64_t> quotaIn(std::string_view text, CgroupVersion version) {
  auto quota = version == CgroupVersion::V2 ? quotaOfCpuMax(text) : parseInt(text);
  if (quota && *quota == -1) return kUnlimited;
  return quota;
}

}  // namespace

bool isMergeable(CgroupFile file) {
  switch (file) {
    case CgroupFile::MemoryMin:
    case CgroupFile::MemoryLow:
    case CgroupFile::MemoryHigh:
    case CgroupFile::CpuCfsQuota:
    case CgroupFile::CpusetCpus:
      return true;
    default:
      return false;
  }
}

Merged mergedValue(CgroupFile file, CgroupVersion version, std::string_view current,
                   std::string_view wanted) {
  if (file == CgroupFile::CpusetCpus) return unionOf(current, wanted);
  if (file == CgroupFile::CpuCfsQuota) return ifLarger(quotaIn(current, version), wanted);
  return ifLarger(parseAmount(current), wanted);
}

}  // namespace koord::koordlet
