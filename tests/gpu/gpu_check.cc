// Prints what koordlet sees of this machine's GPUs, as JSON: for machines with GPUs on which
// nothing of this is installed. Needs the driver's libnvidia-ml.so.1 and nothing else.
//
//   koord_gpu_check [seconds]     reads once a second for so long (3)
//
// Exits with 1 when the driver cannot be opened or a reading fails.

#include <fmt/format.h>
#include <sys/random.h>

#include <boost/json/src.hpp>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "koordlet/devices/gpu_reader.h"
#include "koordlet/system/pci.h"

// The C++ library is linked in and wants this of the C library, which has it only since 2.36.
extern "C" std::uint32_t arc4random() {
  std::uint32_t value = 0;
  return ::getrandom(&value, sizeof value, 0) == sizeof value ? value : 4;
}

namespace koord::koordlet {
namespace {

namespace json = boost::json;

json::object describe(const Gpu& gpu, const HostDirs& dirs) {
  json::array processes;
  for (const auto& process : gpu.processes)
    processes.push_back(json::object{
        {"pid", process.pid}, {"memoryBytes", process.memory}, {"corePercent", process.core}});
  json::object result{{"uuid", gpu.identity.uuid},
                      {"model", gpu.identity.model},
                      {"minor", gpu.identity.minor},
                      {"busId", gpu.identity.busId},
                      {"memoryTotalBytes", gpu.memoryTotal},
                      {"memoryUsedBytes", gpu.memoryUsed},
                      {"corePercent", gpu.core},
                      {"processes", std::move(processes)},
                      {"fault", gpu.fault ? json::value(gpu.fault->reason) : json::value()}};
  if (const auto place = pciPlaceOf(dirs, gpu.identity.busId)) {
    result["numaNode"] = place->numaNode;
    result["pcieRoot"] = place->rootComplex;
  } else {
    result["place"] = place.error().message;
  }
  return result;
}

// What the library can do on the first GPU, call by call, with the driver's own answers.
json::object probe() {
  const auto nvml = Nvml::open();
  if (!nvml) return {{"open", nvml.error().message}};
  const auto devices = (*nvml)->devices();
  if (!devices || devices->empty()) return {{"devices", "none"}};
  const auto device = devices->front();
  const auto textOf = [](const auto& result) {
    return json::value(result ? "ok" : result.error().message);
  };
  json::object calls;
  const auto memory = (*nvml)->memory(device);
  if (memory) calls["deviceMemoryUsedBytes"] = memory->used;
  if (const auto busy = (*nvml)->utilization(device)) calls["deviceUtilisation"] = *busy;
  calls["processes"] = textOf((*nvml)->processes(device));
  const auto samples = (*nvml)->samples(device, 0);
  calls["samples"] = textOf(samples);
  if (samples) calls["sampleCount"] = samples->size();
  calls["waitsForReset"] = (*nvml)->waitsForReset(device);
  calls["watchFaults"] = textOf((*nvml)->watchFaults(device));
  calls["takeFaults"] = textOf((*nvml)->takeFaults());
  return calls;
}

int check(int seconds) {
  const HostDirs dirs = hostModeDirs();
  GpuReader reader;
  json::array readings;
  bool ok = true;
  for (int i = 0; i < seconds; ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
    const auto start = std::chrono::steady_clock::now();
    const auto reading = reader.read(SteadyTime(start.time_since_epoch()));
    const auto took = std::chrono::steady_clock::now() - start;
    json::object line{{"tookMs", std::chrono::duration<double, std::milli>(took).count()}};
    if (reading) {
      line["driverVersion"] = reading->driverVersion;
      json::array gpus;
      for (const auto& gpu : reading->gpus) gpus.push_back(describe(gpu, dirs));
      line["gpus"] = std::move(gpus);
    } else {
      line["error"] = reading.error().message;
      ok = false;
    }
    readings.push_back(std::move(line));
  }
  json::array cards;
  for (const auto& card : rdmaCards(dirs))
    cards.push_back(
        json::object{{"busId", card.busId}, {"minor", card.minor}, {"healthy", card.healthy}});
  const json::object document{
      {"readings", std::move(readings)}, {"calls", probe()}, {"rdmaCards", std::move(cards)}};
  fmt::print("{}\n", json::serialize(document));
  return ok ? 0 : 1;
}

}  // namespace
}  // namespace koord::koordlet

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::atoi(argv[1]) : 3;
  return koord::koordlet::check(seconds > 0 ? seconds : 3);
}
