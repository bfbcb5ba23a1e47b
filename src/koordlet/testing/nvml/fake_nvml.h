#pragma once

// A fake of NVIDIA's management library: a shared library that tests open as koordlet opens the
// real one, with GPUs that a test defines.
//
//   FakeNvml nvml;                              // no GPUs yet
//   nvml.state().gpus[0].memoryUsed = ...;      // the library reads this at every call
//   auto opened = Nvml::open(nvml.path());
//
// The state belongs to the process, not to the object; one test uses it at a time.

#include <cstdint>
#include <string>

namespace koord::koordlet {

struct FakeGpuProcess {
  unsigned pid = 0;
  std::uint64_t memory = 0;
  std::uint64_t sampledUs = 0;  // 0: no sample
  unsigned sm = 0;
};
struct FakeGpu {
  char uuid[64] = "";
  char name[64] = "";
  unsigned minor = 0, domain = 0, bus = 0, device = 0;
  std::uint64_t memoryTotal = 0, memoryUsed = 0;
  unsigned utilization = 0;
  int answer = 0;  // if not 0, every call on this GPU returns it
  int samplesAnswer = 0;
  int registerAnswer = 0;
  unsigned rowsPending = 0;
  unsigned processCount = 0;
  FakeGpuProcess processes[256];
};
struct FakeNvmlState {
  int initAnswer = 0;
  int countAnswer = 0;
  char driver[32] = "570.86.15";
  unsigned gpuCount = 0;
  FakeGpu gpus[8];
  // Errors to report, in this order.
  unsigned faultCount = 0;
  struct {
    unsigned gpu;
    std::uint64_t xid;
  } faults[16] = {};
  int open = 0;  // inits minus shutdowns
};

class FakeNvml {
 public:
  FakeNvml();
  ~FakeNvml();
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  FakeNvmlState& state() { return *state_; }
  const std::string& path() const { return path_; }
  // "GPU-0", an H200 with 100 GB on bus 3b; further GPUs have the next numbers.
  FakeGpu& addGpu();

 private:
  std::string path_;
  void* library_;
  FakeNvmlState* state_;
};

}  // namespace koord::koordlet
