#pragma once

// A cluster's entries in the kubeconfig of its user: a cluster, a user and a context, all of the
// cluster's name, and current-context. Everything else in the file stays, but comments do not, as
// with 'kubectl config'. The file is locked as client-go locks it, by FILE.lock.

#include <string>

#include "base/result.h"

namespace koord::cluster {

// The first file of $KUBECONFIG, else ~/.kube/config.
std::string userKubeconfig();

class MergedKubeconfig {
 public:
  // Adds the entries of `kubeconfig`, which has one cluster, user and context. Creates the file if
  // there is none. AlreadyExists if the file has entries of that name that koordctl did not write;
  // Conflict if they are of a cluster that runs on another data folder. Errors name the file.
  static Result<MergedKubeconfig> add(const std::string& file, const std::string& kubeconfig,
                                      const std::string& name, const std::string& dataDir);

  // Removes them, unless another cluster has replaced them. The current context is again the one
  // before, if it still names this cluster.
  Result<> remove() const;
  const std::string& file() const { return file_; }

 private:
  MergedKubeconfig(std::string file, std::string name, std::string dataDir)
      : file_(std::move(file)), name_(std::move(name)), dataDir_(std::move(dataDir)) {}

  std::string file_;
  std::string name_;
  std::string dataDir_;
};

// Removes the entries of a cluster whose koordctl could not, because it was killed.
Result<> removeMerged(const std::string& file, const std::string& name);

}  // namespace koord::cluster
