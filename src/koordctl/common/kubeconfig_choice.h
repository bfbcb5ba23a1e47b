#pragma once

// The cluster of a koordctl command: --kubeconfig, else $KUBECONFIG, else that of 'koordctl up' in
// its default data folder, else that of the only other cluster of this host that has one, else
// kubectl's default. Errors name the file, and say so if it belongs
// to a 'koordctl up' that does not run.

#include <string>
#include <vector>

#include "kube/kubeconfig.h"

namespace koord::koordctl {

struct KubeconfigChoice {
  std::string flag;                // for ConfigSource: "" if kubectl's rules find the files
  std::vector<std::string> files;  // the files that are read, as far as known
};

// `flag` as given, "" for none. Reads the environment.
KubeconfigChoice chooseKubeconfig(const std::string& flag);
// The same with explicit inputs: $KUBECONFIG and the kubeconfig of 'koordctl up', each "" if there
// is none.
KubeconfigChoice chooseKubeconfig(const std::string& flag, const std::string& environment,
                                  const std::string& own);

// The data folders of the 'koordctl up' that the choice leads to: those of its files, and of the
// cluster of this host with the same API server, for a kubeconfig that lies elsewhere.
std::vector<std::string> dataDirsOf(const KubeconfigChoice& choice);

Result<kube::ClientConfig> loadChoice(const KubeconfigChoice& choice);

// Adds the file to an error about reaching the cluster.
Error explainFailure(const KubeconfigChoice& choice, Error error);

}  // namespace koord::koordctl
