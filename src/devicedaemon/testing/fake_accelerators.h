#pragma once

// A fake of libcndev.so and libdcmi.so: a shared library that is opened like the real ones, with
// devices that a test defines.
//
//   FakeAccelerators fake;
//   fake.state().count = 2;        // the library reads this at every call
//   machine.cndev = {fake.path()};
//
// The state is global to the process, and a forked process has a copy of it. One test uses it at a
// time.

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
  int health = 0;  // as the library reports it
  int answer = 0;  // result of the first call about it
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
