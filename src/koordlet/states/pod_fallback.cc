#include "koordlet/states/pod_fallback.h"

#include "base/log.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

constexpr std::string_view kAnnotationConfigHash = "kubernetes.io/config.hash";

// Cgroups of a static pod have the uid that kubelet derives from its file; the API server has a
// mirror pod with another uid.
void nameAsKubelet(api::Pod& pod) {
  const auto& annotations = pod.metadata.annotations;
  const auto* uid = api::findIn(annotations, kAnnotationConfigHash);
  if (uid && api::findIn(annotations, model::kAnnotationMirrorPod)) pod.metadata.uid = *uid;
}

}  // namespace

PodFallback::PodFallback(std::unique_ptr<PodSource> kubelet, kube::Api& api, Executor& executor,
                         Random random)
    : kubelet_(std::move(kubelet)), api_(api), executor_(executor), random_(random.fork()) {}

Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> PodFallback::list(
    const api::Node& node) {
  auto listing = kubelet_->list(node);
  auto pods = co_await listing;
  if (pods) {
    if (watched_) log::info("kubelet lists its pods again");
    watched_.reset();
    failures_ = 0;
    co_return pods;
  }
  if (++failures_ < kPatience) co_return pods;
  if (!watched_) watch(node, pods.error());
  if (!watched_->synced()) co_return pods;
  const auto& objects = watched_->objects();
  co_return std::vector<std::shared_ptr<const api::Pod>>(objects.begin(), objects.end());
}

void PodFallback::watch(const api::Node& node, const Error& why) {
  log::warn("kubelet does not list its pods, so koordlet watches them at the API server: {}",
            why.message);
  watched_ = std::make_unique<kube::Informer<api::Pod>>(
      api_, executor_, kube::WatchScope{"", "", "spec.nodeName=" + node.metadata.name},
      random_.fork());
  watched_->setTransform(nameAsKubelet);
  watched_->start();
}

}  // namespace koord::koordlet
