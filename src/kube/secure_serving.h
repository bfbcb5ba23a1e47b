#pragma once

// The HTTPS endpoint of a component, with the flags of every Kubernetes component: a certificate that is given, or
// made; and a guard that asks who a client is and what it may (request_guard.h). Which authorities vouch for
// clients and front proxies the cluster says, unless flags do.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flags/flag_set.h"
#include "kube/component.h"
#include "kube/request_guard.h"
#include "net/http_server.h"
#include "net/serving.h"

namespace koord::kube {

// An annotation of the leader's lease: the certificate that it serves with, in PEM. Who may read the lease and trusts
// who may write it can so verify a certificate that nobody has signed.
inline constexpr const char* kServingCertificate = "koordinator.sh/serving-certificate";
// A name that certificates have that were made at start.
inline constexpr const char* kServingName = "localhost";

struct SecureServingOptions {
  std::string program;      // "koord-scheduler": whom the certificate that is made names
  std::string certificate;  // "kube-scheduler": name of its files in certDir
  std::string bindAddress = net::runsInPod() ? "0.0.0.0" : "127.0.0.1";
  int port = 0;  // 0 = off
  std::string certDir;
  std::string tlsCertFile;
  std::string tlsKeyFile;
  net::TlsLimits tlsLimits;
  std::string clientCaFile;
  std::string requestHeaderCaFile;
  RequestHeaderOptions requestHeaders;
  std::string authenticationKubeconfig;
  bool authenticationSkipLookup = false;
  bool authenticationTolerateLookupFailure = true;
  std::string authorizationKubeconfig;
  GuardOptions guard;
};

// --bind-address, --secure-port, certificates and TLS; in the current group.
void addSecureServingFlags(flags::FlagSet& set, SecureServingOptions& options);
// Who may ask; in a group of its own.
void addAccessFlags(flags::FlagSet& set, SecureServingOptions& options);

class SecureServing {
 public:
  // What cannot be used is an error that names the flag. The component and what the handler refers to must outlive
  // it.
  static Result<std::unique_ptr<SecureServing>> start(Component& component,
                                                      SecureServingOptions options,
                                                      net::HttpServer::Handler handler);
  // Takes what has changed in the files that flags name; by itself once a minute. What cannot be used leaves what was
  // good in force.
  Result<> readFilesAgain();
  std::string address() const { return server_->address(); }
  const std::string& certificate() const { return tls_.certPem; }  // of now

 private:
  SecureServing(Component& component, SecureServingOptions options)
      : component_(component), options_(std::move(options)) {}

  struct Followed {
    bool clients;
    bool proxies;
  };
  // Of those who come with certificates.
  struct Trust {
    std::string clientsPem;
    std::string proxiesPem;
    RequestHeaderOptions proxies;
  };
  Result<> begin(net::HttpServer::Handler handler);
  Result<> readAuthorities();
  bool hasCertificateFiles() const;
  Result<> takeChange(const net::ServerTls& tlsBefore, const Trust& trustBefore);
  Task<void> followFiles();
  Result<> makeGuard();
  Result<> applyTrust();
  Task<void> followTrust(Followed followed, bool tolerant);
  Result<> takeTrust(const api::StringMap& configMap, Followed followed);

  Component& component_;
  SecureServingOptions options_;
  std::unique_ptr<Api> authentication_;  // null: there is nobody to ask
  std::unique_ptr<Api> authorization_;
  std::optional<RequestGuard> guard_;
  Trust trust_;
  net::ServerTls tls_;  // in force
  std::unique_ptr<net::HttpServer> server_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
