#include "koordlet/agent/doctor_cluster.h"

#include "koordlet/agent/agent_testing.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

struct AskedKubelet final : KubeletConfigSource {
  Result<json::value> answer = parseJson(
      R"({"kubeletconfig":{"cpuManagerPolicy":"static","topologyManagerPolicy":"none"}})");
  Task<Result<json::value>> config(const api::Node&) override { co_return answer; }
};

class DoctorTest : public testing::Test {
 protected:
  DoctorTest() {
    api_.answer = [this](const kube::Request& request) { return answer(request); };
  }
  Result<std::string> answer(const kube::Request& request) {
    if (std::ranges::find(denied_, request.resource) != denied_.end())
      return fail(ErrorCode::Forbidden, request.resource + " is forbidden");
    if (request.resource == "pods") return std::string(R"({"items":[{"metadata":{"name":"a"}}]})");
    return std::string(R"({"metadata":{"name":"n1"}})");
  }
  static Task<void> store(DoctorSources sources, std::vector<Finding>* findings) {
    auto asking = examineCluster(sources, "n1");
    *findings = co_await asking;
  }
  // "ok ..." or "off ..."
  std::vector<std::string> said() {
    std::vector<Finding> findings;
    TaskGroup tasks;
    tasks.spawn(store({&api_, &pods_, &config_}, &findings));
    loop_.advance(1s);
    std::vector<std::string> lines;
    for (const auto& finding : findings)
      lines.push_back((finding.passed ? "ok " : "off ") + finding.text);
    return lines;
  }

  VirtualLoop loop_;
  kube::FakeApi api_{loop_};
  std::vector<std::string> denied_;
  FakePods pods_;
  AskedKubelet config_;
};

TEST_F(DoctorTest, WhoAnswersIsFine) {
  EXPECT_THAT(said(),
              ElementsAre("ok Node n1 exists", "ok kubelet lists 0 pods",
                          "ok kubelet's configuration: CPU manager static, topology manager none",
                          "ok NodeSLO n1 has the strategies"));
}

TEST_F(DoctorTest, OfARefusalItSaysWhatIsDoneInstead) {
  pods_.unreachable = true;
  config_.answer = fail(ErrorCode::Forbidden, "GET /configz: status 403");
  denied_ = {"nodeslos"};
  EXPECT_THAT(said(),
              ElementsAre("ok Node n1 exists",
                          HasSubstr("off kubelet does not list its pods, so koordlet watches them "
                                    "at the API server (1 now), with a delay: connection"),
                          HasSubstr("off kubelet does not serve its configuration"),
                          HasSubstr("off no strategy applies without a NodeSLO")));
  denied_ = {"pods"};
  EXPECT_THAT(said()[1], HasSubstr("off neither kubelet nor the API server lists the node's pods"));
}

TEST_F(DoctorTest, WithoutItsNodeNothingElseIsAsked) {
  denied_ = {"nodes"};
  EXPECT_THAT(said(), ElementsAre(HasSubstr("off Node n1 cannot be read (NODE_NAME names it)")));
}

}  // namespace
}  // namespace koord::koordlet
