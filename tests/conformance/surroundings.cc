// What a bare kube-apiserver lacks for scenarios: the controllers and simulated nodes of koordctl
// up, on a server that is reached through a kubeconfig. With it, `koordctl test DIR --kubeconfig
// FILE` holds any scheduler against the scenarios. It reads the CustomResourceDefinitions once, at
// its start.

#include <algorithm>

#include "api/core.h"
#include "api/podgroup.h"
#include "apiserver/registry/crd.h"
#include "apiserver/registry/registry.h"
#include "base/log.h"
#include "cluster/controllers/controllers.h"
#include "cluster/simnode/sim_nodes.h"
#include "kube/client.h"
#include "kube/command_line.h"
#include "kube/component.h"
#include "kube/informer.h"

namespace {

using namespace koord;
using namespace std::chrono_literals;

constexpr const char* kPodGroupProtection = "scheduling.k8s.io/podgroup-protection";

const api::ResourceType kCrds{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                              "CustomResourceDefinition", false};

class Surroundings final : public kube::Running {
 public:
  explicit Surroundings(kube::Component& component)
      : component_(component),
        pods_(component.api(), component.executor(), {}, component.random().fork()),
        nodes_(component.api(), component.executor(), {}, component.random().fork()),
        controllers_(component.api(), component.executor(), registry_, pods_, nodes_,
                     component.random().fork()),
        simNodes_(component.api(), component.executor(), nodes_, pods_, component.random().fork()) {
    tasks_.spawn(start());
  }

 private:
  // The garbage collector goes by the registry: it must know the custom kinds before it begins.
  Task<void> start() {
    auto listing = kube::listObjects(component_.api(), kCrds, "", "", "");
    auto crds = co_await listing;
    if (!crds) {
      log::error("list CustomResourceDefinitions: {}", crds.error().message);
      component_.exit(1);
      co_return;
    }
    for (const auto& crd : crds->at("items").as_array()) {
      auto resource = apiserver::resourceOfCrd(crd);
      if (resource) registry_.put(*std::move(resource));
    }
    simNodes_.start();
    controllers_.start();
    nodes_.start();
    pods_.start();
    tasks_.spawn(releasePodGroups());
  }

  bool isNamed(const api::WorkloadPodGroup& group) const {
    return std::ranges::any_of(pods_.objects(), [&](const auto& pod) {
      const auto& named = pod->spec.schedulingGroup;
      return pod->metadata.namespace_ == group.metadata.namespace_ && named &&
             named->podGroupName == group.metadata.name;
    });
  }

  // Kubernetes' own PodGroups, where the server has them, stay until no pod names them.
  // kube-controller-manager sees to that; here they are looked at once a second.
  Task<void> releasePodGroups() {
    for (;;) {
      auto pause = sleepFor(component_.executor(), 1s);
      co_await pause;
      auto listing = kube::list<api::WorkloadPodGroup>(component_.api(), "", "", "");
      const auto groups = co_await listing;
      if (!groups && groups.error().code == ErrorCode::NotFound) co_return;
      if (!groups) continue;
      for (const auto& group : groups->items) {
        if (!group.metadata.deletionTimestamp || isNamed(group)) continue;
        json::array others;
        for (const auto& finalizer : group.metadata.finalizers)
          if (finalizer != kPodGroupProtection) others.push_back(json::string(finalizer));
        if (others.size() == group.metadata.finalizers.size()) continue;
        json::object metadata{{"resourceVersion", group.metadata.resourceVersion},
                              {"finalizers", std::move(others)}};
        json::value patch = json::object{{"metadata", std::move(metadata)}};
        auto patching = kube::mergePatch(component_.api(), api::WorkloadPodGroup::kType,
                                         api::keyOf(group.metadata), std::move(patch));
        const auto patched = co_await patching;
        if (!patched) log::warn("PodGroup {}: {}", group.metadata.name, patched.error().message);
      }
    }
  }

  kube::Component& component_;
  apiserver::Registry registry_;
  kube::Informer<api::Pod> pods_;
  kube::Informer<api::Node> nodes_;
  cluster::Controllers controllers_;
  cluster::SimNodes simNodes_;
  TaskGroup tasks_;
};

}  // namespace

int main(int argc, char** argv) {
  kube::ComponentOptions component;
  component.name = "surroundings";
  kube::CommandLine line({}, component,
                         "Controllers and simulated nodes for a bare kube-apiserver");
  line.flags().text("kubeconfig", component.client.kubeconfig, "of the kube-apiserver");
  if (const auto status = line.parse(argc, argv)) return *status;
  return kube::runComponent(component, [](kube::Component& c) {
    return Result<std::unique_ptr<kube::Running>>(std::make_unique<Surroundings>(c));
  });
}
