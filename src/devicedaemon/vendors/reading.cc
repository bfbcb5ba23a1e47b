#include "devicedaemon/vendors/reading.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/split.h"
#include "devicedaemon/vendors/cambricon.h"
#include "devicedaemon/vendors/huawei.h"
#include "devicedaemon/vendors/kunlun.h"
#include "devicedaemon/vendors/metax.h"

namespace koord::devicedaemon {
namespace {

constexpr Vendor kVendors[] = {
    {"cambricon", [](const PciId& id) { return id.vendor == 0xcabc; }, readCambricon},
    {"huawei", isHuaweiNpu, readHuawei},
    {"kunlun", [](const PciId& id) { return id.vendor == 0x1d22; }, readKunlun},
    {"metax", [](const PciId& id) { return id.vendor == 0x9999; }, readMetax},
};

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

std::span<const Vendor> vendors() {
  return kVendors;
}

Result<Reading> libraryOrTool(const Machine& machine, const std::string& library,
                              const std::function<Result<std::vector<Found>>()>& inLibrary,
                              const std::function<Result<Reading>()>& byTool) {
  auto said = machine.runner->runIsolated(library, [&]() -> Result<std::string> {
    const auto devices = inLibrary();
    if (!devices) return fail(devices.error());
    return fileText(*devices);
  });
  if (said) {
    auto devices = foundIn(*said);
    if (!devices) return fail(std::move(devices.error()));
    return Reading{*std::move(devices), library, {}};
  }
  auto reading = byTool();
  if (reading) {
    if (said.error().code != ErrorCode::NotFound) reading->problems.push_back(said.error().message);
    return reading;
  }
  const bool absent =
      said.error().code == ErrorCode::NotFound && reading.error().code == ErrorCode::NotFound;
  return fail(absent ? ErrorCode::NotFound : ErrorCode::Internal,
              fmt::format("{}; {}", said.error().message, reading.error().message));
}

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const auto* start = std::ranges::find_if_not(line, isBlank);
    line.remove_prefix(static_cast<std::size_t>(start - line.begin()));
    const auto* end = std::ranges::find_if(line, isBlank);
    const auto size = static_cast<std::size_t>(end - line.begin());
    if (size > 0) words.push_back(line.substr(0, size));
    line.remove_prefix(size);
  }
  return words;
}

std::optional<Field> fieldIn(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == line.npos) return std::nullopt;
  return Field{trim(line.substr(0, colon)), trim(line.substr(colon + 1))};
}

std::optional<int> countIn(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  int number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::string modelName(std::string_view name) {
  return fmt::format("{}", fmt::join(wordsOf(name), "-"));
}

std::string mebibytes(std::int64_t amount) {
  return fmt::format("{}Mi", amount);
}

}  // namespace koord::devicedaemon
