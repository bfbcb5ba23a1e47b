#include "koordlet/testing/nvml/fake_nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

namespace koord::koordlet {

FakeNvml::FakeNvml()
    : path_(std::filesystem::read_symlink("/proc/self/exe").parent_path() /
            "libkoord_fake_nvml.so"),
      library_(::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  auto* state = library_
                    ? reinterpret_cast<FakeNvmlState* (*)()>(::dlsym(library_, "fakeNvmlState"))
                    : nullptr;
  if (!state) {
    fmt::print(stderr, "{} cannot be opened: build koord_fake_nvml\n", path_);
    std::abort();
  }
  state_ = state();
  *state_ = {};
}

FakeNvml::~FakeNvml() {
  ::dlclose(library_);
}

FakeGpu& FakeNvml::addGpu() {
  const unsigned index = state_->gpuCount++;
  FakeGpu& gpu = state_->gpus[index];
  gpu = {};
  fmt::format_to_n(gpu.uuid, sizeof gpu.uuid - 1, "GPU-{}", index);
  fmt::format_to_n(gpu.name, sizeof gpu.name - 1, "NVIDIA H200");
  gpu.minor = index;
  gpu.bus = 0x3b + index;
  gpu.memoryTotal = 100'000'000'000;
  return gpu;
}

}  // namespace koord::koordlet
