#pragma once

// The webhook server's address and the storage of its certificates, from the environment.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace koord::manager {

struct WebhookSettings {
  std::uint16_t port = 9876;
  std::string certDir = "/tmp/koordinator-webhook-certs";
  std::string host;  // if set, the server is outside the cluster and called by URL
  std::string podNamespace = "koordinator-system";
  std::string secretName = "koordinator-webhook-certs";
  std::string serviceName = "koordinator-webhook-service";
  std::string mutatingName = "koordinator-mutating-webhook-configuration";
  std::string validatingName = "koordinator-validating-webhook-configuration";
  bool certsInFolder = false;  // otherwise in the Secret
  std::string
      podFailurePolicy;  // Fail or Ignore for the pod webhooks; "" = as in the configuration

  // The host name that clients verify the server's certificate for.
  std::string certHost() const {
    return host.empty() ? serviceName + "." + podNamespace + ".svc" : host;
  }
  // Loopback stays loopback; anything else is served on every address.
  std::string listenAddress() const;
};

// getenv(name) returns nullopt for an unset variable.
Result<WebhookSettings> webhookSettings(
    const std::function<std::optional<std::string>(const char* name)>& getenv);

}  // namespace koord::manager
