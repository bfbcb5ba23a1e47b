#pragma once

// A stand-in for libcndev.so and libdcmi.so: a shared library of its own that is opened as the real ones
// are, with devices that a test makes up.
//
//   FakeAccelerators fake;
//   fake.state().count = 2;        // the library reads this at every call
//   machine.cndev = {fake.path()};
//
// The state is of the process, and a process that is forked has it as it was; one test uses it at a time.

#include <array>
#include <cstdint>
#include <string>

namespace koord::devicedaemon {

struct FakeAccelerator {
  std::array<char, 37> uuid{};
  std::array<char, 32> type{"Ascend"}, name{"910B3"};
  std::int64_t memory = 65'536, ddr = 0;  // MiB
  unsigned cores = 20, aiCpus = 7;
  unsigned bus = 0;
  int health = 0;  // as the library says it
  int answer = 0;  // of the first call about it
};
struct FakeAcceleratorState {
  int initAnswer = 0;
  bool crashes = false, hangs = false;
  int calls = 0;  // of init
  int count = 0;
  int chipsPerCard = 1;
  std::array<FakeAccelerator, 16> devices;
};

class FakeAccelerators {
 public:
  FakeAccelerators();
  ~FakeAccelerators();
  FakeAccelerators(const FakeAccelerators&) = delete;
  FakeAccelerators& operator=(const FakeAccelerators&) = delete;

  FakeAcceleratorState& state() { return *state_; }
  const std::string& path() const { return path_; }
  FakeAccelerator& add(const char* uuid = "");

 private:
  std::string path_;
  void* library_;
  FakeAcceleratorState* state_;
};

}  // namespace koord::devicedaemon
