#include "devicedaemon/vendors/kunlun.h"

#include <fmt/format.h>

#include "koordlet/system/small_file.h"
#include "model/well_known.h"

namespace koord::devicedaemon {
namespace {

constexpr std::size_t kNumber = 1, kMemory = 18, kName = 21;  // positions in a line

// The name, which is quoted if it has blanks.
std::string nameAfter(std::string_view line, std::string_view first) {
  if (!first.starts_with('"')) return std::string(first);
  const std::string_view rest =
      line.substr(static_cast<std::size_t>(first.data() - line.data()) + 1);
  return modelName(rest.substr(0, rest.find('"')));
}

Result<Found> kunlunOf(std::string_view line) {
  const auto words = wordsOf(line);
  const auto odd = [&](std::string_view what) {
    return fail(ErrorCode::Invalid, fmt::format("xpu_smi -m: {} in '{}'", what, line));
  };
  if (words.size() <= kName) return odd("too few fields");
  const auto number = countIn(words[kNumber]);
  const auto memory = countIn(words[kMemory]);
  if (!number) return odd("the number of the device is missing");
  if (!memory || *memory == 0) return odd("no memory");
  Found device{.vendor = "kunlun", .model = nameAfter(line, words[kName])};
  device.minor = *number;
  device.uuid = fmt::format("xpu-{}", *number);
  device.busId = pciAddress(words[0]);
  device.resources[std::string(model::kGpuMemory)] = mebibytes(*memory);
  device.resources[std::string(model::kGpuCore)] = "100";
  return device;
}

}  // namespace

Result<std::vector<Found>> kunlunIn(std::string_view output) {
  std::vector<Found> devices;
  Result<> problem;
  koordlet::forEachLine(output, [&](std::string_view line) {
    if (wordsOf(line).empty() || !problem) return;
    auto device = kunlunOf(line);
    if (device)
      devices.push_back(*std::move(device));
    else
      problem = fail(std::move(device.error()));
  });
  if (!problem) return fail(std::move(problem.error()));
  return devices;
}

Result<Reading> readKunlun(const Machine& machine) {
  const auto output = machine.runner->run({"xpu_smi", "-m"});
  if (!output) return fail(output.error());
  auto devices = kunlunIn(*output);
  if (!devices) return fail(std::move(devices.error()));
  return Reading{*std::move(devices), "xpu_smi", {}};
}

}  // namespace koord::devicedaemon
