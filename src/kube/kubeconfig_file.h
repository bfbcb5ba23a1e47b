#pragma once

// A kubeconfig file, parsed: names and fields as written; only relative paths are resolved. Several
// files are merged by client-go's rule: the first file that names a cluster, user or context
// defines it.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kube/credentials.h"

namespace koord::kube {

struct KubeCluster {
  std::string where;  // `kubeconfig /path: clusters[0].cluster`, for errors
  std::string server;
  std::string caFile;
  std::string caData;  // base64, as all ...Data
  std::string tlsServerName;
  std::string proxyUrl;
  bool insecureSkipTlsVerify = false;
  bool disableCompression = false;
  std::string execConfig;  // JSON for exec plugins, from the cluster's extensions
};

struct KubeUser {
  std::string where;
  std::string certFile;
  std::string certData;
  std::string keyFile;
  std::string keyData;
  std::string token;
  std::string tokenFile;
  std::string username;
  std::string password;
  Impersonation impersonate;
  std::optional<ExecPlugin> exec;
  bool execWantsCluster = false;
};

struct KubeContext {
  std::string where;
  std::string cluster;
  std::string user;
  std::string namespace_;
};

struct Kubeconfig {
  std::string where;  // the file that sets currentContext
  std::string currentContext;
  std::map<std::string, KubeCluster> clusters;
  std::map<std::string, KubeUser> users;
  std::map<std::string, KubeContext> contexts;

  // Adds entries that are missing here; existing entries stay.
  void mergeFrom(Kubeconfig other);
};

Result<Kubeconfig> parseKubeconfig(const std::string& text, const std::string& path);

}  // namespace koord::kube
