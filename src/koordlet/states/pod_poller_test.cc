#include "koordlet/states/pod_poller.h"

#include <gmock/gmock.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

struct KubeletsPods final : PodSource {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    co_return pods;
  }
};

class PodPollerTest : public testing::Test {
 protected:
  PodPollerTest() {
    states_.setNode(std::make_shared<const api::Node>(
        *api::decodeText<api::Node>(R"({"metadata":{"name":"n"}})")));
  }
  void list(const std::string& uid, const std::string& source) {
    source_.pods.push_back(std::make_shared<const api::Pod>(
        *api::decodeText<api::Pod>(R"({"metadata":{"name":"p","uid":")" + uid +
                                   R"(","annotations":{"kubernetes.io/config.source":")" + source +
                                   R"("}},"status":{"phase":"Running","qosClass":"Burstable"}})")));
  }

  VirtualLoop loop_;
  FakeHost files_{CgroupVersion::V1, {}};
  Host host_ = *Host::detect(files_.dirs());
  States states_;
  KubeletsPods source_;
  PodPoller poller_{loop_, host_, states_, source_, 10s};
};

TEST_F(PodPollerTest, AKubeletThatKnowsStaticPodsOnlyIsNotBelievedWhileOthersRun) {
  files_.addPod(KubeQos::Burstable, "static", {});
  files_.addPod(KubeQos::Burstable, "pinned", {});
  list("static", "file");
  list("pinned", "api");
  poller_.start();
  loop_.advance(1s);
  ASSERT_EQ(states_.pods().size(), 2U);
  // Kubelet starts again, and the API server is away.
  source_.pods.pop_back();
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 2U);
  EXPECT_THAT(poller_.lastError(), testing::HasSubstr("static pods only"));
  // Its cgroup is gone: there is no other pod.
  files_.removePod(KubeQos::Burstable, "pinned");
  loop_.advance(60s);
  EXPECT_EQ(states_.pods().size(), 1U);
  EXPECT_EQ(poller_.lastError(), "");
}

}  // namespace
}  // namespace koord::koordlet
