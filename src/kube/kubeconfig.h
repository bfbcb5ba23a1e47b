#pragma once

// Address and credentials of an API server, from kubeconfig files or from the files in a pod.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/task.h"
#include "net/http_types.h"

namespace koord::kube {

struct Credentials {
  std::string token;  // bearer token; "" = none
  std::shared_ptr<const net::TlsConfig>
      tls;  // with the client certificate; null = that of the config
};

// Provides the credentials for the next request: fixed, from files that are read again when they
// change (service accounts, rotated certificates), or from an exec credential plugin (run without a
// shell, cached until they expire). Thread-safe.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;
  virtual Task<Result<Credentials>> credentials(Executor& executor) = 0;
  // Called when the server refused the credentials (401): cached credentials are dropped.
  virtual void refused() = 0;
};

struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::string>> extra;
};

struct ClientConfig {
  std::string server;  // "https://127.0.0.1:6443", without a slash at the end
  std::shared_ptr<const net::TlsConfig> tls;
  std::shared_ptr<CredentialSource> credentials;  // null = none but the client certificate in tls
  std::string basicUser;                          // with basicPassword; "" = none
  std::string basicPassword;
  std::string proxyUrl;  // "" = from the environment
  bool gzip = true;      // request compressed answers
  Impersonation impersonate;
  std::string defaultNamespace = "default";  // of the context
};

struct ConfigSource {
  std::string
      kubeconfig;       // a path; "" = $KUBECONFIG (a list), then in-cluster, then ~/.kube/config
  std::string context;  // "" = current-context
  std::string server;   // overrides the address (--master)
};

// The files of a list such as $KUBECONFIG.
std::vector<std::string> kubeconfigFiles(std::string_view list);
// ~/.kube/config; without $HOME .kube/config, as kubectl.
std::string homeKubeconfig();

// Errors name the file, the field and what to do.
Result<ClientConfig> loadClientConfig(const ConfigSource& source);

// From the files that Kubernetes mounts into every pod; root is "/" except in tests.
Result<ClientConfig> inClusterConfig(const std::string& root = "/");

}  // namespace koord::kube
