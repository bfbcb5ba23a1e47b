// Output of vendors' tools and what koord-device-daemon makes of it: any text is read or refused,
// and devices that pass its checks are read back from its file as they were.

#include "devicedaemon/settings.h"
#include "devicedaemon/vendors/cambricon.h"
#include "devicedaemon/vendors/huawei.h"
#include "devicedaemon/vendors/kunlun.h"
#include "devicedaemon/vendors/metax.h"
#include "fuzz.h"

namespace koord::fuzz {
namespace {

using namespace koord::devicedaemon;

void comesBack(const std::vector<Found>& devices) {
  if (!checkFound(devices)) return;
  const std::string text = fileText(devices);
  const auto again = foundIn(text);
  check(again && again->size() == devices.size(), "what is written can be read");
  check(fileText(*again) == text, "what is read is what was written");
}

}  // namespace

void xpuSmi(std::string_view input) {
  if (const auto devices = kunlunIn(input)) comesBack(*devices);
}

void npuSmi(std::string_view input) {
  const auto sum = npuSum(input, {"DDR Capacity", "HBM Capacity"});
  const auto cores = npuSum(input, {"Aicore Count"});
  check(sum.value_or(0) >= 0 && cores.value_or(0) >= 0, "amounts are not below zero");
  const auto chips = npuChips(input);
  if (!chips) return;
  std::vector<Found> devices;
  for (const auto& chip : *chips) {
    const auto device = npuOf({.card = chip.card,
                               .minor = chip.physicalId.value_or(chip.logicId),
                               .model = chip.model,
                               .memory = sum.value_or(0),
                               .aiCores = cores.value_or(0),
                               .aiCpus = 1});
    if (device) devices.push_back(*device);
  }
  comesBack(devices);
}

void mxSmi(std::string_view input) {
  check(metaxErrors(input) >= 0, "errors are not below zero");
  const auto cards = metaxCards(input);
  const auto kinds = metaxKinds(input);
  if (kinds)
    for (const auto& [number, kind] : *kinds)
      check(kind.memory.empty() || kind.memory.ends_with('i'), "memory has a unit");
  if (cards)
    for (const auto& card : *cards)
      check(card.busId == pciAddress(card.busId), "an address is one as the kernel writes it");
}

void cnmon(std::string_view input) {
  if (const auto list = mluList(input)) check(list->count > 0, "a list has cards");
  if (const auto device = mluIn(input)) {
    Found named = *device;
    named.model = "MLU370";
    comesBack({named});
  }
}

void deviceFile(std::string_view input) {
  if (const auto devices = foundIn(input)) comesBack(*devices);
  Settings settings;
  if (applyFile(input, settings)) (void)checkSettings(settings);
}

}  // namespace koord::fuzz
