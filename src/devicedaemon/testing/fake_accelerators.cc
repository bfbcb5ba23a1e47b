#include "devicedaemon/testing/fake_accelerators.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace koord::devicedaemon {

FakeAccelerators::FakeAccelerators()
    : path_(std::filesystem::read_symlink("/proc/self/exe").parent_path() /
            "libkoord_fake_accelerators.so"),
      library_(::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  auto* state =
      library_
          ? reinterpret_cast<FakeAcceleratorState* (*)()>(::dlsym(library_, "fakeAcceleratorState"))
          : nullptr;
  if (!state) {
    fmt::print(stderr, "{} cannot be opened: build koord_fake_accelerators\n", path_);
    std::abort();
  }
  state_ = state();
  *state_ = {};
}

FakeAccelerators::~FakeAccelerators() {
  ::dlclose(library_);
}

FakeAccelerator& FakeAccelerators::add(const char* uuid) {
  FakeAccelerator& device = state_->devices[static_cast<std::size_t>(state_->count)];
  device = {};
  std::strncpy(device.uuid.data(), uuid, device.uuid.size() - 1);
  device.bus = 0x3b + static_cast<unsigned>(state_->count++);
  return device;
}

}  // namespace koord::devicedaemon
