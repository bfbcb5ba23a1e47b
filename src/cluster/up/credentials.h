#pragma once

// The certificate authority of a cluster on this host, its certificates, and kubeconfigs. The
// authority is stored in the data folder, so that a kubeconfig stays valid over restarts; all other
// certificates are issued again each time.

#include <string>
#include <vector>

#include "base/executor.h"
#include "net/http_server.h"
#include "net/signing.h"
#include "net/tls.h"

namespace koord::cluster {

// The user in kubeconfigs that `koordctl up` writes for its user.
inline constexpr const char* kAdminUser = "koordctl-admin";

// A kubeconfig (YAML) of one user of one server.
std::string kubeconfigOf(const std::string& serverUrl, const std::string& caPem,
                         const std::string& user, const net::CertKey& client);

class Credentials {
 public:
  // Reads pki/ca.crt and pki/ca.key below the data folder, or creates them.
  static Result<Credentials> open(const std::string& dataDir, WallTime now);

  // The keys that sign service account tokens, newest first, stored in pki/service-accounts. A new
  // key is created when the newest is kKeyLife old; an old key is deleted when all tokens that it
  // signed have expired.
  static Result<std::vector<net::SigningKey>> signingKeys(const std::string& dataDir, WallTime now);

  const std::string& caPem() const { return authority_.certPem; }
  Result<std::shared_ptr<const net::ServerTls>> server(std::vector<std::string> hosts) const;
  // A client certificate for this user; a certificate of a server with these names and addresses.
  Result<net::CertKey> client(const std::string& user, std::vector<std::string> groups) const;
  Result<net::CertKey> serving(const std::string& name, std::vector<std::string> hosts) const;
  // A kubeconfig (YAML) with a client certificate for this user.
  Result<std::string> kubeconfig(const std::string& serverUrl, const std::string& user,
                                 std::vector<std::string> groups) const;

 private:
  Credentials(net::CertKey authority, WallTime now) : authority_(std::move(authority)), now_(now) {}
  net::Validity validity() const;

  net::CertKey authority_;
  WallTime now_;
};

}  // namespace koord::cluster
