#include "koordlet/states/pod_fallback.h"

#include <gmock/gmock.h>

#include "apiserver/embedded_cluster.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using testing::UnorderedElementsAre;

struct Kubelet final : PodSource {
  bool answers = false;
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node&) override {
    if (!answers) co_return fail(ErrorCode::Forbidden, "nodes/proxy");
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.uid = "of kubelet";
    co_return std::vector<std::shared_ptr<const api::Pod>>{std::move(pod)};
  }
};

class PodFallbackTest : public testing::Test {
 protected:
  PodFallbackTest() {
    node_.metadata.name = "n1";
    auto kubelet = std::make_unique<Kubelet>();
    kubelet_ = kubelet.get();
    source_.emplace(std::move(kubelet), cluster_, loop_, Random(1));
    addPod("here", "n1", "{}");
    addPod("elsewhere", "n2", "{}");
    addPod("mirror", "n1",
           R"({"kubernetes.io/config.hash":"of the file","kubernetes.io/config.mirror":"x"})");
  }
  void addPod(const std::string& name, const std::string& node, const std::string& annotations) {
    cluster_.put(api::Pod::kType, R"({"metadata":{"name":")" + name +
                                      R"(","namespace":"default","annotations":)" + annotations +
                                      R"(},"spec":{"nodeName":")" + node +
                                      R"(","containers":[{"name":"main","image":"x"}]}})");
  }
  static Task<void> store(PodSource* source, const api::Node* node,
                          std::optional<std::vector<std::string>>* uids) {
    auto listing = source->list(*node);
    const auto pods = co_await listing;
    uids->reset();
    if (!pods) co_return;
    uids->emplace();
    for (const auto& pod : *pods) (*uids)->push_back(pod->metadata.uid);
  }
  // nullopt: the list failed.
  std::optional<std::vector<std::string>> list() {
    std::optional<std::vector<std::string>> uids;
    TaskGroup tasks;
    tasks.spawn(store(&*source_, &node_, &uids));
    loop_.advance(1s);
    return uids;
  }
  std::string uidOf(const std::string& name) {
    return std::string(textAt(*cluster_.get(api::Pod::kType, name, "default"), "metadata", "uid"));
  }

  VirtualLoop loop_;
  apiserver::EmbeddedCluster cluster_{loop_};
  api::Node node_;
  Kubelet* kubelet_ = nullptr;
  std::optional<PodFallback> source_;
};

TEST_F(PodFallbackTest, PodsComeFromTheApiServerWhenKubeletFailsForLong) {
  for (int i = 0; i < PodFallback::kPatience; ++i) EXPECT_FALSE(list());
  EXPECT_THAT(*list(), UnorderedElementsAre(uidOf("here"), "of the file"));
  addPod("later", "n1", "{}");
  EXPECT_THAT(*list(), UnorderedElementsAre(uidOf("here"), uidOf("later"), "of the file"));
}

TEST_F(PodFallbackTest, KubeletIsBelievedAsSoonAsItAnswers) {
  for (int i = 0; i <= PodFallback::kPatience; ++i) list();
  kubelet_->answers = true;
  EXPECT_THAT(*list(), UnorderedElementsAre("of kubelet"));
  kubelet_->answers = false;
  EXPECT_FALSE(list());  // which may be a restart
}

}  // namespace
}  // namespace koord::koordlet
