#pragma once

// The way to a running component of Koordinator: its address, and for koord-scheduler's secure port
// the credentials of the kubeconfig and the certificate that the leader's lease names.

#include <memory>
#include <optional>
#include <string>

#include "koordctl/common/kubeconfig_choice.h"
#include "kube/identified_transport.h"
#include "net/http_client.h"

namespace koord::koordctl {

// The address as given, else that of the 'koordctl up' that the choice or the data folder leads to.
// The error says which flag gives it; the flag has the component's name without "koord-".
Result<std::string> componentUrlOf(const std::string& component, const std::string& given,
                                   const std::string& dataDir, const KubeconfigChoice& choice);

class SchedulerClient {
 public:
  SchedulerClient(KubeconfigChoice choice, std::string given, std::string dataDir,
                  Executor& executor)
      : choice_(std::move(choice)),
        given_(std::move(given)),
        dataDir_(std::move(dataDir)),
        executor_(executor) {}

  // Finds the address and, for https, the certificate. Call it once, before the other functions.
  Task<Result<>> find();
  const std::string& url() const { return url_; }
  // Sends a request; of other hosts, too. Adds identity and trust for https once find() has them.
  Task<Result<net::HttpResponse>> fetch(net::HttpRequest request);
  net::HttpClient& http() { return http_; }

 private:
  const KubeconfigChoice choice_;
  const std::string given_;
  const std::string dataDir_;
  Executor& executor_;
  std::string url_;
  net::HttpClient http_{{.userAgent = "koordctl"}};
  std::optional<kube::IdentifiedTransport> asMyself_;
  std::shared_ptr<const net::TlsConfig> tls_;  // of the scheduler, if it has a certificate
};

}  // namespace koord::koordctl
