#pragma once

// Which cluster a koordctl command talks to: --kubeconfig, else $KUBECONFIG, else that of 'koordctl
// up' on its default data folder, else wherever kubectl would look. What goes wrong then names the
// file, and says so when the file is one of 'koordctl up' and that does not run any more.

#include <string>
#include <vector>

#include "kube/kubeconfig.h"

namespace koord::koordctl {

struct KubeconfigChoice {
  std::string flag;                // for ConfigSource: "" when kubectl's rules find the files
  std::vector<std::string> files;  // that are read, as far as known
};

// `flag` as given, "" for none. Reads the environment.
KubeconfigChoice chooseKubeconfig(const std::string& flag);
// The same with what it reads handed in: $KUBECONFIG and the kubeconfig of 'koordctl up', each ""
// when there is none.
KubeconfigChoice chooseKubeconfig(const std::string& flag, const std::string& environment,
                                  const std::string& own);

Result<kube::ClientConfig> loadChoice(const KubeconfigChoice& choice);

// What went wrong on the way to the cluster, with the file it comes from.
Error explainFailure(const KubeconfigChoice& choice, Error error);

}  // namespace koord::koordctl
