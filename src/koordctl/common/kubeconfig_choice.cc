#include "koordctl/common/kubeconfig_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "cluster/up/clusters.h"
#include "cluster/up/components.h"
#include "cluster/up/credentials.h"
#include "cluster/up/data_dir.h"

namespace koord::koordctl {

namespace {

// How to start the cluster of a kubeconfig that 'koordctl up' wrote, or removed when it stopped; ""
// for other files.
std::string howToStart(const std::string& file) {
  const std::string folder = std::filesystem::absolute(file).parent_path().lexically_normal();
  const bool dataDir = ::access((folder + "/lock").c_str(), F_OK) == 0;
  const auto text = readFile(file);
  if (text ? text->find(cluster::kAdminUser) == std::string::npos : !dataDir) return {};
  return dataDir ? cluster::startCommand(folder) : "koordctl up";
}

// The kubeconfig of the default cluster, else of the only other cluster that runs; "" if none does.
std::string ownKubeconfig() {
  std::vector<std::string> files;
  for (const auto& name : cluster::clusterNames()) {
    std::string file = cluster::dataDirOf(name) + "/kubeconfig";
    if (::access(file.c_str(), R_OK) != 0) continue;
    if (name == cluster::kDefaultCluster) return file;
    files.push_back(std::move(file));
  }
  return files.size() == 1 ? files.front() : std::string();
}

}  // namespace

KubeconfigChoice chooseKubeconfig(const std::string& flag) {
  const char* environment = std::getenv("KUBECONFIG");
  return chooseKubeconfig(flag, environment ? environment : "", ownKubeconfig());
}

KubeconfigChoice chooseKubeconfig(const std::string& flag, const std::string& environment,
                                  const std::string& own) {
  if (!flag.empty()) return {flag, {flag}};
  if (!environment.empty()) return {"", kube::kubeconfigFiles(environment)};
  if (!own.empty()) return {own, {own}};
  return {};
}

std::vector<std::string> dataDirsOf(const KubeconfigChoice& choice) {
  std::vector<std::string> folders;
  for (const auto& file : choice.files)
    folders.push_back(std::filesystem::absolute(file).parent_path().lexically_normal());
  const auto config = loadChoice(choice);
  if (!config) return folders;
  for (const auto& name : cluster::clusterNames()) {
    const auto folder = cluster::dataDirOf(name);
    if (cluster::componentUrl(folder, cluster::kServer) == config->server)
      folders.push_back(folder);
  }
  return folders;
}

Result<kube::ClientConfig> loadChoice(const KubeconfigChoice& choice) {
  return kube::loadClientConfig({choice.flag, "", ""});
}

Error explainFailure(const KubeconfigChoice& choice, Error error) {
  if (choice.files.empty()) return error;
  const std::string files = fmt::format("kubeconfig {}", fmt::join(choice.files, ":"));
  const bool unreachable = error.code == ErrorCode::Unavailable &&
                           error.message.find("connect to ") != std::string::npos;
  if (unreachable)
    for (const auto& file : choice.files)
      if (const std::string start = howToStart(file); !start.empty())
        return Error{error.code,
                     fmt::format("{}: its cluster is not running ({}): start it with '{}'", files,
                                 error.message, start)};
  if (error.code == ErrorCode::NotFound && ::access(choice.files.front().c_str(), F_OK) != 0)
    if (const std::string start = howToStart(choice.files.front()); !start.empty())
      error.message += fmt::format(": that cluster was stopped, start it with '{}'", start);
  if (error.message.find(choice.files.front()) != std::string::npos) return error;
  return std::move(error).within(files);
}

}  // namespace koord::koordctl
