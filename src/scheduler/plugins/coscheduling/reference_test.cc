// Compares the plugin with a plain evaluation of the rules, on random sequences of events: groups
// and members are added, changed and removed, nodes are added, running members end, the scheduler
// restarts.
//
// All pods request one CPU, so what fits is a number of free places. After every step, when nothing
// moves, the plain rules say for every gang group whether it may be bound now:
//   - all of its gangs exist and have their minimum of schedulable members;
//   - each lacks a number of places, by its policy; once-satisfied gangs whose group had a member
//     on a node since the group exists lack none;
//   - there are enough free places for all of them.
// A group that may be bound must be bound, and of other groups no member may have been bound in
// that step.

#include "scheduler/plugins/coscheduling/gang_fixture.h"

#include "base/random.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::GangFixture;
using testing::PodBuilder;
using namespace std::chrono_literals;

struct RefGang {
  int minimum = 0;
  std::string policy;  // "" = once-satisfied
  bool pair = false;   // it is bound together with its neighbour
};

class GangWorld {
 public:
  explicit GangWorld(std::uint64_t seed) : random_(seed) {
    f.node(aNode("n0").allocatable("cpu", "6"));
    places_ = 6;
  }

  void step() {
    const std::set<std::string> before = f.placed();
    const std::string did = act();
    // Longer than the longest back-off, for all pods that wait in turn.
    f.run(45s);
    std::set<std::vector<int>> groups;
    for (const auto& [gang, it] : gangs_) groups.insert(groupOf(gang));
    std::erase_if(satisfied_, [&](const auto& group) { return !groups.contains(group); });
    check(before, did);
    for (const auto& [gang, it] : gangs_)
      if (standing(gang, f.placed()).bound > 0) satisfied_.insert(groupOf(gang));
  }

 private:
  static constexpr int kGangs = 6;

  static std::string name(int gang) { return "g" + std::to_string(gang); }
  static int neighbour(int gang) { return gang % 2 == 0 ? gang + 1 : gang - 1; }

  void publish(int gang) {
    const RefGang& it = gangs_.at(gang);
    api::StringMap annotations;
    if (!it.policy.empty()) annotations["gang.scheduling.koordinator.sh/match-policy"] = it.policy;
    if (it.pair)
      annotations["gang.scheduling.koordinator.sh/groups"] =
          "[\"default/" + name(gang) + "\",\"default/" + name(neighbour(gang)) + "\"]";
    f.gang(name(gang), it.minimum, annotations);
  }

  std::string act() {
    const int gang = static_cast<int>(random_.below(kGangs));
    const char* policies[] = {"", "", "only-waiting", "waiting-and-running"};
    switch (random_.below(10)) {
      case 0: {
        RefGang& it = gangs_[gang];
        it.minimum = static_cast<int>(random_.below(5));
        it.policy = policies[random_.below(4)];
        const bool pair = random_.below(3) == 0;
        it.pair = pair;
        if (gangs_.contains(neighbour(gang)) && gangs_[neighbour(gang)].pair != pair) {
          gangs_[neighbour(gang)].pair = pair;
          publish(neighbour(gang));
        }
        publish(gang);
        return "set " + name(gang);
      }
      case 1:
        gangs_.erase(gang);
        f.groups().erase({"default", name(gang)});
        if (gangs_.contains(neighbour(gang)) && gangs_[neighbour(gang)].pair) {
          gangs_[neighbour(gang)].pair = false;
          publish(neighbour(gang));
        }
        return "drop " + name(gang);
      case 2: {
        if (places_ >= 24) return "nothing";
        const int more = 1 + static_cast<int>(random_.below(4));
        places_ += more;
        const std::string node = "n" + std::to_string(++nodes_);
        sizes_[node] = std::to_string(more);
        f.node(aNode(node).allocatable("cpu", sizes_[node]));
        return "add node";
      }
      case 3:
      case 4: {
        if (f.pods.empty()) return "nothing";
        auto it = f.pods.begin();
        std::advance(it, static_cast<std::ptrdiff_t>(random_.below(f.pods.size())));
        const std::string gone = it->first;
        f.remove(gone);
        return "remove " + gone;
      }
      case 5:
        restart();
        return "restart";
      default: {
        const std::string pod = name(gang) + "-" + std::to_string(++podCount_);
        PodBuilder builder = f.member(pod, name(gang));
        if (random_.below(8) == 0) builder.gate("closed");
        f.create(builder);
        return "create " + pod;
      }
    }
  }

  void restart() {
    satisfied_.clear();
    for (const auto& [gang, it] : gangs_)
      if (standing(gang, f.placed()).bound > 0) satisfied_.insert(groupOf(gang));
    f.create();
    f.node(aNode("n0").allocatable("cpu", "6"));
    for (const auto& [node, cpu] : sizes_) f.node(aNode(node).allocatable("cpu", cpu));
    for (const auto& [gang, it] : gangs_) publish(gang);
    for (const auto& [name, pod] : f.pods) f.scheduler->podAdded(pod);
    f.scheduler->start();
  }

  struct Standing {
    int ready = 0, bound = 0, pending = 0;
  };
  Standing standing(int gang, const std::set<std::string>& bound) const {
    Standing result;
    for (const auto& [pod, object] : f.pods) {
      if (!pod.starts_with(name(gang) + "-")) continue;
      const bool has = bound.contains(pod);
      result.bound += has;
      const bool placeable = has || object->spec.schedulingGates.empty();
      result.ready += placeable;
      result.pending += placeable && !has;
    }
    return result;
  }

  std::vector<int> groupOf(int gang) const {
    const auto it = gangs_.find(gang);
    if (it == gangs_.end() || !it->second.pair) return {gang};
    return {std::min(gang, neighbour(gang)), std::max(gang, neighbour(gang))};
  }

  // How many places the gang's group needs at once; -1: it may not be bound.
  int needs(int gang, const std::set<std::string>& bound) const {
    bool satisfied = satisfied_.contains(groupOf(gang));
    for (const int each : groupOf(gang))
      satisfied |= gangs_.contains(each) && standing(each, bound).bound > 0;
    const auto own = gangs_.find(gang);
    if (own == gangs_.end()) return -1;
    if (own->second.policy.empty() && satisfied) return standing(gang, bound).pending > 0 ? 1 : -1;
    int sum = 0;
    for (const int each : groupOf(gang)) {
      const auto it = gangs_.find(each);
      if (it == gangs_.end()) return -1;
      const Standing now = standing(each, bound);
      if (now.ready < it->second.minimum) return -1;
      int counting = 0;
      if (it->second.policy == "waiting-and-running") counting = now.bound;
      if (it->second.policy.empty() && satisfied) counting = it->second.minimum;
      const int missingMembers = std::max(it->second.minimum - counting, 0);
      if (missingMembers > now.pending) return -1;
      sum += missingMembers;
    }
    return standing(gang, bound).pending > 0 ? std::max(sum, 1) : -1;
  }

  void check(const std::set<std::string>& before, const std::string& did) {
    const std::set<std::string> after = f.placed();
    const int room = places_ - static_cast<int>(after.size());
    ASSERT_GE(room, 0);
    std::set<std::string> stayed;
    for (const std::string& pod : after)
      if (before.contains(pod)) stayed.insert(pod);
    for (int gang = 0; gang < kGangs; ++gang) {
      const int now = needs(gang, after);
      EXPECT_FALSE(now >= 0 && now <= room)
          << did << ": " << name(gang) << " could have " << now << " of " << room << " places\n"
          << toJson(*f.ask("gangs")) << ::testing::PrintToString(f.events);
      const Standing was = standing(gang, stayed);
      const Standing is = standing(gang, after);
      if (is.bound > was.bound) {
        EXPECT_GE(needs(gang, stayed), 0) << did << ": " << name(gang) << " was bound too early";
        const auto it = gangs_.find(gang);
        if (it != gangs_.end() && was.bound == 0 && groupOf(gang).size() == 1 &&
            !(it->second.policy.empty() && satisfied_.contains(groupOf(gang)))) {
          EXPECT_GE(is.bound, it->second.minimum) << did << ": " << name(gang);
        }
      }
    }
    f.expectSound();
  }

 public:
  GangFixture f;

 private:
  Random random_;
  std::map<int, RefGang> gangs_;
  std::set<std::vector<int>> satisfied_;  // groups
  std::map<std::string, std::string> sizes_;
  int places_ = 0;
  int nodes_ = 0;
  int podCount_ = 0;
};

class CoschedulingReference : public ::testing::TestWithParam<int> {};

TEST_P(CoschedulingReference, agrees_on_random_sequences_of_events) {
  GangWorld world(static_cast<std::uint64_t>(GetParam()));
  for (int step = 0; step < 60 && !HasFailure(); ++step) world.step();
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoschedulingReference, ::testing::Range(1, 41));

}  // namespace
}  // namespace koord::scheduler
