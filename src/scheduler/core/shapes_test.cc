// The work that is skipped for pods of one template (engine/pod_shapes.h), in a whole scheduler.

#include <gtest/gtest.h>

#include <set>

#include "scheduler/core/scheduler_fixture.h"
#include "scheduler/framework/handle.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {
namespace {

using testing::aNode;
using testing::aPod;
using testing::PodBuilder;

constexpr const char* kMark = "mark";

// A ledger of marks of running pods, read from an annotation.
class PodMarks final : public LedgerOf<std::string> {
 public:
  std::string_view name() const override { return "marks"; }
  bool hasNothingToRead(const PodInfo& pod) const override {
    return !api::findIn(pod.pod->metadata.annotations, kMark);
  }
  int reads = 0;
  std::multiset<std::string> marks;

 private:
  std::optional<std::string> readValue(const PodInfo& pod, NodeId, const std::string*) override {
    ++reads;
    const std::string* mark = api::findIn(pod.pod->metadata.annotations, kMark);
    return mark ? std::optional(*mark) : std::nullopt;
  }
  void addValue(NodeId, const PodInfo&, const std::string& mark) override { marks.insert(mark); }
  void removeValue(NodeId, const PodInfo&, const std::string& mark) override {
    marks.erase(marks.find(mark));
  }
  std::string verifyValues(NodeId, Held) const override { return ""; }
};

// Has something to do for pods with its annotation, and counts its calls.
class Choosy final : public Plugin,
                     public PreFilterPlugin,
                     public ReservePlugin,
                     public PermitPlugin {
 public:
  static constexpr std::string_view kName = "Choosy";
  explicit Choosy(Handle& handle) {
    handle.cluster().addLedger(marks);
    handle.knownPods().listen([this](const PodPtr&, const PodPtr&) { ++heard; }, wanted);
  }
  std::string_view name() const override { return kName; }
  static bool wanted(const PodInfo& pod) { return pod.pod->metadata.labels.contains("choosy"); }
  PluginPoints skippedPoints(const PodInfo& pod) const override {
    return wanted(pod) ? 0 : when::kPreFilter | when::kReserve | when::kPermit;
  }
  PreFilterResult preFilter(CycleState&, const PodInfo&) override {
    ++asked;
    return {Status::skip(), {}};
  }
  Status reserve(CycleState&, const PodPtr&, NodeId) override {
    ++asked;
    return {};
  }
  PermitResult permit(CycleState&, const PodPtr&, NodeId) override {
    ++asked;
    return {};
  }

  PodMarks marks;
  int asked = 0;
  int heard = 0;
};

struct Shapes : testing::SchedulerFixture {
  Choosy* choosy = nullptr;
  Shapes() {
    registry[std::string(Choosy::kName)] = [this](Fields&, Handle& handle) {
      auto plugin = std::make_unique<Choosy>(handle);
      choosy = plugin.get();
      return plugin;
    };
    configuration_.profiles.front().plugins["multiPoint"].enabled.push_back(
        {std::string(Choosy::kName), 0});
    SchedulerFixture::create();
    scheduler->start();
    node(aNode("n1").allocatable("cpu", "64").allocatable("pods", "110"));
  }
  using SchedulerFixture::create;
  void placeTen(const std::string& prefix, const std::function<void(PodBuilder&)>& also) {
    for (int n = 0; n < 10; ++n) {
      PodBuilder pod = aPod(prefix + std::to_string(n)).request("cpu", "1");
      also(pod);
      create(pod);
      run(std::chrono::seconds(1));
      EXPECT_EQ(nodeOf(prefix + std::to_string(n)), "n1");
    }
  }
};

TEST(Shapes, a_plugin_is_asked_about_the_first_pod_of_a_template_that_it_has_nothing_to_do_for) {
  Shapes f;
  f.placeTen("plain-", [](PodBuilder&) {});
  EXPECT_EQ(f.choosy->asked, 3);
  f.placeTen("choosy-", [](PodBuilder& pod) { pod.label("choosy", "yes"); });
  EXPECT_EQ(f.choosy->asked, 33);
}

TEST(Shapes, a_listener_hears_of_templates_that_it_heeds_and_of_a_pod_that_changes_to_one) {
  Shapes f;
  f.placeTen("plain-", [](PodBuilder&) {});
  const int before = f.choosy->heard;
  EXPECT_LE(before, 2);
  f.placeTen("choosy-", [](PodBuilder& pod) { pod.label("choosy", "yes"); });
  EXPECT_GE(f.choosy->heard, before + 20) << "each as it came and as it was bound";
  const int then = f.choosy->heard;
  api::Pod changed = *f.pods.at("plain-3");
  changed.metadata.labels["choosy"] = "now";
  changed.metadata.resourceVersion = "77";
  f.replace(std::make_shared<const api::Pod>(std::move(changed)));
  f.run();
  EXPECT_EQ(f.choosy->heard, then + 1);
}

TEST(Shapes, a_ledger_does_not_read_pods_again_that_say_nothing_to_it) {
  Shapes f;
  f.placeTen("plain-", [](PodBuilder&) {});
  EXPECT_LE(f.choosy->marks.reads, 1);
  f.placeTen("marked-", [](PodBuilder& pod) { pod.object().metadata.annotations[kMark] = "m"; });
  EXPECT_EQ(f.choosy->marks.marks.size(), 10U);
  // A pod that gets an annotation and loses it again.
  for (const bool marked : {true, false}) {
    api::Pod changed = *f.pods.at("plain-5");
    changed.metadata.annotations.clear();
    if (marked) changed.metadata.annotations[kMark] = "late";
    changed.metadata.resourceVersion += "7";
    f.replace(std::make_shared<const api::Pod>(std::move(changed)));
    f.run();
    EXPECT_EQ(f.choosy->marks.marks.count("late"), marked ? 1U : 0U);
  }
}

}  // namespace
}  // namespace koord::scheduler
