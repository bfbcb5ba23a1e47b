#include "night_shift.h"

#include <gmock/gmock.h>

#include "apiserver/embedded_cluster.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/plugins/registry.h"

namespace koord::descheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

constexpr const char* kConfiguration = R"(
apiVersion: descheduler/v1alpha2
kind: DeschedulerConfiguration
profiles:
- name: test
  plugins:
    evict: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}
    filter: {disabled: [{name: '*'}], enabled: [{name: DefaultEvictor}]}
    deschedule: {enabled: [{name: NightShift}]}
  pluginConfig:
  - name: NightShift
    args: {longest: 1h}
)";

// The embedded API server on virtual time, and the descheduler with one more plugin.
class NightShiftTest : public testing::Test {
 protected:
  NightShiftTest() : cluster_(loop_) {
    registry_.emplace(NightShift::kName, NightShift::kind());
    std::vector<std::string> errors;
    auto prepared = prepare(readConfiguration(kConfiguration, errors), registry_, errors);
    EXPECT_THAT(errors, IsEmpty());
    descheduler_.emplace(cluster_, loop_, Random(1), Descheduler::Options{std::move(prepared)},
                         registry_, metrics_);
    descheduler_->start();
    loop_.advance(1s);
    for (const char* node : {"a", "b"})  // with fewer than two nodes nothing is evicted
      cluster_.put(api::Node::kType,
                   R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": ")" +
                       std::string(node) + R"("}})");
  }
  ~NightShiftTest() override {
    descheduler_.reset();
    loop_.runReady();
  }
  void pod(const std::string& name, const std::string& labels) {
    cluster_.put(api::Pod::kType,
                 R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default",
        "name": ")" + name +
                     R"(", "labels": {)" + labels + R"(}, "ownerReferences": [{"apiVersion":
        "apps/v1", "kind": "ReplicaSet", "name": "set", "uid": "set", "controller": true}]},
        "spec": {"nodeName": "a", "containers": [{"name": "main", "image": "web:1"}]},
        "status": {"phase": "Running"}})");
  }
  // Runs one cycle; returns the pods that were evicted.
  std::vector<std::string> cycle() {
    loop_.advance(1s);  // the watches bring what was put
    const std::size_t before = cluster_.writes.size();
    std::optional<Result<>> done;
    TaskGroup tasks;
    tasks.spawn(run(&done));
    EXPECT_TRUE(loop_.advanceUntil([&] { return done.has_value(); }, 10s));
    std::vector<std::string> evicted;
    for (std::size_t i = before; i < cluster_.writes.size(); ++i)
      if (cluster_.writes[i].subresource == "eviction") evicted.push_back(cluster_.writes[i].name);
    return evicted;
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_;
  Registry registry_ = makeRegistry();
  Metrics metrics_;
  std::optional<Descheduler> descheduler_;

 private:
  Task<void> run(std::optional<Result<>>* done) {
    auto cycling = descheduler_->cycle();
    *done = co_await cycling;
  }
};

TEST_F(NightShiftTest, OldTestEnvironmentsAreEvicted) {
  pod("test", R"("example.com/test-environment": "yes")");
  pod("web", "");
  EXPECT_THAT(cycle(), IsEmpty());
  loop_.advance(2h);
  EXPECT_THAT(cycle(), ElementsAre("test"));
}

TEST_F(NightShiftTest, ArgumentsThatMakeNoSenseAreRefused) {
  std::vector<std::string> errors;
  const auto document = parseJson(R"({"longest": "0s"})");
  Fields fields(&*document, "args", errors);
  NightShiftArgs::read(fields);
  EXPECT_THAT(errors, ElementsAre("args.longest: must be above 0"));
}

}  // namespace
}  // namespace koord::descheduler
