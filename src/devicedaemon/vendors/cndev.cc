#include "devicedaemon/vendors/cndev.h"

#include <fmt/format.h>

#include "base/shared_library.h"
#include "devicedaemon/vendors/library.h"
#include "devicedaemon/vendors/reading.h"
#include "model/well_known.h"

namespace koord::devicedaemon::cndev {
namespace {

constexpr std::uint32_t kMaxDevices = 256;

struct Functions {
  int (*init)(int);
  int (*count)(CardCount*);
  int (*byIndex)(int, Device*);
  int (*uuid)(Uuid*, Device);
  int (*memory)(Memory*, Device);
  int (*pcie)(Pcie*, Device);
  int (*health)(Health*, Device);
  const char* (*name)(Device);
};

std::unexpected<Error> failed(const char* function, int code) {
  return fail(ErrorCode::Internal, fmt::format("libcndev.so: {}: error {}", function, code));
}

Result<Found> deviceAt(const Functions& call, int index) {
  Device handle = 0;
  if (const int code = call.byIndex(index, &handle))
    return failed("cndevGetDeviceHandleByIndex", code);
  Padded<Uuid> uuid;
  if (const int code = call.uuid(&uuid.value, handle)) return failed("cndevGetUUID", code);
  Padded<Memory> memory;
  if (const int code = call.memory(&memory.value, handle))
    return failed("cndevGetMemoryUsageV2", code);
  const char* name = call.name(handle);
  Found device{.vendor = "cambricon", .model = modelName(name ? name : "")};
  device.uuid = textOf(uuid.value.text);
  device.minor = index;
  device.resources[std::string(model::kGpuMemory)] = mebibytes(memory.value.total);
  device.resources[std::string(model::kGpuCore)] = "100";
  Padded<Pcie> pcie;
  if (call.pcie(&pcie.value, handle) == 0)
    device.busId = pciAddress(fmt::format("{:x}:{:x}:{:x}.{:x}", pcie.value.domain, pcie.value.bus,
                                          pcie.value.device, pcie.value.function));
  Padded<Health> health;
  const int code = call.health(&health.value, handle);
  if (code != 0 || health.value.good != 1)
    device.fault = code ? fmt::format("cndevGetCardHealthState: error {}", code)
                        : "the driver reports a problem of the device";
  return device;
}

}  // namespace

Result<std::vector<Found>> devices(const std::vector<std::string>& library) {
  auto opened = SharedLibrary::open(library);
  if (!opened) return fail(std::move(opened.error()));
  Functions call{};
  opened->need(call.init, "cndevInit")
      .need(call.count, "cndevGetDeviceCount")
      .need(call.byIndex, "cndevGetDeviceHandleByIndex")
      .need(call.uuid, "cndevGetUUID")
      .need(call.memory, "cndevGetMemoryUsageV2")
      .need(call.pcie, "cndevGetPCIeInfo")
      .need(call.health, "cndevGetCardHealthState")
      .need(call.name, "cndevGetCardNameStringByDevId");
  if (auto complete = opened->complete(); !complete) return fail(std::move(complete.error()));
  opened->keepOpen();
  if (const int code = call.init(0)) return failed("cndevInit", code);
  Padded<CardCount> count;
  if (const int code = call.count(&count.value)) return failed("cndevGetDeviceCount", code);
  if (count.value.number > kMaxDevices)
    return fail(ErrorCode::Invalid, fmt::format("libcndev.so: {} devices, more than {}",
                                                count.value.number, kMaxDevices));
  Answers answers;
  for (std::uint32_t i = 0; i < count.value.number; ++i)
    answers.take(deviceAt(call, static_cast<int>(i)));
  return std::move(answers).all();
}

}  // namespace koord::devicedaemon::cndev
