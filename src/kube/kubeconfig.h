#pragma once

// How to reach an API server and as whom: from kubeconfig files, or from inside a pod.

#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "net/http_types.h"

namespace koord::net {
class HttpClient;
}

namespace koord::kube {

// Gives the bearer token for the next request: fixed, from a file that is read again as it changes
// (service accounts), or from an exec credential plugin (run without a shell, cached until it expires).
class TokenSource {
 public:
  virtual ~TokenSource() = default;
  virtual Task<Result<std::string>> token(Executor& executor) = 0;
  // The server refused the token (401): do not give the same again from a cache.
  virtual void refused() = 0;
};

struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
};

struct ClientConfig {
  std::string server;  // "https://127.0.0.1:6443", without a slash at the end
  std::shared_ptr<const net::TlsConfig> tls;
  std::shared_ptr<TokenSource> token;  // null = none
  std::string basicUser;               // with basicPassword; "" = none
  std::string basicPassword;
  std::string proxyUrl;
  Impersonation impersonate;
  std::string defaultNamespace;  // of the context; "default" when it names none
};

struct ConfigSource {
  std::string kubeconfig;  // a path; "" = $KUBECONFIG (a list), then in-cluster, then ~/.kube/config
  std::string context;     // "" = current-context
  std::string server;      // overrides the address (--master)
};

// Errors name the file, the field and what to do.
Result<ClientConfig> loadClientConfig(const ConfigSource& source);

// From the files that Kubernetes mounts into every pod; root is "/" except in tests.
Result<ClientConfig> inClusterConfig(const std::string& root = "/");

}  // namespace koord::kube
