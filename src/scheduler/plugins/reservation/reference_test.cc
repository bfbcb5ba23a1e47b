// Compares the plugin with a plain evaluation of the rules, written from the rules alone: random
// nodes, reservations, owners and pods that are added, changed and removed must give the same
// nodes, reservations, reasons and sums.

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <set>

#include "scheduler/plugins/reservation/fixture.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::aReservation;
using testing::PodBuilder;
using testing::ReservationBuilder;
using testing::ReservationWorld;

struct Amounts {
  std::int64_t cpu = 0;     // cores
  std::int64_t memory = 0;  // GiB
};

struct PlainReservation {
  std::string name, node, app, tier, policy;
  Amounts room;
  std::int64_t order = 0;
  bool once = false, closed = false, tainted = false, over = false;
};

struct PlainPod {
  std::string name, app, node, reservation;
  Amounts wants;
  bool required = false, ignores = false, tolerates = false;
  std::string wantedName, wantedTier;
};

struct PlainNode {
  Amounts room;
  std::int64_t pods = 0;
};

// The state of the cluster.
struct PlainReservations {
  std::map<std::string, PlainNode> nodes;
  std::map<std::string, PlainReservation> reservations;  // by name
  std::map<std::string, PlainPod> pods;                  // on nodes, by name

  std::vector<const PlainPod*> ownersOf(const PlainReservation& reservation) const {
    std::vector<const PlainPod*> owners;
    for (const auto& [name, pod] : pods)
      if (pod.reservation == reservation.name && pod.node == reservation.node)
        owners.push_back(&pod);
    return owners;
  }
  Amounts usedOf(const PlainReservation& reservation) const {
    Amounts used;
    for (const PlainPod* owner : ownersOf(reservation)) {
      used.cpu += owner->wants.cpu;
      used.memory += owner->wants.memory;
    }
    return used;
  }
  // The larger of what is reserved and what owners use, plus all other pods.
  Amounts takenOn(const std::string& node) const {
    Amounts taken;
    for (const auto& [name, pod] : pods) {
      if (pod.node != node) continue;
      const auto own = reservations.find(pod.reservation);
      if (own != reservations.end() && !own->second.over && own->second.node == node) continue;
      taken.cpu += pod.wants.cpu;
      taken.memory += pod.wants.memory;
    }
    for (const auto& [name, reservation] : reservations) {
      if (reservation.node != node || reservation.over) continue;
      const Amounts used = usedOf(reservation);
      taken.cpu += std::max(reservation.room.cpu, used.cpu);
      taken.memory += std::max(reservation.room.memory, used.memory);
    }
    return taken;
  }
  std::int64_t podsOn(const std::string& node) const {
    std::int64_t count = 0;
    for (const auto& [name, pod] : pods) count += pod.node == node;
    for (const auto& [name, reservation] : reservations)
      count += reservation.node == node && !reservation.over;
    return count;
  }
  bool matches(const PlainPod& pod, const PlainReservation& reservation) const {
    if (reservation.over || (reservation.once && !ownersOf(reservation).empty())) return false;
    if (pod.ignores) return true;
    if (pod.app != reservation.app) return false;
    if (!pod.wantedName.empty()) return pod.wantedName == reservation.name;
    if (reservation.closed) return false;
    if (pod.required && reservation.tainted && !pod.tolerates) return false;
    return pod.wantedTier.empty() || pod.wantedTier == reservation.tier;
  }
  std::vector<const PlainReservation*> matchedOn(const PlainPod& pod,
                                                 const std::string& node) const {
    std::vector<const PlainReservation*> matched;
    for (const auto& [name, reservation] : reservations)
      if (reservation.node == node && matches(pod, reservation)) matched.push_back(&reservation);
    return matched;
  }
  // With this reservation, or with the node alone.
  bool fitsNode(const PlainPod& pod, const std::string& node, const PlainReservation* with) const {
    Amounts taken = takenOn(node);
    if (with) {
      const Amounts used = usedOf(*with);
      taken.cpu -= std::max<std::int64_t>(with->room.cpu - used.cpu, 0);
      taken.memory -= std::max<std::int64_t>(with->room.memory - used.memory, 0);
    }
    const PlainNode& there = nodes.at(node);
    const auto matched = static_cast<std::int64_t>(matchedOn(pod, node).size());
    return podsOn(node) - matched + 1 <= there.pods &&
           (pod.wants.cpu == 0 || taken.cpu + pod.wants.cpu <= there.room.cpu) &&
           (pod.wants.memory == 0 || taken.memory + pod.wants.memory <= there.room.memory);
  }
  bool takes(const PlainPod& pod, const PlainReservation& reservation) const {
    if (!pod.required) {
      const bool concerns = (pod.wants.cpu > 0 && reservation.room.cpu > 0) ||
                            (pod.wants.memory > 0 && reservation.room.memory > 0);
      if (!concerns) return false;
    }
    if (!fitsNode(pod, reservation.node, &reservation)) return false;
    if (reservation.policy != "Restricted") return true;
    const Amounts used = usedOf(reservation);
    const auto has = [](std::int64_t wants, std::int64_t room, std::int64_t taken) {
      return room == 0 || wants == 0 || wants <= room - taken;
    };
    return has(pod.wants.cpu, reservation.room.cpu, used.cpu) &&
           has(pod.wants.memory, reservation.room.memory, used.memory);
  }
  bool feasible(const PlainPod& pod, const std::string& node) const {
    const auto matched = matchedOn(pod, node);
    if (pod.required && matched.empty()) return false;
    if (pod.ignores) {
      PlainReservations without = *this;
      for (const PlainReservation* reservation : matched) {
        for (auto& [name, other] : without.pods)
          if (other.reservation == reservation->name) other.reservation.clear();
        without.reservations.erase(reservation->name);
      }
      return without.fitsNode(pod, node, nullptr);
    }
    if (std::ranges::any_of(matched, [&](const auto* one) { return takes(pod, *one); }))
      return true;
    if (pod.required) return false;
    // A pod that the node would take with some reservation, but the reservation would not.
    const bool anyByNode = std::ranges::any_of(matched, [&](const auto* one) {
      const bool concerns = (pod.wants.cpu > 0 && one->room.cpu > 0) ||
                            (pod.wants.memory > 0 && one->room.memory > 0);
      return concerns && !fitsNode(pod, node, one);
    });
    return !anyByNode && fitsNode(pod, node, nullptr);
  }
  // The reservations that may be chosen: those of the lowest order, else the fullest.
  std::set<std::string> choices(const PlainPod& pod, const std::string& node) const {
    const auto matched = matchedOn(pod, node);
    if (pod.ignores || matched.empty()) return {};
    if (pod.required && matched.size() == 1) return {matched.front()->name};
    std::vector<const PlainReservation*> fitting;
    for (const auto* one : matched)
      if (takes(pod, *one)) fitting.push_back(one);
    std::set<std::string> best;
    std::int64_t lowest = INT64_MAX;
    for (const auto* one : fitting)
      if (one->order != 0) lowest = std::min(lowest, one->order);
    std::int64_t fullest = -1;
    for (const auto* one : fitting) {
      if (lowest != INT64_MAX) {
        if (one->order == lowest) best.insert(one->name);
        continue;
      }
      const std::int64_t score = fullness(pod, *one);
      if (score > fullest) best.clear();
      if (score >= fullest) best.insert(one->name);
      fullest = std::max(fullest, score);
    }
    return best;
  }
  std::int64_t fullness(const PlainPod& pod, const PlainReservation& reservation) const {
    const Amounts used = usedOf(reservation);
    std::int64_t sum = 0, count = 0;
    const auto add = [&](std::int64_t wants, std::int64_t room) {
      if (room == 0) return;
      ++count;
      if (wants <= room) sum += 100 * wants / room;
    };
    add(pod.wants.cpu + used.cpu, reservation.room.cpu);
    add(pod.wants.memory + used.memory, reservation.room.memory);
    return count == 0 ? 0 : sum / count;
  }
};

class RandomWorld {
 public:
  explicit RandomWorld(std::uint64_t seed)
      : random_(seed), real_(makeRegistry(), testing::kWithReservations, seed) {
    for (int n = 0; n < 3; ++n) {
      const std::string name = "n" + std::to_string(n);
      PlainNode& node = plain_.nodes[name];
      node = {{8 + below(24), 16 + below(48)}, 3 + below(12)};
      real_.world.node(aNode(name)
                           .allocatable("cpu", std::to_string(node.room.cpu))
                           .allocatable("memory", std::to_string(node.room.memory) + "Gi")
                           .allocatable("pods", std::to_string(node.pods)));
    }
  }
  void step(int n) {
    const double dice = random_.unit();
    if (dice < 0.2) return setReservation(n);
    if (dice < 0.25) return endReservation();
    if (dice < 0.4) return removePod();
    if (dice < 0.45) return whatIf();
    tryPod(n);
  }
  void check() {
    for (const auto& [name, node] : plain_.nodes) {
      const Amounts taken = plain_.takenOn(name);
      ASSERT_EQ(real_.used(name), 1000 * taken.cpu) << name;
      ASSERT_EQ(real_.used(name, kMemory), taken.memory << 30) << name;
      ASSERT_EQ(real_.cluster().podCount()[real_.id(name)], plain_.podsOn(name)) << name;
    }
    real_.expectSound();
  }

 private:
  std::int64_t below(std::uint64_t limit) {
    return static_cast<std::int64_t>(random_.below(limit));
  }
  std::string one(std::initializer_list<const char*> texts) {
    return texts.begin()[random_.below(texts.size())];
  }
  ReservationBuilder built(const PlainReservation& plain, int version) {
    ReservationBuilder builder = aReservation(plain.name);
    builder.owner("app", plain.app).policy(plain.policy).label("tier", plain.tier).on(plain.node);
    if (plain.room.cpu > 0) builder.request("cpu", std::to_string(plain.room.cpu));
    if (plain.room.memory > 0) builder.request("memory", std::to_string(plain.room.memory) + "Gi");
    if (plain.order != 0)
      builder.label(std::string(model::kLabelReservationOrder), std::to_string(plain.order));
    if (plain.once) builder.once();
    if (plain.tainted) builder.taint("t");
    builder.object().spec.unschedulable = plain.closed;
    return builder.version(std::to_string(version));
  }
  void setReservation(int n) {
    PlainReservation plain;
    plain.name = "r" + std::to_string(below(8));
    if (const auto known = plain_.reservations.find(plain.name);
        known != plain_.reservations.end()) {
      if (known->second.over) return;
      plain = known->second;  // the changeable fields of a placed reservation
      plain.closed = random_.chance(0.3);
      plain.tainted = random_.chance(0.3);
      plain.order = below(4);
    } else {
      plain.node = "n" + std::to_string(below(3));
      plain.room = {below(6), below(10)};
      const Amounts taken = plain_.takenOn(plain.node);
      const PlainNode& node = plain_.nodes.at(plain.node);
      if (taken.cpu + plain.room.cpu > node.room.cpu ||
          taken.memory + plain.room.memory > node.room.memory)
        return;
      plain.app = one({"a", "b"});
      plain.tier = one({"x", "y"});
      plain.policy = one({"Aligned", "Restricted", ""});
      plain.order = random_.chance(0.3) ? below(4) : 0;
      plain.once = random_.chance(0.2);
    }
    plain_.reservations[plain.name] = plain;
    real_.set(built(plain, n));
  }
  void endReservation() {
    if (plain_.reservations.empty()) return;
    const auto it = std::next(plain_.reservations.begin(), below(plain_.reservations.size()));
    if (random_.chance(0.5)) {
      it->second.over = true;
      real_.set(built(it->second, 1000).phase("Failed"));
      return;
    }
    real_.erase(it->first);
    // Its owners keep its name, without effect.
    for (auto& [name, pod] : plain_.pods)
      if (pod.reservation == it->first) pod.reservation.clear();
    for (const auto& [name, pod] : std::map(plain_.pods)) {
      // A later reservation of that name has the same uid here, which cannot happen in a cluster.
      if (!pod.reservation.empty() || real_.plugin->reservationOf(uidOf(name)).empty()) continue;
      real_.cluster().removePod(uidOf(name));
      plain_.pods.erase(name);
    }
    plain_.reservations.erase(it);
  }
  static std::string uidOf(const std::string& pod) { return "uid-default-" + pod; }
  void removePod() {
    if (plain_.pods.empty()) return;
    const auto it = std::next(plain_.pods.begin(), below(plain_.pods.size()));
    real_.cluster().removePod(uidOf(it->first));
    plain_.pods.erase(it);
  }
  void whatIf() {
    Cluster::Transaction whatIf(real_.cluster());
    for (const auto& [name, pod] : plain_.pods)
      if (random_.chance(0.5)) real_.cluster().removePod(uidOf(name));
    for (const auto& [name, reservation] : plain_.reservations)
      if (random_.chance(0.3)) real_.cluster().removePod("uid-" + name);
    real_.expectSound();
  }
  PlainPod somePod(int n) {
    PlainPod pod;
    pod.name = "p" + std::to_string(n);
    pod.app = one({"a", "b", "c"});
    pod.wants = {below(6), below(8)};
    if (random_.chance(0.1)) pod.ignores = true;
    if (!pod.ignores && random_.chance(0.4)) {
      pod.required = true;
      if (random_.chance(0.3)) pod.wantedName = "r" + std::to_string(below(8));
      if (random_.chance(0.3)) pod.wantedTier = one({"x", "y"});
      pod.tolerates = random_.chance(0.5);
    }
    return pod;
  }
  PodBuilder builderOf(const PlainPod& pod) {
    PodBuilder builder = aPod(pod.name).label("app", pod.app);
    if (pod.wants.cpu > 0) builder.request("cpu", std::to_string(pod.wants.cpu));
    if (pod.wants.memory > 0) builder.request("memory", std::to_string(pod.wants.memory) + "Gi");
    if (pod.ignores) builder.label(std::string(model::kLabelReservationIgnored), "true");
    if (!pod.required) return builder;
    json::object reservationRequest;
    if (!pod.wantedName.empty()) reservationRequest["name"] = pod.wantedName;
    if (!pod.wantedTier.empty())
      reservationRequest["reservationSelector"] = json::object{{"tier", pod.wantedTier}};
    if (pod.tolerates)
      reservationRequest["tolerations"] =
          json::array{json::object{{"key", "t"}, {"operator", "Exists"}}};
    return testing::requesting(builder, toJson(reservationRequest));
  }
  void tryPod(int n) {
    PlainPod pod = somePod(n);
    const PodBuilder builder = builderOf(pod);
    std::set<std::string> expected;
    for (const auto& [name, node] : plain_.nodes)
      if (plain_.feasible(pod, name)) expected.insert(name);
    const PodPtr info = real_.world.pod(builder);
    CycleState state;
    const SearchResult found = real_.world.search().find(state, info);
    ASSERT_EQ(found.status.ok() ? found.feasible : 0, expected.size())
        << pod.name << " " << found.diagnosis.message() << found.status.message();
    if (!found.status.ok()) return;
    pod.node = real_.cluster().node(found.node).name;
    ASSERT_TRUE(expected.contains(pod.node)) << pod.name;
    const std::set<std::string> choices = plain_.choices(pod, pod.node);
    const std::string got = real_.take(state, info, found.node);
    const auto in = got.find(" in ");
    pod.reservation = in == std::string::npos ? "" : got.substr(in + 4);
    if (choices.empty()) {
      ASSERT_EQ(pod.reservation, "") << pod.name;
    } else {
      ASSERT_TRUE(choices.contains(pod.reservation)) << pod.name << " got " << got;
    }
    plain_.pods[pod.name] = pod;
  }

  Random random_;
  PlainReservations plain_;
  ReservationWorld real_;
};

TEST(ReservationReference, plain_rules_and_the_plugin_agree) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    RandomWorld world(seed);
    for (int n = 0; n < 60; ++n) {
      world.step(n);
      world.check();
      if (::testing::Test::HasFailure()) {
        FAIL() << "seed " << seed << " step " << n;
      }
    }
  }
}

}  // namespace
}  // namespace koord::scheduler
