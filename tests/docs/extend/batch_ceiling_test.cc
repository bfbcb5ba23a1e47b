#include "batch_ceiling.h"

#include <gtest/gtest.h>

#include "api/codec.h"
#include "base/virtual_loop.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

class BatchCeilingTest : public testing::Test {
 protected:
  // Makes the cgroup on the fake host and the pod that koordlet sees.
  std::string addPod(const std::string& uid, const std::string& qos) {
    const std::string dir = files_.addPod(KubeQos::BestEffort, uid, {});
    files_.setCgroupText(CgroupFile::MemoryHigh, dir, "max\n");
    auto pod = std::make_shared<const api::Pod>(
        *api::decodeText<api::Pod>(R"({"metadata": {"name": "p", "uid": ")" + uid +
                                   R"(", "labels": {"koordinator.sh/qosClass": ")" + qos +
                                   R"("}}, "spec": {"containers": [{"name": "main", "resources": {
          "limits": {"kubernetes.io/batch-memory": "1000"}}}]}, "status": {"phase": "Running"}})"));
    pods_.push_back(viewOf(pod, files_.driver()));
    states_.setPods(pods_);
    return dir;
  }
  std::string high(const std::string& dir) {
    return files_.cgroupText(CgroupFile::MemoryHigh, dir);
  }

  FakeHost files_{CgroupVersion::V2, {}};
  VirtualLoop loop_;
  States states_;
  std::vector<PodView> pods_;
  AuditRing audit_;
  Host host_ = *Host::detect(files_.dirs());
  ResourceExecutor executor_{host_, loop_, {}, audit_};
  BatchCeiling strategy_{states_, executor_, 80};
};

TEST_F(BatchCeilingTest, APodsMemoryHighIsAShareOfItsLimit) {
  const std::string dir = addPod("batch", "BE");
  strategy_.run();
  EXPECT_EQ(high(dir), "800");
  EXPECT_EQ(textAt(strategy_.view(), "reason"), "1 pods have memory.high");
}

TEST_F(BatchCeilingTest, OtherPodsAreUnchanged) {
  const std::string dir = addPod("web", "LS");
  const std::string before = high(dir);
  strategy_.run();
  EXPECT_EQ(high(dir), before);
  EXPECT_EQ(audit_.added(), 0U);
}

TEST_F(BatchCeilingTest, AHostWithoutTheFileIsNotCounted) {
  const std::string dir = addPod("batch", "BE");
  files_.tree().remove("cgroup/" + dir + "/memory.high");
  strategy_.run();
  EXPECT_EQ(textAt(strategy_.view(), "reason"), "0 pods have memory.high");
}

TEST_F(BatchCeilingTest, AValueThatIsThereIsNotWrittenAgain) {
  addPod("batch", "BE");
  strategy_.run();
  strategy_.run();
  EXPECT_EQ(audit_.added(), 1U);
}

}  // namespace
}  // namespace koord::koordlet
