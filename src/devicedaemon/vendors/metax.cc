#include "devicedaemon/vendors/metax.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/split.h"
#include "base/utf8.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::devicedaemon {
namespace {

constexpr std::string_view kCard = "GPU#";
constexpr std::string_view kUuid = "UUID:";

// 3 of "GPU#3 MXC500 0000:3c:00.0"; slices ("SGPU") are not cards.
std::optional<int> cardAt(const std::vector<std::string_view>& words) {
  if (words.empty() || !words[0].starts_with(kCard)) return std::nullopt;
  return countIn(words[0].substr(kCard.size()));
}

std::string uuidIn(std::string_view line) {
  const auto start = line.find(kUuid);
  if (start == line.npos) return {};
  const auto words = wordsOf(line.substr(start + kUuid.size()));
  return words.empty() ? std::string() : std::string(words[0].substr(0, words[0].find(')')));
}

// "64 GB", "64GB" or "65536 MB"; "" if it is none of these.
std::string memoryIn(std::string_view value) {
  const auto digits = std::min(value.find_first_not_of("0123456789"), value.size());
  const auto amount = countIn(value.substr(0, digits));
  const std::string unit = lowered(trim(value.substr(digits)));
  if (!amount || *amount == 0) return {};
  if (unit == "gb" || unit == "gib") return fmt::format("{}Gi", *amount);
  if (unit == "mb" || unit == "mib") return mebibytes(*amount);
  return {};
}

Result<Found> metaxOf(const MetaxCard& card, const std::map<int, MetaxKind>& kinds) {
  auto kind = kinds.find(card.number);
  if (kind == kinds.end()) kind = kinds.begin();
  if (kind == kinds.end() || kind->second.model.empty() || kind->second.memory.empty())
    return fail(ErrorCode::Invalid, fmt::format("mx-smi --show-hwinfo: no Model Name or Memory "
                                                "Capacity of GPU#{}",
                                                card.number));
  Found device{.vendor = "metax", .model = kind->second.model, .uuid = card.uuid};
  device.minor = card.number;
  device.busId = card.busId;
  device.resources[std::string(model::kGpuMemory)] = kind->second.memory;
  device.resources[std::string(model::kGpuCore)] = "100";
  return device;
}

}  // namespace

Result<std::vector<MetaxCard>> metaxCards(std::string_view list) {
  std::vector<MetaxCard> cards;
  koordlet::forEachLine(list, [&](std::string_view line) {
    const auto words = wordsOf(line);
    const auto number = cardAt(words);
    if (!number || line.find("SGPU") != line.npos) return;
    cards.push_back({*number, words.size() > 2 ? pciAddress(words[2]) : "", uuidIn(line)});
  });
  if (cards.empty())
    return fail(ErrorCode::Invalid,
                fmt::format("mx-smi --list: no line with a GPU in '{}'", shortened(list, 200)));
  return cards;
}

Result<std::map<int, MetaxKind>> metaxKinds(std::string_view hardware) {
  std::map<int, MetaxKind> kinds;
  int card = 0;
  Result<> problem;
  koordlet::forEachLine(hardware, [&](std::string_view line) {
    const auto words = wordsOf(line);
    if (const auto number = cardAt(words)) card = *number;
    const auto field = fieldIn(line);
    if (!field || words.size() < 2) return;
    const std::string key = lowered(fmt::format("{} {}", words[0], words[1]));
    if (key == "model name") kinds[card].model = modelName(field->value);
    if (key != "memory capacity") return;
    kinds[card].memory = memoryIn(field->value);
    if (kinds[card].memory.empty())
      problem =
          fail(ErrorCode::Invalid,
               fmt::format("mx-smi --show-hwinfo: invalid Memory Capacity '{}'", field->value));
  });
  if (!problem) return fail(std::move(problem.error()));
  return kinds;
}

int metaxErrors(std::string_view counts) {
  std::int64_t errors = 0;
  koordlet::forEachLine(counts, [&](std::string_view line) {
    const bool counted = line.find("SRAM Uncorrectable") != line.npos ||
                         line.find("DRAM Uncorrectable") != line.npos ||
                         line.find("Double Bit ECC") != line.npos;
    const auto words = wordsOf(line);
    if (counted && !words.empty()) errors += countIn(words.back()).value_or(0);
  });
  return static_cast<int>(std::min<std::int64_t>(errors, 1'000'000'000));
}

Result<Reading> readMetax(const Machine& machine) {
  const auto list = machine.runner->run({"mx-smi", "--list"});
  if (!list) return fail(list.error());
  const auto hardware = machine.runner->run({"mx-smi", "--show-hwinfo"});
  if (!hardware) return fail(hardware.error());
  const auto cards = metaxCards(*list);
  const auto kinds = metaxKinds(*hardware);
  if (!cards) return fail(cards.error());
  if (!kinds) return fail(kinds.error());
  Reading reading{{}, "mx-smi", {}};
  for (const auto& card : *cards) {
    if (card.uuid.empty()) {
      reading.problems.push_back(
          fmt::format("mx-smi --list: GPU#{} is not available", card.number));
      continue;
    }
    auto device = metaxOf(card, *kinds);
    if (!device) return fail(std::move(device.error()));
    const auto counts =
        machine.runner->run({"mx-smi", "--count-ecc", "-i", std::to_string(card.number)});
    const int errors = counts ? metaxErrors(*counts) : 0;
    if (errors > 0) {
      device->faultCode = "ECC error";
      device->fault =
          fmt::format("MX index {} has {} SRAM/DRAM Uncorrectable or Double Bit ECC errors",
                      card.number, errors);
    }
    reading.devices.push_back(*std::move(device));
  }
  return reading;
}

}  // namespace koord::devicedaemon
