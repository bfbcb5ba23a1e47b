#pragma once

// The HTTPS endpoint of a component, with the flags of every Kubernetes component: a given or
// self-signed certificate, and a guard for authentication and authorization (request_guard.h). The
// authorities of clients and front proxies come from flags or from the cluster.

#include <array>
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

// An annotation of the leader's lease: its serving certificate in PEM. A reader of the lease that
// trusts its writers can verify a self-signed certificate with it.
inline constexpr const char* kServingCertificate = "koordinator.sh/serving-certificate";
// A DNS name in self-signed certificates.
inline constexpr const char* kServingName = "localhost";

struct SecureServingOptions {
  std::string program;      // "koord-scheduler": the subject of a self-signed certificate
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
  // The API server of the component reviews tokens and rights, and no kubeconfig says another one.
  bool reviewsOfComponent = false;
  // As in net::ServerOptions: what clients cost before it is known who they are.
  std::size_t maxConnections = net::ServerOptions().maxConnections;
  std::size_t maxBodyBytes = net::ServerOptions().maxBodyBytes;
  GuardOptions guard;
};

// --bind-address, --secure-port, certificates and TLS; in the current group.
void addSecureServingFlags(flags::FlagSet& set, SecureServingOptions& options);
// Flags for authentication and authorization, in their own group.
void addAccessFlags(flags::FlagSet& set, SecureServingOptions& options);

class SecureServing {
 public:
  // An error names the flag with the unusable value. The component and everything that the handler
  // uses must outlive it.
  static Result<std::unique_ptr<SecureServing>> start(Component& component,
                                                      SecureServingOptions options,
                                                      net::HttpServer::Handler handler);
  static Result<std::unique_ptr<SecureServing>> start(Component& component,
                                                      SecureServingOptions options,
                                                      RequestGuard::CallerHandler handler);
  // Reads changed files that flags name; runs once a minute on its own. The certificate with its
  // key and each authority are independent: an unusable file leaves the previous content in force.
  // The error names all unusable files.
  Result<> readFilesAgain();
  std::string address() const { return server_->address(); }
  const std::string& certificate() const { return tls_.certPem; }  // the current certificate

 private:
  SecureServing(Component& component, SecureServingOptions options)
      : component_(component), options_(std::move(options)) {}

  struct TrustSource {
    bool clients;
    bool proxies;
  };
  // The authorities of clients with certificates.
  struct Trust {
    std::string clientsPem;
    std::string proxiesPem;
    RequestHeaderOptions proxies;
  };
  // around: puts the guard in front of the handler.
  using Around = std::function<net::HttpServer::Handler(RequestGuard& guard)>;
  static Result<std::unique_ptr<SecureServing>> startWith(Component& component,
                                                          SecureServingOptions options,
                                                          const Around& around);
  Result<> begin(const Around& around);
  // An authority whose file a flag names.
  struct Authority {
    const char* flag;
    std::string SecureServingOptions::* file;
    std::string Trust::* pem;
  };
  static const std::array<Authority, 2> kAuthorities;
  Result<> readAuthority(const Authority& authority, Trust& trust) const;
  Result<> readCertificateAgain();
  Result<> readAuthorityAgain(const Authority& authority);
  // Applies both: to the server, if it has started, and to the guard. An error changes nothing.
  Result<> take(net::ServerTls tls, Trust trust);
  Task<void> watchFiles();
  Result<> makeGuard();
  Task<void> watchTrust(TrustSource followed, bool tolerant);
  Result<> applyTrust(const api::StringMap& configMap, TrustSource followed);

  Component& component_;
  SecureServingOptions options_;
  std::unique_ptr<Api> authentication_;  // null: tokens cannot be checked
  std::unique_ptr<Api> authorization_;
  std::optional<RequestGuard> guard_;
  Trust trust_;         // in force
  net::ServerTls tls_;  // in force
  std::unique_ptr<net::HttpServer> server_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
