// The functions of libcndev.so and libdcmi.so over the devices of fake_accelerators.h.

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "devicedaemon/testing/fake_accelerators.h"
#include "devicedaemon/vendors/cndev.h"
#include "devicedaemon/vendors/dcmi.h"

using namespace koord::devicedaemon;

namespace {

FakeAcceleratorState state;

int begin() {
  ++state.calls;
  if (state.crashes) std::abort();
  while (state.hangs) ::sleep(1);
  return state.initAnswer;
}

FakeAccelerator& deviceOf(int card, int chip) {
  return state.devices[static_cast<std::size_t>(card * state.chipsPerCard + chip)];
}

template <class From, class To>
void copyText(const From& from, To& to) {
  std::ranges::copy(from, to.begin());
}

}  // namespace

extern "C" {

FakeAcceleratorState* fakeAcceleratorState() {
  return &state;
}

int cndevInit(int) {
  return begin();
}
int cndevGetDeviceCount(cndev::CardCount* count) {
  count->number = static_cast<unsigned>(state.count);
  return 0;
}
int cndevGetDeviceHandleByIndex(int index, cndev::Device* device) {
  *device = index;
  return 0;
}
int cndevGetUUID(cndev::Uuid* uuid, cndev::Device device) {
  copyText(deviceOf(device, 0).uuid, uuid->text);
  return uuid->version == cndev::kVersion ? deviceOf(device, 0).answer : 3;
}
int cndevGetMemoryUsageV2(cndev::Memory* memory, cndev::Device device) {
  memory->total = deviceOf(device, 0).memory;
  return 0;
}
int cndevGetPCIeInfo(cndev::Pcie* pcie, cndev::Device device) {
  pcie->bus = deviceOf(device, 0).bus;
  return 0;
}
int cndevGetCardHealthState(cndev::Health* health, cndev::Device device) {
  health->good = deviceOf(device, 0).health == 0 ? 1 : 0;
  return 0;
}
const char* cndevGetCardNameStringByDevId(cndev::Device device) {
  return deviceOf(device, 0).name.data();
}

int dcmi_init() {
  return begin();
}
int dcmi_get_card_list(int* count, int* list, int room) {
  *count = std::min(state.count / state.chipsPerCard, room);
  for (int i = 0; i < *count; ++i) list[i] = i;
  return 0;
}
// The last one of each card is its controller.
int dcmi_get_device_num_in_card(int, int* count) {
  *count = state.chipsPerCard + 1;
  return 0;
}
int dcmi_get_device_type(int, int chip, int* kind) {
  *kind = chip == state.chipsPerCard ? 1 : 0;
  return 0;
}
int dcmi_get_device_chip_info(int card, int chip, dcmi::Chip* info) {
  const FakeAccelerator& device = deviceOf(card, chip);
  copyText(device.type, info->type);
  copyText(device.name, info->name);
  info->aiCores = device.cores;
  return device.answer;
}
int dcmi_get_device_logic_id(int* id, int card, int chip) {
  *id = card * state.chipsPerCard + chip;
  return 0;
}
int dcmi_get_device_phyid_from_logicid(unsigned logic, unsigned* physical) {
  *physical = logic;
  return 0;
}
int dcmi_get_device_health(int card, int chip, unsigned* health) {
  *health = static_cast<unsigned>(deviceOf(card, chip).health);
  return 0;
}
int dcmi_get_device_pcie_info_v2(int card, int chip, dcmi::Pcie* pcie) {
  pcie->bus = deviceOf(card, chip).bus;
  return 0;
}
int dcmi_get_device_hbm_info(int card, int chip, dcmi::Hbm* hbm) {
  hbm->memory = static_cast<unsigned long long>(deviceOf(card, chip).memory);
  return 0;
}
int dcmi_get_device_memory_info_v3(int card, int chip, dcmi::Ddr* ddr) {
  ddr->memory = static_cast<unsigned long long>(deviceOf(card, chip).ddr);
  return 0;
}
int dcmi_get_device_cpu_num_config(int card, int chip, unsigned char* counts, unsigned) {
  counts[2] = static_cast<unsigned char>(deviceOf(card, chip).aiCpus);
  return 0;
}
}
