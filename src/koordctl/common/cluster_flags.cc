#include "koordctl/common/cluster_flags.h"

namespace koord::koordctl {

void addKubeconfigFlag(flags::FlagSet& set, std::string& file) {
  set.text("kubeconfig", file,
           "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
}

void addClusterFlags(flags::FlagSet& set, ClusterFlags& flags) {
  addKubeconfigFlag(set, flags.kubeconfig);
  set.text("scheduler", flags.scheduler,
           "Address of koord-scheduler, for its explanations, as https://127.0.0.1:10259; default: "
           "that of 'koordctl up'");
  set.text("manager", flags.manager,
           "Address of koord-manager, for its explanations; default: that of 'koordctl up'");
}

}  // namespace koord::koordctl
