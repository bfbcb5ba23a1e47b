#include "net/tls_limits.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <string_view>

namespace koord::net {

namespace {

struct Suite {
  std::string_view name;
  std::string_view openssl;  // "" = of TLS 1.3, or not available
};
constexpr Suite kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", ""},
    {"TLS_AES_256_GCM_SHA384", ""},
    {"TLS_CHACHA20_POLY1305_SHA256", ""},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", ""},
    {"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", ""},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_RC4_128_SHA", ""},
    {"TLS_RSA_WITH_3DES_EDE_CBC_SHA", ""},
    {"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"},
    {"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256"},
    {"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256"},
    {"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"},
    {"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"},
    {"TLS_RSA_WITH_RC4_128_SHA", ""},
};
constexpr std::string_view kVersions[] = {"", "VersionTLS10", "VersionTLS11", "VersionTLS12",
                                          "VersionTLS13"};

}  // namespace

Result<> checkTlsLimits(const TlsLimits& limits) {
  if (std::ranges::find(kVersions, limits.minVersion) == std::end(kVersions))
    return fail(ErrorCode::Invalid,
                fmt::format("unknown tls version \"{}\"; known are "
                            "VersionTLS10, VersionTLS11, VersionTLS12 and VersionTLS13",
                            limits.minVersion));
  for (const auto& name : limits.cipherSuites)
    if (std::ranges::find(kSuites, name, &Suite::name) == std::end(kSuites))
      return fail(ErrorCode::Invalid,
                  fmt::format("Cipher suite {} not supported or doesn't exist", name));
  return {};
}

OpensslLimits opensslLimits(const TlsLimits& limits) {
  OpensslLimits out;
  out.minVersion = limits.minVersion == "VersionTLS13" ? TLS1_3_VERSION : TLS1_2_VERSION;
  for (const auto& name : limits.cipherSuites) {
    const auto suite = std::ranges::find(kSuites, name, &Suite::name);
    if (suite == std::end(kSuites) || suite->openssl.empty()) continue;
    out.ciphers += fmt::format("{}{}", out.ciphers.empty() ? "" : ":", suite->openssl);
  }
  // None of the suites is for TLS 1.2.
  if (!limits.cipherSuites.empty() && out.ciphers.empty()) out.minVersion = TLS1_3_VERSION;
  return out;
}

}  // namespace koord::net
