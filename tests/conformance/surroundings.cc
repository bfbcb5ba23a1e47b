// What a bare kube-apiserver lacks for scenarios: the controllers and simulated nodes of koordctl up, on a server
// that is reached through a kubeconfig. With it, `koordctl test DIR --kubeconfig FILE` holds any scheduler against the
// scenarios. It reads the CustomResourceDefinitions once, at its start.

#include "api/core.h"
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
    std::vector<std::string> warnings;
    for (const auto& crd : crds->at("items").as_array()) {
      auto resource = apiserver::resourceOfCrd(crd, warnings);
      if (resource) registry_.put(*std::move(resource));
    }
    simNodes_.start();
    controllers_.start();
    nodes_.start();
    pods_.start();
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
