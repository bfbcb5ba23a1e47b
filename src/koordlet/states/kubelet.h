#pragma once

// The pods of this node, from kubelet's /pods endpoint.

#include <memory>
#include <string>
#include <unordered_map>

#include "api/core.h"
#include "base/task.h"
#include "koordlet/metrics/metrics.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"

namespace koord::koordlet {

// The source of the node's pods. One implementation asks kubelet, tests have others.
class PodSource {
 public:
  virtual ~PodSource() = default;
  // Returns all pods of the node, in any phase. An empty list is valid here.
  virtual Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(
      const api::Node& node) = 0;
};

// Kubelet's reply to GET /configz. NotFound if it does not serve that.
class KubeletConfigSource {
 public:
  virtual ~KubeletConfigSource() = default;
  virtual Task<Result<json::value>> config(const api::Node& node) = 0;
};

struct KubeletOptions {
  std::string addressType = "InternalIP";  // which of the node's addresses
  std::chrono::milliseconds timeout{3000};
  bool insecure = false;  // plain HTTP on the read-only port
  int readOnlyPort = 10255;
  // koordlet's identity for HTTPS: client certificate and token. Kubelet's certificate is not
  // verified, as upstream: in most clusters it is self-signed.
  std::shared_ptr<const net::TlsConfig> tls;            // null = no client certificate
  std::shared_ptr<kube::CredentialSource> credentials;  // null = those of tls alone
};

// Decodes successive PodLists: a pod whose text equals that in the last list reuses the last list's
// object. Drops fields that koordlet does not use, such as environments and affinities.
class PodListDecoder {
 public:
  // Malformed items are skipped and logged.
  Result<std::vector<std::shared_ptr<const api::Pod>>> decode(std::string_view body);

 private:
  struct Known {
    std::size_t size = 0;    // of the text
    std::uint64_t list = 0;  // the number of the last list with it
    std::shared_ptr<const api::Pod> pod;
  };
  std::unordered_map<std::size_t, Known> known_;  // by the hash of the text
  std::uint64_t list_ = 0;
};

class KubeletSource final : public PodSource, public KubeletConfigSource {
 public:
  KubeletSource(Executor& executor, net::HttpClient& client, KubeletOptions options,
                Metrics& metrics);
  Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> list(const api::Node& node) override;
  Task<Result<json::value>> config(const api::Node& node) override;

 private:
  // Returns the body of the reply to GET of a path, "/pods/".
  Task<Result<std::string>> fetch(const api::Node& node, std::string path);
  Task<Result<>> authenticate(net::HttpRequest& request);

  Executor& executor_;
  net::HttpClient& client_;
  KubeletOptions options_;
  Metrics& metrics_;
  std::shared_ptr<const net::TlsConfig> unverified_;  // kept, so that connections are reused
  PodListDecoder decoder_;
};

// "https://10.0.0.7:10250/pods/"; an error names the field that the Node lacks.
Result<std::string> kubeletUrl(const api::Node& node, const KubeletOptions& options,
                               std::string_view path);
}  // namespace koord::koordlet
