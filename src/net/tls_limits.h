#pragma once

// The TLS versions and cipher suites of a server, with the names of Go's crypto/tls, which the
// flags --tls-min-version and --tls-cipher-suites of Kubernetes components take.

#include <string>
#include <vector>

#include "base/result.h"

namespace koord::net {

struct TlsLimits {
  // VersionTLS10 to VersionTLS13; "" = VersionTLS12. Versions below 1.2 are never used, even if
  // configured.
  std::string minVersion;
  // For TLS 1.2, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"; empty = OpenSSL's choice. Those of TLS
  // 1.3 are always enabled.
  std::vector<std::string> cipherSuites;
};

// The error names the unknown value.
Result<> checkTlsLimits(const TlsLimits& limits);

// For OpenSSL. Names must have been checked.
struct OpensslLimits {
  int minVersion = 0;   // TLS1_2_VERSION or TLS1_3_VERSION
  std::string ciphers;  // for TLS 1.2, "A:B"; "" = its own choice
};
OpensslLimits opensslLimits(const TlsLimits& limits);

}  // namespace koord::net
