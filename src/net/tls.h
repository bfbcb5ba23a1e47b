#pragma once

// Certificates and secrets, by OpenSSL: a self-signed authority, server and client certificates
// issued by it (ECDSA P-256, everything as PEM text), expiry, bearer tokens.

#include <string>
#include <string_view>
#include <vector>

#include "base/base64.h"
#include "base/executor.h"
#include "base/result.h"

namespace koord::net {

struct CertKey {
  std::string certPem;
  std::string keyPem;  // PKCS#8, not encrypted
};

// Clocks of two hosts differ a little: set `from` some minutes into the past.
struct Validity {
  WallTime from;
  WallTime to;
};

Result<CertKey> makeAuthority(const std::string& commonName, Validity validity);

struct ServerCertSpec {
  std::string commonName;
  std::vector<std::string> hosts;  // DNS names and IP addresses, distinguished by their form
  Validity validity;
};
Result<CertKey> issueServerCert(const CertKey& authority, const ServerCertSpec& spec);

struct ClientCertSpec {
  std::string commonName;                  // the user, in Kubernetes
  std::vector<std::string> organizations;  // the groups
  Validity validity;
};
Result<CertKey> issueClientCert(const CertKey& authority, const ClientCertSpec& spec);

struct CertInfo {
  std::string commonName;
  std::vector<std::string> organizations;
  std::vector<std::string> hosts;  // DNS names, then IP addresses
  Validity validity;
  bool authority = false;
};
// The first certificate of a PEM text.
Result<CertInfo> readCertificate(std::string_view pem);

// The SHA-256 of every certificate of a PEM text, in hexadecimal digits.
Result<std::vector<std::string>> fingerprintsOf(std::string_view pem);

// Fails if the key does not belong to the certificate; the message says which of the two is wrong.
Result<> checkCertKey(const CertKey& pair);

// Fails if a client that trusts only `authorityPem` (one certificate or several) would not accept
// the certificate for that host (a DNS name or an IP address) at that time.
Result<> checkTrust(std::string_view certPem, std::string_view authorityPem,
                    const std::string& host, WallTime at);

// Hexadecimal text of that many bytes from the operating system's generator. Secrets are the only
// random values without a seed.
std::string randomToken(std::size_t bytes = 32);

// Takes the same time for every position of the difference; it does not hide the lengths.
bool equalConstantTime(std::string_view a, std::string_view b);

using koord::base64Decode;
using koord::base64Encode;

}  // namespace koord::net
