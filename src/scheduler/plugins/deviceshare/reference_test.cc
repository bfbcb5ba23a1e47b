// Compares the plugin's incremental state with a plain evaluation: nodes of a few GPUs without
// topology, pods that are added, seen and removed, a reservation, Devices that change and
// disappear.

#include <gtest/gtest.h>

#include <random>

#include "scheduler/plugins/deviceshare/device_world.h"

namespace koord::scheduler {
namespace {

using testing::DeviceMachine;
using testing::DeviceWorld;
using testing::gpuPod;
using testing::PodBuilder;

// The used percent of each GPU, and the pods that use it.
struct PlainGpuNode {
  bool listed = false;  // has had a Device
  std::map<int, bool> healthy;
  std::map<std::string, std::map<int, std::int64_t>> pods;
  std::int64_t used(int minor) const {
    std::int64_t sum = 0;
    for (const auto& [name, devices] : pods)
      if (const auto it = devices.find(minor); it != devices.end()) sum += it->second;
    return sum;
  }
  bool known() const { return listed || !pods.empty(); }
  // "" or the reason.
  std::string judge(int count, std::int64_t each) const {
    if (!known()) return "";
    bool any = !healthy.empty();
    for (const auto& [name, devices] : pods) any |= !devices.empty();
    if (!any) return "UnschedulableAndUnresolvable: Insufficient gpu devices";
    int fitting = 0;
    for (const auto& [minor, good] : healthy)
      fitting += good && 100 - used(minor) >= each && used(minor) <= 100 ? 1 : 0;
    return fitting >= count ? "" : "Unschedulable: Insufficient gpu devices";
  }
};

struct DevicePlay {
  explicit DevicePlay(std::uint64_t seed) : random(seed) {
    for (const auto& name : names) {
      f.node(name);
      relist(name);
    }
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  const std::string& anyNode() { return names[static_cast<std::size_t>(pick(0, 2))]; }

  void relist(const std::string& name) {
    DeviceMachine machine;
    PlainGpuNode& node = nodes[name];
    node.healthy.clear();
    for (int minor = 0; minor < 4; ++minor) {
      if (pick(0, 9) == 0) continue;
      machine.gpu(minor, 0, "a");
      auto& info = machine.device.spec.devices.back();
      info.topology.reset();
      info.health = pick(0, 5) != 0;
      node.healthy[minor] = info.health;
    }
    node.listed = true;
    f.set(name, machine);
  }
  void vanish(const std::string& name) {
    f.erase(name);
    nodes[name].healthy.clear();
  }
  static PodBuilder podOf(const std::string& name, int count, std::int64_t each) {
    if (each == 100) return gpuPod(name, "nvidia.com/gpu", std::to_string(count));
    return gpuPod(name, "koordinator.sh/gpu", std::to_string(each));
  }
  void come() {
    const bool whole = pick(0, 1) == 0;
    const int count = whole ? pick(1, 3) : 1;
    const std::int64_t each = whole ? 100 : 10 * pick(1, 9);
    const std::string name = "p" + std::to_string(next++);
    const std::string node = anyNode();
    const std::string expected = nodes[node].judge(count, each);
    const std::string outcome = f.schedule(podOf(name, count, each), node);
    if (!expected.empty()) {
      ASSERT_NE(outcome.find("Insufficient"), std::string::npos) << outcome;
      return;
    }
    ASSERT_EQ(outcome.substr(0, node.size()), node) << outcome;
    const DeviceGrant* grant = DeviceTable::of(f.world).grantOf("uid-default-" + name);
    if (!nodes[node].known()) {
      ASSERT_EQ(grant, nullptr);
      where[name] = node;
      return;
    }
    ASSERT_NE(grant, nullptr);
    ASSERT_EQ(grant->given[0].size(), static_cast<std::size_t>(count));
    for (const AllocatedDevice& device : grant->given[0]) {
      ASSERT_TRUE(nodes[node].healthy.at(device.minor));
      nodes[node].pods[name][device.minor] += each;
      ASSERT_LE(nodes[node].used(device.minor), 100);
    }
    where[name] = node;
  }
  void go() {
    if (where.empty()) return;
    const auto it = std::next(where.begin(), pick(0, static_cast<int>(where.size()) - 1));
    f.end(it->first);
    nodes[it->second].pods.erase(it->first);
    where.erase(it);
  }
  void compare(int step) {
    const bool whole = pick(0, 1) == 0;
    const int count = whole ? pick(1, 3) : 1;
    const std::int64_t each = whole ? 100 : 10 * pick(1, 9);
    for (const auto& name : names) {
      ASSERT_EQ(f.answer(podOf("asking", count, each), name), nodes[name].judge(count, each))
          << step << " " << name << " " << count << " x " << each;
      ASSERT_EQ(f.cluster().verifyNode(f.id(name)), "") << step;
    }
  }

  std::mt19937_64 random;
  const std::vector<std::string> names{"a", "b", "c"};
  DeviceWorld f;
  std::map<std::string, PlainGpuNode> nodes;
  std::map<std::string, std::string> where;
  int next = 0;
};

TEST(DeviceShareReference, agrees_after_any_sequence_of_events) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    DevicePlay play(seed);
    for (int step = 0; step < 200; ++step) {
      switch (play.pick(0, 9)) {
        case 0:
        case 1:
        case 2:
        case 3:
          play.come();
          break;
        case 4:
        case 5:
        case 6:
          play.go();
          break;
        case 7:
        case 8:
          play.relist(play.anyNode());
          break;
        default:
          if (play.pick(0, 2) == 0) play.vanish(play.anyNode());
      }
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
      play.compare(step);
      if (::testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << step;
    }
  }
}

// Owners of a reservation and other pods, compared with sums: no pod gets more than there is, and
// only owners get reserved devices.
TEST(DeviceShareReference, reserved_devices_are_never_given_to_others) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    DeviceWorld f;
    f.machine("n");
    auto reservation =
        testing::aReservation("r").request("nvidia.com/gpu", "3").owner("app", "web");
    reservation.object().metadata.annotations[std::string(model::kAnnotationDeviceAllocated)] =
        R"({"gpu":[{"minor":1,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}},)"
        R"({"minor":2,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}},)"
        R"({"minor":6,"resources":{"koordinator.sh/gpu-core":"100","koordinator.sh/gpu-memory-ratio":"100"}}]})";
    f.set(reservation.on("n"));
    std::map<std::string, bool> pods;  // whether an owner
    int next = 0;
    for (int step = 0; step < 150; ++step) {
      if (pick(0, 2) > 0 || pods.empty()) {
        const bool owner = pick(0, 1) == 0;
        const std::string name = "p" + std::to_string(next++);
        PodBuilder pod = gpuPod(name, "nvidia.com/gpu", std::to_string(pick(1, 3)));
        if (owner) pod.label("app", "web");
        if (f.schedule(pod).substr(0, 2) == "n ") pods[name] = owner;
      } else {
        const auto it = std::next(pods.begin(), pick(0, static_cast<int>(pods.size()) - 1));
        f.end(it->first);
        pods.erase(it);
      }
      std::map<int, int> holders;
      for (const auto& [name, owner] : pods) {
        const DeviceGrant* grant = DeviceTable::of(f.world).grantOf("uid-default-" + name);
        ASSERT_NE(grant, nullptr);
        for (const AllocatedDevice& device : grant->given[0]) {
          ASSERT_EQ(++holders[device.minor], 1) << "seed " << seed << " step " << step;
          const bool reserved = device.minor == 1 || device.minor == 2 || device.minor == 6;
          ASSERT_TRUE(owner || !reserved) << "seed " << seed << " step " << step;
        }
      }
      f.expectSound();
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
