#include "devicedaemon/vendors/cambricon.h"

#include <fmt/format.h>

#include "base/split.h"
#include "base/utf8.h"
#include "devicedaemon/vendors/cndev.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::devicedaemon {
namespace {

constexpr int kMaxCards = 256;

// Lines of the PCI address, and one with the device's health: "Device : Good".
struct MluText {
  std::string uuid, domain, bus, slot, function, state;
  std::optional<int> memory, numaNode;
};

bool isSlot(std::string_view text) {
  return !text.empty() && text.size() <= 2 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == text.npos;
}

std::optional<int> amountOf(std::string_view value) {
  const auto words = wordsOf(value);
  return words.empty() ? std::nullopt : countIn(words[0]);
}

void takeField(const Field& field, bool inMemory, MluText& text) {
  const auto& [key, value] = field;
  if (key == "UUID") text.uuid = value;
  if (key == "NUMA node id") text.numaNode = countIn(value);
  if (key == "Domain ID") text.domain = value;
  if (key == "Bus num") text.bus = value;
  if (key == "Function") text.function = value;
  if (key == "Device") (isSlot(value) ? text.slot : text.state) = value;
  if (key == "Total" && inMemory) text.memory = amountOf(value);
}

}  // namespace

Result<MluList> mluList(std::string_view list) {
  MluList result;
  koordlet::forEachLine(list, [&](std::string_view line) {
    if (line.find("UUID") == line.npos) return;
    ++result.count;
    for (const auto word : wordsOf(line))
      if (result.model.empty() && word.find("MLU") != word.npos) result.model = word;
  });
  if (result.count == 0 || result.count > kMaxCards || result.model.empty())
    return fail(
        ErrorCode::Invalid,
        fmt::format("cnmon -l: no line with a card and its UUID in '{}'", shortened(list, 200)));
  return result;
}

Result<Found> mluIn(std::string_view info) {
  MluText text;
  bool inMemory = false;
  koordlet::forEachLine(info, [&](std::string_view line) {
    const auto field = fieldIn(line);
    if (!field || field->value.empty()) {
      if (!trim(line).empty()) inMemory = line.find("Physical Memory") != line.npos;
      return;
    }
    takeField(*field, inMemory, text);
  });
  if (text.uuid.empty()) return fail(ErrorCode::Invalid, "cnmon info: no UUID");
  if (!text.memory || *text.memory == 0)
    return fail(ErrorCode::Invalid, "cnmon info: no Total of Physical Memory Usage");
  Found device{.vendor = "cambricon", .uuid = text.uuid};
  device.numaNode = text.numaNode;
  device.busId =
      pciAddress(fmt::format("{}:{}:{}.{}", text.domain, text.bus, text.slot, text.function));
  device.resources[std::string(model::kGpuMemory)] = mebibytes(*text.memory);
  device.resources[std::string(model::kGpuCore)] = "100";
  if (text.state != "Good")
    device.fault =
        fmt::format("Device is unhealthy, status: {}", text.state.empty() ? "unknown" : text.state);
  return device;
}

namespace {

Result<Reading> readByCnmon(const Machine& machine) {
  const auto list = machine.runner->run({"cnmon", "-l"});
  if (!list) return fail(list.error());
  const auto cards = mluList(*list);
  if (!cards) return fail(cards.error());
  Reading reading{{}, "cnmon", {}};
  for (int card = 0; card < cards->count; ++card) {
    const auto info = machine.runner->run({"cnmon", "info", "-c", std::to_string(card)});
    auto device = info ? mluIn(*info) : fail(info.error());
    if (!device) {
      reading.problems.push_back(fmt::format("card {}: {}", card, device.error().message));
      continue;
    }
    device->model = cards->model;
    device->minor = card;
    reading.devices.push_back(*std::move(device));
  }
  return reading;
}

}  // namespace

Result<Reading> readCambricon(const Machine& machine) {
  return libraryOrTool(
      machine, "libcndev.so", [&] { return cndev::devices(machine.cndev); },
      [&] { return readByCnmon(machine); });
}

}  // namespace koord::devicedaemon
