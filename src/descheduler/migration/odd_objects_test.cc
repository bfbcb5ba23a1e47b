#include "descheduler/migration/world_test.h"

// Jobs and Reservations with random handwritten spec and status, in every phase, while the
// controller is killed and restarted: it never crashes, evicts no pod twice, and continues the
// valid jobs.

namespace koord::descheduler {
namespace {

using ::testing::HasSubstr;

// Picks texts at random.
class OddTexts {
 public:
  explicit OddTexts(std::uint64_t seed) : random_(seed) {}

  std::string one(std::initializer_list<const char*> of) {
    return *(of.begin() + random_.below(of.size()));
  }
  bool often() { return random_.below(3) > 0; }
  std::size_t below(std::size_t count) { return random_.below(count); }

  std::string quoted(std::initializer_list<const char*> of) { return "\"" + one(of) + "\""; }
  std::string reference() {
    return fmt::format(R"({{"namespace":{},"name":{},"uid":{}}})", quoted({"default", "", "none"}),
                       quoted({"web-0", "web-1", "", "web-new-1", "x"}),
                       quoted({"", "u", "00000000-0000-4000-8000-000000000000"}));
  }
  std::string jobStatus() {
    std::string conditions;
    for (const char* type :
         {"ReservationCreated", "ReservationScheduled", "Eviction", "PodScheduled",
          "PodBoundReservation", "BoundPodReady", "ReservationBound", "Odd"}) {
      if (often()) continue;
      conditions += fmt::format(
          R"({}{{"type":"{}","status":{},"reason":{},"message":{}}})",
          conditions.empty() ? "" : ",", type, quoted({"True", "False", "Unknown", "odd"}),
          quoted({"", "Evicting", "EvictComplete", "Timeout"}), quoted({"", "m"}));
    }
    std::string text = fmt::format(R"({{"phase":{},"conditions":[{}])",
                                   quoted({"", "Pending", "Running", "Running", "Running",
                                           "Succeeded", "Failed", "Aborted", "Odd"}),
                                   conditions);
    if (often()) text += fmt::format(R"(,"podRef":{})", reference());
    if (often()) text += fmt::format(R"(,"nodeName":{})", quoted({"", "n1", "n2", "gone"}));
    if (often()) text += fmt::format(R"(,"reason":{})", quoted({"", "WaitingForTurn", "Odd"}));
    return text + "}";
  }
  std::string reservationStatus() {
    std::string text =
        fmt::format(R"({{"phase":{},"conditions":[{{"type":{},"status":{},"reason":{}}}])",
                    quoted({"", "Pending", "Available", "Succeeded", "Failed", "Waiting", "Odd"}),
                    quoted({"Scheduled", "Ready", "Odd"}), quoted({"True", "False", ""}),
                    quoted({"Scheduled", "Unschedulable", "Expired", "Succeeded", ""}));
    if (often()) text += fmt::format(R"(,"nodeName":{})", quoted({"", "n1", "n2", "gone"}));
    if (often()) text += fmt::format(R"(,"currentOwners":[{}])", reference());
    return text + "}";
  }
  std::string jobSpec() {
    std::string text = fmt::format(R"({{"podRef":{},"ttl":{},"mode":{})", reference(),
                                   quoted({"5m", "", "-1s", "1ns", "x", "2562047h", "0"}),
                                   quoted({"ReservationFirst", "EvictDirectly", "", "Odd"}));
    if (often()) text += fmt::format(R"(,"paused":{})", one({"true", "false"}));
    if (often())
      text += fmt::format(R"(,"deleteOptions":{})",
                          one({"{}", R"({"gracePeriodSeconds":-1})",
                               R"({"gracePeriodSeconds":9223372036854775807})",
                               R"({"preconditions":{"uid":"no"}})", R"({"dryRun":["All"]})"}));
    if (often())
      text += fmt::format(
          R"(,"reservationOptions":{})",
          one({"{}", R"({"reservationRef":{}})", R"({"reservationRef":{"name":"gone"}})",
               R"({"reservationRef":{"name":"theirs"}})", R"({"template":{}})",
               R"({"template":{"metadata":{"name":"Not A Name"}}})",
               R"({"template":{"metadata":{"name":"theirs"}}})",
               R"({"template":{"spec":{"owners":[{}],"template":{"spec":{}}}}})",
               R"({"template":{"spec":{"ttl":"x","owners":[{"object":{"name":"web-0"}}]}}})",
               R"({"template":{"metadata":{"labels":{"app":"x"}},"spec":{"template":7}}})"}));
    return text + "}";
  }

 private:
  Random random_;
};

template <class T>
Task<void> keepOutcome(Task<Result<T>> task, std::optional<Result<T>>* into) {
  auto result = co_await task;
  *into = std::move(result);
}

// Patches that the API server refuses are ignored.
void tryPatch(MigrationWorld& w, const api::ResourceType& type, const std::string& name,
              const std::string& text, const std::string& subresource) {
  std::optional<Result<json::value>> out;
  TaskGroup tasks;
  tasks.spawn(keepOutcome(
      kube::mergePatch(w.api, type, {"", name}, parseJson(text).value(), subresource), &out));
  w.loop.advanceUntil([&] { return out.has_value(); }, 10s);
}

void tryDelete(MigrationWorld& w, const std::string& reservation) {
  std::optional<Result<>> out;
  TaskGroup tasks;
  tasks.spawn(
      keepOutcome(kube::deleteObject(w.api, api::Reservation::kType, {"", reservation}), &out));
  w.loop.advanceUntil([&] { return out.has_value(); }, 10s);
}

void tryJob(MigrationWorld& w, const std::string& name, const std::string& spec) {
  std::optional<Result<json::value>> out;
  TaskGroup tasks;
  auto object = parseJson(
      fmt::format(R"({{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"PodMigrationJob",)"
                  R"("metadata":{{"name":"{}"}},"spec":{}}})",
                  name, spec));
  tasks.spawn(
      keepOutcome(kube::createObject(w.api, api::PodMigrationJob::kType, {}, *object), &out));
  w.loop.advanceUntil([&] { return out.has_value(); }, 10s);
}

TEST(OddObjects, no_status_and_no_spec_ends_the_controller_or_stops_the_jobs_that_are_right) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    OddTexts odd(seed);
    MigrationWorld w;
    w.args.objectLimiters.clear();
    w.workload("web", 4);
    w.workload("good", 4, "n3");
    w.api.put(api::Reservation::kType,
              R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation",
                  "metadata":{"name":"theirs"},"spec":{"ttl":"24h","owners":[{"object":{"name":"nobody"}}],
                  "template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    w.start();
    for (int i = 0; i < 6; ++i) tryJob(w, fmt::format("odd-{}", i), odd.jobSpec());
    w.move("real", "web-2");
    for (int round = 0; round < 8; ++round) {
      w.run(1s);
      const std::string job = odd.below(4) == 0 ? "real" : fmt::format("odd-{}", odd.below(6));
      tryPatch(w, api::PodMigrationJob::kType, job,
               fmt::format(R"({{"status":{}}})", odd.jobStatus()), "status");
      const auto reservations = w.list(api::Reservation::kType);
      if (!reservations.empty()) {
        const auto& one = reservations[odd.below(reservations.size())];
        const std::string name(textAt(one, "metadata", "name"));
        if (odd.below(4) == 0 && name != "theirs") {
          tryDelete(w, name);
        } else {
          tryPatch(w, api::Reservation::kType, name,
                   fmt::format(R"({{"status":{}}})", odd.reservationStatus()), "status");
        }
      }
      if (odd.below(3) == 0) w.start();
    }
    w.start();
    w.move("right", "good-0");
    w.run(20s);
    EXPECT_THAT(w.stateOf("right"), HasSubstr("Succeeded"));
    EXPECT_TRUE(w.api.get(api::Reservation::kType, "theirs"))
        << "a reservation that the controller has not made stays";
    for (const char* pod : {"web-0", "web-1", "web-2", "good-0"})
      EXPECT_LE(w.evictionsOf(pod), 1) << pod;
  }
}

}  // namespace
}  // namespace koord::descheduler
