#include "devicedaemon/vendors/dcmi.h"

#include <fmt/format.h>

#include "base/shared_library.h"
#include "devicedaemon/vendors/huawei.h"
#include "devicedaemon/vendors/library.h"

namespace koord::devicedaemon::dcmi {
namespace {

struct Functions {
  int (*init)();
  int (*cards)(int* count, int* list, int room);
  int (*chips)(int card, int* count);
  int (*kind)(int card, int chip, int* kind);
  int (*info)(int card, int chip, Chip*);
  int (*logicId)(int* id, int card, int chip);
  int (*physicalId)(unsigned logic, unsigned* physical);
  int (*health)(int card, int chip, unsigned* health);
  // Functions that not every chip or version supports.
  int (*pcie)(int card, int chip, Pcie*);
  int (*hbm)(int card, int chip, Hbm*);
  int (*ddr)(int card, int chip, Ddr*);
  int (*cpus)(int card, int chip, unsigned char* counts, unsigned room);
};

std::unexpected<Error> failedAt(const char* function, int card, int code) {
  return fail(ErrorCode::Internal,
              fmt::format("libdcmi.so: {} of card {}: error {}", function, card, code));
}

std::int64_t memoryOf(const Functions& call, int card, int chip) {
  Padded<Hbm> hbm;
  Padded<Ddr> ddr;
  std::int64_t memory = 0;
  if (call.hbm && call.hbm(card, chip, &hbm.value) == 0)
    memory += static_cast<std::int64_t>(hbm.value.memory);
  if (call.ddr && call.ddr(card, chip, &ddr.value) == 0)
    memory += static_cast<std::int64_t>(ddr.value.memory);
  return memory;
}

Result<NpuFacts> factsOf(const Functions& call, int card, int chip) {
  NpuFacts facts{.card = card};
  Padded<Chip> info;
  if (const int code = call.info(card, chip, &info.value))
    return failedAt("dcmi_get_device_chip_info", card, code);
  facts.model = modelName(fmt::format("{} {}", textOf(info.value.type), textOf(info.value.name)));
  facts.aiCores = static_cast<int>(info.value.aiCores);
  int logic = 0;
  unsigned physical = 0;
  if (const int code = call.logicId(&logic, card, chip))
    return failedAt("dcmi_get_device_logic_id", card, code);
  if (const int code = call.physicalId(static_cast<unsigned>(logic), &physical))
    return failedAt("dcmi_get_device_phyid_from_logicid", card, code);
  facts.minor = static_cast<int>(physical);
  facts.memory = memoryOf(call, card, chip);
  Padded<Pcie> pcie;
  if (call.pcie && call.pcie(card, chip, &pcie.value) == 0)
    facts.busId = pciAddress(fmt::format("{:x}:{:x}:{:x}.{:x}", pcie.value.domain, pcie.value.bus,
                                         pcie.value.slot, pcie.value.function));
  Padded<CpuCounts> cpus;
  if (call.cpus && call.cpus(card, chip, cpus.value.data(), cpus.value.size()) == 0)
    facts.aiCpus = cpus.value[2];
  unsigned health = 0;
  const int code = call.health(card, chip, &health);
  if (code != 0 || health >= kMajor)
    facts.fault = code ? fmt::format("dcmi_get_device_health: error {}", code)
                       : fmt::format("NPU {} has health {}", card, health);
  return facts;
}

Result<Found> chipOf(const Functions& call, int card, int chip) {
  const auto facts = factsOf(call, card, chip);
  if (!facts) return fail(facts.error());
  return npuOf(*facts);
}

void takeCard(const Functions& call, int card, Answers& answers) {
  int chips = 0;
  if (const int code = call.chips(card, &chips))
    return answers.take(failedAt("dcmi_get_device_num_in_card", card, code));
  for (int chip = 0; chip < chips && chip < kMaxCards; ++chip) {
    int kind = kNpu;
    if (call.kind(card, chip, &kind) != 0 || kind != kNpu) continue;
    answers.take(chipOf(call, card, chip));
  }
}

}  // namespace

Result<std::vector<Found>> devices(const std::vector<std::string>& library) {
  auto opened = SharedLibrary::open(library);
  if (!opened) return fail(std::move(opened.error()));
  Functions call{};
  opened->need(call.init, "dcmi_init")
      .need(call.cards, "dcmi_get_card_list")
      .need(call.chips, "dcmi_get_device_num_in_card")
      .need(call.kind, "dcmi_get_device_type")
      .need(call.info, "dcmi_get_device_chip_info")
      .need(call.logicId, "dcmi_get_device_logic_id")
      .need(call.physicalId, "dcmi_get_device_phyid_from_logicid")
      .need(call.health, "dcmi_get_device_health")
      .find(call.pcie, "dcmi_get_device_pcie_info_v2")
      .find(call.hbm, "dcmi_get_device_hbm_info")
      .find(call.ddr, "dcmi_get_device_memory_info_v3")
      .find(call.cpus, "dcmi_get_device_cpu_num_config");
  if (auto complete = opened->complete(); !complete) return fail(std::move(complete.error()));
  opened->keepOpen();
  if (const int code = call.init())
    return fail(ErrorCode::Internal, fmt::format("libdcmi.so: dcmi_init: error {}", code));
  int count = 0;
  std::array<int, kMaxCards> cards{};
  if (const int code = call.cards(&count, cards.data(), kMaxCards))
    return fail(ErrorCode::Internal, fmt::format("libdcmi.so: dcmi_get_card_list: error {}", code));
  Answers answers;
  for (int i = 0; i < count && i < kMaxCards; ++i)
    takeCard(call, cards[static_cast<std::size_t>(i)], answers);
  return std::move(answers).all();
}

}  // namespace koord::devicedaemon::dcmi
