#include "devicedaemon/vendors/huawei.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "devicedaemon/vendors/dcmi.h"
#include "koordlet/system/small_file.h"
#include "model/node_names.h"
#include "model/well_known.h"

namespace koord::devicedaemon {
namespace {

constexpr std::uint32_t kHuawei = 0x19e5, kProcessingAccelerator = 0x1200;
constexpr std::string_view kInferenceModel = "Ascend-310P3";
constexpr std::int64_t kInferenceMemory = 21'527;  // MiB; older npu-smi does not report it
constexpr int kInferenceCores = 8;
// AI CPUs of the models that upstream knows; npu-smi reports those of others.
constexpr std::pair<std::string_view, int> kAiCpus[] = {
    {"Ascend-910B", 0}, {"Ascend-910B2", 6}, {"Ascend-910B3", 7}, {"Ascend-910B4", 7}};

std::optional<int> knownAiCpus(std::string_view model) {
  for (const auto& [name, count] : kAiCpus)
    if (name == model) return count;
  return std::nullopt;
}

// Joins the words from `start` on, "Ascend 910B3" -> "Ascend-910B3".
std::string modelFrom(const std::vector<std::string_view>& words, std::size_t start) {
  std::string model;
  for (; start < words.size(); ++start) {
    if (!model.empty()) model += '-';
    model += words[start];
  }
  return model;
}

// npu-smi for one host.
class NpuSmi {
 public:
  NpuSmi(const Machine& machine, std::vector<NpuChip> chips)
      : machine_(machine), chips_(std::move(chips)) {}

  Result<Reading> read();

 private:
  Result<std::string> ask(const char* what, const NpuChip& chip) const;
  Result<std::vector<int>> minors() const;
  Result<> queryKind(NpuFacts& facts) const;
  Result<> queryBoard(const NpuChip& chip, NpuFacts& facts) const;
  bool aloneOnCard(const NpuChip& chip) const;

  const Machine& machine_;
  std::vector<NpuChip> chips_;
};

bool NpuSmi::aloneOnCard(const NpuChip& chip) const {
  return std::ranges::count(chips_, chip.card, &NpuChip::card) == 1;
}

Result<std::string> NpuSmi::ask(const char* what, const NpuChip& chip) const {
  std::vector<std::string> command{"npu-smi", "info", "-t", what, "-i", std::to_string(chip.card)};
  if (!aloneOnCard(chip)) {
    command.emplace_back("-c");
    command.push_back(std::to_string(chip.chip));
  }
  return machine_.runner->run(command);
}

// The n-th chip by number has the n-th device file by number.
Result<std::vector<int>> NpuSmi::minors() const {
  std::vector<int> minors;
  for (const auto& chip : chips_)
    if (chip.physicalId) minors.push_back(*chip.physicalId);
  if (minors.size() != chips_.size()) minors = deviceNumbers(machine_, "davinci");
  if (minors.size() < chips_.size())
    return fail(
        ErrorCode::Invalid,
        fmt::format("npu-smi info -m lists {} chips, but {} files /dev/davinci<number> exist",
                    chips_.size(), minors.size()));
  return minors;
}

Result<> NpuSmi::queryKind(NpuFacts& facts) const {
  const NpuChip& first = chips_.front();
  facts.model = first.model;
  const bool inference = facts.model.starts_with(kInferenceModel);
  const auto memory = ask("memory", first);
  if (memory) facts.memory = npuSum(*memory, {"DDR Capacity", "HBM Capacity"}).value_or(0);
  if (facts.memory == 0 && inference) facts.memory = kInferenceMemory;
  if (facts.memory == 0)
    return memory ? fail(ErrorCode::Invalid, "npu-smi info -t memory: no DDR or HBM Capacity")
                  : fail(memory.error());
  facts.aiCores = kInferenceCores;
  if (!inference) {
    const auto common = ask("common", first);
    if (!common) return fail(common.error());
    const auto cores = npuSum(*common, {"Aicore Count"});
    if (!cores) return fail(ErrorCode::Invalid, "npu-smi info -t common: no Aicore Count");
    facts.aiCores = *cores;
  }
  if (knownAiCpus(facts.model)) return {};
  const auto cpus = ask("cpu-num-cfg", first);
  if (!cpus) return fail(cpus.error());
  facts.aiCpus = npuSum(*cpus, {"AI"});
  return {};
}

Result<> NpuSmi::queryBoard(const NpuChip& chip, NpuFacts& facts) const {
  const auto board = ask("board", chip);
  if (!board) return fail(board.error());
  facts.busId.clear();
  koordlet::forEachLine(*board, [&](std::string_view line) {
    const auto field = fieldIn(line);
    if (field && field->key == "PCIe Bus Info") facts.busId = pciAddress(field->value);
  });
  const int faults = npuSum(*board, {"Chip Fault"}).value_or(0);
  facts.fault = faults > 0 ? fmt::format("NPU index {} has {} chip faults", chip.card, faults) : "";
  return {};
}

Result<Reading> NpuSmi::read() {
  const auto minors = this->minors();
  if (!minors) return fail(minors.error());
  NpuFacts facts;
  if (auto asked = queryKind(facts); !asked) return fail(std::move(asked.error()));
  Reading reading{{}, "npu-smi", {}};
  for (std::size_t i = 0; i < chips_.size(); ++i) {
    facts.card = chips_[i].card;
    facts.minor = (*minors)[i];
    facts.model = chips_[i].model;
    if (auto asked = queryBoard(chips_[i], facts); !asked) {
      reading.problems.push_back(asked.error().message);
      continue;
    }
    auto device = npuOf(facts);
    if (!device) return fail(std::move(device.error()));
    reading.devices.push_back(*std::move(device));
  }
  return reading;
}

Result<Reading> readByNpuSmi(const Machine& machine) {
  const auto mapping = machine.runner->run({"npu-smi", "info", "-m"});
  if (!mapping) return fail(mapping.error());
  auto chips = npuChips(*mapping);
  if (!chips) return fail(std::move(chips.error()));
  return NpuSmi(machine, *std::move(chips)).read();
}

}  // namespace

bool isHuaweiNpu(const PciId& device) {
  return device.vendor == kHuawei && device.kind == kProcessingAccelerator &&
         (device.product >> 8) != 0xa2;  // engines of Kunpeng processors
}

Result<Found> npuOf(const NpuFacts& facts) {
  const auto known = knownAiCpus(facts.model);
  if (!known && !facts.aiCpus)
    return fail(ErrorCode::Invalid, fmt::format("{}: unknown number of AI CPUs", facts.model));
  Found device{.vendor = "huawei", .model = facts.model};
  device.uuid = fmt::format("npu-{}-{}", facts.card, facts.minor);
  device.minor = facts.minor;
  device.busId = facts.busId;
  device.resources[std::string(model::kGpuMemory)] = mebibytes(facts.memory);
  device.resources[std::string(model::kNpuCore)] = std::to_string(facts.aiCores);
  device.resources[std::string(model::kNpuCpu)] = std::to_string(known ? *known : *facts.aiCpus);
  device.resources[std::string(model::kNpuDvpp)] = "100";
  if (!facts.fault.empty()) {
    device.faultCode = "chip error";
    device.fault = facts.fault;
  }
  return device;
}

Result<std::vector<NpuChip>> npuChips(std::string_view mapping) {
  const bool physical = mapping.find("Chip Phy-ID") != mapping.npos;
  const std::size_t name = physical ? 4 : 3;
  std::vector<NpuChip> chips;
  std::set<std::pair<int, int>> seen;
  Result<> problem;
  koordlet::forEachLine(mapping, [&](std::string_view line) {
    const auto words = wordsOf(line);
    if (words.size() <= name) return;
    const auto card = countIn(words[0]), chip = countIn(words[1]), logic = countIn(words[2]);
    if (!card || !chip || !logic) return;  // the heading, and controllers
    chips.push_back({*card, *chip, *logic, physical ? countIn(words[3]) : std::nullopt,
                     modelFrom(words, name)});
    if (!seen.emplace(*card, *chip).second)
      problem = fail(ErrorCode::Invalid,
                     fmt::format("npu-smi info -m: duplicate chip {} of card {}", *chip, *card));
  });
  if (!problem) return fail(std::move(problem.error()));
  if (chips.empty())
    return fail(ErrorCode::Invalid, fmt::format("npu-smi info -m: no row with a chip in '{}'",
                                                shortened(mapping, 200)));
  std::ranges::sort(chips, {}, &NpuChip::logicId);
  return chips;
}

std::optional<int> npuSum(std::string_view output, const std::vector<std::string_view>& keys) {
  std::optional<std::int64_t> sum;
  koordlet::forEachLine(output, [&](std::string_view line) {
    const auto field = fieldIn(line);
    if (!field || std::ranges::none_of(keys, [&](std::string_view key) {
          return field->key.find(key) != field->key.npos;
        }))
      return;
    const auto words = wordsOf(field->value);
    const auto number = words.empty() ? std::nullopt : countIn(words.back());
    if (number) sum = sum.value_or(0) + *number;
  });
  if (!sum || *sum > 1'000'000'000) return std::nullopt;
  return static_cast<int>(*sum);
}

Result<Reading> readHuawei(const Machine& machine) {
  return libraryOrTool(
      machine, "libdcmi.so", [&] { return dcmi::devices(machine.dcmi); },
      [&] { return readByNpuSmi(machine); });
}

}  // namespace koord::devicedaemon
