#include "manager/webhook/webhook_settings.h"

#include <fmt/format.h>

#include <charconv>

namespace koord::manager {

std::string WebhookSettings::listenAddress() const {
  if (host == "localhost" || host.starts_with("127.")) return fmt::format("{}:{}", host, port);
  if (host == "::1") return fmt::format("[::1]:{}", port);
  return fmt::format(":{}", port);
}

Result<WebhookSettings> webhookSettings(
    const std::function<std::optional<std::string>(const char* name)>& getenv) {
  WebhookSettings settings;
  const auto take = [&](const char* name, std::string& into) {
    if (auto value = getenv(name); value && !value->empty()) into = *std::move(value);
  };
  std::string port;
  take("WEBHOOK_PORT", port);
  if (!port.empty()) {
    const auto [end, error] =
        std::from_chars(port.data(), port.data() + port.size(), settings.port);
    if (error != std::errc{} || end != port.data() + port.size())
      return fail(ErrorCode::Invalid,
                  fmt::format("WEBHOOK_PORT: \"{}\" is not a port number", port));
  }
  take("WEBHOOK_CERT_DIR", settings.certDir);
  take("WEBHOOK_HOST", settings.host);
  take("POD_NAMESPACE", settings.podNamespace);
  take("SECRET_NAME", settings.secretName);
  take("SERVICE_NAME", settings.serviceName);
  take("MUTATING_WEBHOOK_NAME", settings.mutatingName);
  take("VALIDATING_WEBHOOK_NAME", settings.validatingName);
  take("WEBHOOK_CONFIGURATION_FAILURE_POLICY_PODS", settings.podFailurePolicy);
  if (!settings.podFailurePolicy.empty() && settings.podFailurePolicy != "Fail" &&
      settings.podFailurePolicy != "Ignore")
    return fail(
        ErrorCode::Invalid,
        fmt::format("WEBHOOK_CONFIGURATION_FAILURE_POLICY_PODS: \"{}\" is neither Fail nor Ignore",
                    settings.podFailurePolicy));
  std::string writer = settings.host.empty() ? "secret" : "fs";
  take("WEBHOOK_CERT_WRITER", writer);
  if (writer != "secret" && writer != "fs")
    return fail(ErrorCode::Invalid,
                fmt::format("WEBHOOK_CERT_WRITER: \"{}\" is neither secret nor fs", writer));
  settings.certsInFolder = writer == "fs";
  return settings;
}

}  // namespace koord::manager
