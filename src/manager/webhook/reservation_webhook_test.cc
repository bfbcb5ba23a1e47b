#include "manager/webhook/reservation_webhook.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "api/patch/json_patch.h"
#include "apiserver/embedded_cluster.h"

namespace koord::manager {
namespace {

using namespace std::chrono_literals;

Task<void> keepReply(Task<Verdict> task, std::optional<Verdict>& into) {
  into = co_await task;
}

class ReservationWebhookTest : public testing::Test {
 protected:
  ReservationWebhookTest() {
    cluster_.install(std::filesystem::path(KOORD_DEPLOY) /
                     "crds/config.koordinator.sh_clustercolocationprofiles.yaml");
    cluster_.put(api::PriorityClass::kType, R"({"metadata":{"name":"koord-batch"},"value":5000})");
    cluster_.put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"batch"},"spec":{
        "namespaceSelector":{"matchLabels":{"never":"there"}},
        "selector":{"matchLabels":{"batch":"yes"}},"qosClass":"BE","priorityClassName":"koord-batch",
        "koordinatorPriority":7,"schedulerName":"koord-scheduler","labels":{"a":"b"},
        "patch":{"spec":{"ttl":"1h","template":{"spec":{"containers":[{"name":"main","image":"x"}]}}}}}})");
    profiles_.start();
    loop_.advance(1s);
  }
  Verdict run(std::string_view reservation) {
    api::AdmissionRequest request;
    request.operation = "CREATE";
    request.resource = {"scheduling.koordinator.sh", "v1alpha1", "reservations"};
    request.object = parseJson(reservation).value();
    std::optional<Verdict> verdict;
    tasks_.spawn(keepReply(webhook_.mutate(request), verdict));
    loop_.advanceUntil([&] { return verdict.has_value(); }, 20s);
    return verdict.value_or(refuse(0, "no answer"));
  }
  json::value mutated(std::string_view reservation) {
    const auto verdict = run(reservation);
    EXPECT_TRUE(verdict.allowed) << verdict.message;
    return api::applyJsonPatch(parseJson(reservation).value(), verdict.patch).value();
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  Metrics metrics_;
  TaskGroup tasks_;
  ProfileCache profiles_{cluster_, loop_, Random(1)};
  ReservationWebhook webhook_{profiles_, loop_, metrics_, Random(2)};
};

TEST_F(ReservationWebhookTest, ProfilesGoToTheReservationAndToItsTemplate) {
  EXPECT_EQ(
      mutated(R"({"metadata":{"name":"r","labels":{"batch":"yes"}},"spec":{"template":{"spec":{
                "containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]}}}})"),
      parseJson(R"({"metadata":{"name":"r","labels":{"batch":"yes","a":"b",
                "koordinator.sh/qosClass":"BE","koordinator.sh/priority":"7"}},
                "spec":{"ttl":"1h","template":{"spec":{"schedulerName":"koord-scheduler",
                "priorityClassName":"koord-batch","priority":5000,"preemptionPolicy":"PreemptLowerPriority",
                "containers":[{"name":"main","image":"x","resources":{"requests":{"cpu":"1"}}}]}}}})")
          .value())
      << "containers merge by name, and native resources stay";
}

TEST_F(ReservationWebhookTest, OthersAreLeftAsTheyAre) {
  EXPECT_TRUE(run(R"({"metadata":{"name":"r"},"spec":{"template":{}}})").patch.empty());
  EXPECT_FALSE(run("[]").allowed);
}

TEST_F(ReservationWebhookTest, AMissingPriorityClassMattersToATemplateOnly) {
  cluster_.put(api::ClusterColocationProfile::kType, R"({"metadata":{"name":"broken"},"spec":{
      "selector":{"matchLabels":{"x":"y"}},"qosClass":"LS","priorityClassName":"none"}})");
  loop_.advance(1s);
  EXPECT_EQ(textAt(mutated(R"({"metadata":{"name":"r","labels":{"x":"y"}},"spec":{}})"), "metadata",
                   "labels", "koordinator.sh/qosClass"),
            "LS");
  const auto verdict =
      run(R"({"metadata":{"name":"r","labels":{"x":"y"}},"spec":{"template":{"spec":{}}}})");
  EXPECT_EQ(verdict.code, 500);
  EXPECT_THAT(verdict.message, testing::HasSubstr("PriorityClass none does not exist"));
}

}  // namespace
}  // namespace koord::manager
