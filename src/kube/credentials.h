#pragma once

// The kinds of CredentialSource (kubeconfig.h) that kubeconfig files can configure.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/kubeconfig.h"

namespace koord::kube {

std::shared_ptr<CredentialSource> fixedToken(std::string token);

// Files are read again when they change, and every minute. While a file cannot be read, its last
// content stays in use.
struct CredentialFiles {
  std::string token;  // a path, as are the next members
  std::string cert;   // with key
  std::string key;
  std::string ca;          // certificate authorities to trust; "" = those of `tls`
  std::string fixedToken;  // the token itself, used if there is no token file
};
// Fails if a file cannot be read. Certificates are added to `tls`.
Result<std::shared_ptr<CredentialSource>> credentialsFromFiles(
    CredentialFiles files, std::shared_ptr<const net::TlsConfig> tls);

struct ExecPlugin {
  std::string command;  // looked up in PATH unless it has a slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string apiVersion;   // client.authentication.k8s.io/v1 or v1beta1
  std::string installHint;  // for the user, if the command does not exist
  std::string clusterInfo;  // JSON of spec.cluster, "" = not provided
  bool operator==(const ExecPlugin&) const = default;
};
// The same source for the same plugin and TlsConfig, as long as a client holds it.
std::shared_ptr<CredentialSource> credentialsFromPlugin(ExecPlugin plugin,
                                                        std::shared_ptr<const net::TlsConfig> tls);

// Reads a whole file; the error names it.
Result<std::string> readTextFile(const std::string& path);

}  // namespace koord::kube
