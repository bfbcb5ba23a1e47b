#include "koordctl/common/cluster_flags.h"

namespace koord::koordctl {

void addClusterFlags(flags::FlagSet& set, ClusterFlags& flags) {
  set.text("kubeconfig", flags.kubeconfig,
           "kubeconfig; default: $KUBECONFIG, the one of 'koordctl up', ~/.kube/config");
  set.text("scheduler", flags.scheduler,
           "Address of koord-scheduler, for its explanations, as https://127.0.0.1:10259; default: "
           "that of 'koordctl up'");
  set.text("manager", flags.manager,
           "Address of koord-manager, for its explanations; default: that of 'koordctl up'");
}

}  // namespace koord::koordctl
