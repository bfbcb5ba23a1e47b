#include "kube/secure_serving.h"

#include <fmt/format.h>

#include <filesystem>
#include <tuple>

#include "api/core.h"
#include "base/file.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace koord::kube {

namespace {

// A certificate for this run only; clients that care give us a real one.
Result<net::CertKey> selfSigned(WallTime now, const SecureServingOptions& options) {
  const net::Validity validity{now - std::chrono::hours(1), now + std::chrono::days(365)};
  const auto authority = net::makeAuthority(options.program + "-ca", validity);
  if (!authority) return fail(authority.error());
  return net::issueServerCert(
      *authority, {options.program, {kServingName, "127.0.0.1", options.bindAddress}, validity});
}

// The files that the flags name; else those in --cert-dir, which are made when they are not there;
// else one for this run.
Result<net::CertKey> servingCertificate(const SecureServingOptions& options, WallTime now) {
  std::string certFile = options.tlsCertFile;
  std::string keyFile = options.tlsKeyFile;
  if (certFile.empty() && keyFile.empty()) {
    if (options.certDir.empty()) return selfSigned(now, options);
    certFile = options.certDir + "/" + options.certificate + ".crt";
    keyFile = options.certDir + "/" + options.certificate + ".key";
    if (!std::filesystem::exists(certFile) && !std::filesystem::exists(keyFile)) {
      auto own = selfSigned(now, options);
      if (!own) return own;
      std::error_code ec;
      std::filesystem::create_directories(options.certDir, ec);
      for (const auto& [file, text, mode] :
           {std::tuple{&certFile, &own->certPem, 0644}, std::tuple{&keyFile, &own->keyPem, 0600}})
        if (auto written = writeFileAtomic(*file, *text, mode); !written)
          return fail(std::move(written.error()).within("--cert-dir"));
      log::info("a certificate was made: {}", certFile);
      return own;
    }
  }
  auto cert = readFile(certFile);
  if (!cert) return fail(std::move(cert.error()).within("--tls-cert-file"));
  auto key = readFile(keyFile);
  if (!key) return fail(std::move(key.error()).within("--tls-private-key-file"));
  return net::CertKey{*std::move(cert), *std::move(key)};
}

}  // namespace

Result<std::unique_ptr<SecureServing>> SecureServing::start(Component& component,
                                                            SecureServingOptions options,
                                                            net::HttpServer::Handler handler) {
  std::unique_ptr<SecureServing> serving(new SecureServing(component, std::move(options)));
  if (auto begun = serving->begin(std::move(handler)); !begun)
    return fail(std::move(begun.error()));
  return serving;
}

Result<> SecureServing::readAuthorities() {
  for (const auto& [flag, file, into] :
       {std::tuple{"--client-ca-file", &options_.clientCaFile, &trust_.clientsPem},
        std::tuple{"--requestheader-client-ca-file", &options_.requestHeaderCaFile,
                   &trust_.proxiesPem}}) {
    if (file->empty()) continue;
    auto text = readFile(*file);
    if (!text) return fail(std::move(text.error()).within(flag));
    *into = *std::move(text);
  }
  return {};
}

Result<> SecureServing::begin(net::HttpServer::Handler handler) {
  if (auto guarded = makeGuard(); !guarded) return guarded;
  tls_.limits = options_.tlsLimits;
  auto certificate = servingCertificate(options_, component_.executor().wallNow());
  if (!certificate) return fail(std::move(certificate.error()));
  tls_.certPem = std::move(certificate->certPem);
  tls_.keyPem = std::move(certificate->keyPem);
  trust_.proxies = options_.requestHeaders;
  if (auto read = readAuthorities(); !read) return read;
  if (auto trusted = applyTrust(); !trusted) return trusted;
  net::ServerOptions server;
  server.listen = fmt::format("{}:{}", options_.bindAddress, options_.port);
  server.tls = std::make_shared<net::ServerTls>(tls_);
  auto started = net::HttpServer::start(component_.executor(), std::move(server),
                                        guard_->around(std::move(handler)));
  if (!started) return fail(std::move(started.error()));
  server_ = *std::move(started);
  log::info("serving on {}", server_->address());
  const bool known = !options_.clientCaFile.empty() && !options_.requestHeaderCaFile.empty();
  if (!known && !options_.authenticationSkipLookup && authentication_)
    tasks_.spawn(followTrust({options_.clientCaFile.empty(), options_.requestHeaderCaFile.empty()},
                             options_.authenticationTolerateLookupFailure));
  tasks_.spawn(followFiles());
  return {};
}

bool SecureServing::hasCertificateFiles() const {
  return !options_.tlsCertFile.empty() || !options_.tlsKeyFile.empty() || !options_.certDir.empty();
}

Result<> SecureServing::readFilesAgain() {
  const net::ServerTls tlsBefore = tls_;
  const Trust trustBefore = trust_;
  if (hasCertificateFiles()) {
    auto certificate = servingCertificate(options_, component_.executor().wallNow());
    if (!certificate) return fail(std::move(certificate.error()));
    tls_.certPem = std::move(certificate->certPem);
    tls_.keyPem = std::move(certificate->keyPem);
  }
  auto read = readAuthorities();
  if (read) return takeChange(tlsBefore, trustBefore);
  tls_ = tlsBefore;
  trust_ = trustBefore;
  return read;
}

// What cannot be used leaves what was good in force.
Result<> SecureServing::takeChange(const net::ServerTls& tlsBefore, const Trust& trustBefore) {
  auto applied = applyTrust();
  const bool differs = tls_.certPem != tlsBefore.certPem || tls_.keyPem != tlsBefore.keyPem ||
                       tls_.clientCaPem != tlsBefore.clientCaPem;
  if (applied && differs) applied = server_->setTls(tls_);
  if (applied) return {};
  tls_ = tlsBefore;
  trust_ = trustBefore;
  [[maybe_unused]] const auto restored = applyTrust();
  return applied;
}

// Certificates are renewed, and authorities replaced, while programs run for months.
Task<void> SecureServing::followFiles() {
  std::string told;
  for (;;) {
    auto pause = sleepFor(component_.executor(), std::chrono::minutes(1));
    co_await pause;
    const auto read = readFilesAgain();
    const std::string problem = read ? "" : read.error().message;
    if (!problem.empty() && problem != told)
      log::error("{}; what was read before stays in force", problem);
    told = problem;
  }
}

// Into what the server accepts, and what the guard makes of it.
Result<> SecureServing::applyTrust() {
  std::vector<std::string> clients;
  trust_.proxies.authorities.clear();
  for (const auto& [flag, pem, into] :
       {std::tuple{"--client-ca-file", &trust_.clientsPem, &clients},
        std::tuple{"--requestheader-client-ca-file", &trust_.proxiesPem,
                   &trust_.proxies.authorities}}) {
    if (pem->empty()) continue;
    auto fingerprints = net::fingerprintsOf(*pem);
    if (!fingerprints) return fail(std::move(fingerprints.error()).within(flag));
    *into = *std::move(fingerprints);
  }
  tls_.clientCaPem = trust_.clientsPem;
  if (!trust_.clientsPem.empty() && !trust_.proxiesPem.empty()) tls_.clientCaPem += '\n';
  tls_.clientCaPem += trust_.proxiesPem;
  guard_->setAuthorities(std::move(clients), trust_.proxies);
  return {};
}

Result<> SecureServing::makeGuard() {
  for (const auto& [flag, file, api] :
       {std::tuple{"--authentication-kubeconfig", &options_.authenticationKubeconfig,
                   &authentication_},
        std::tuple{"--authorization-kubeconfig", &options_.authorizationKubeconfig,
                   &authorization_}}) {
    if (file->empty() && !net::runsInPod()) continue;
    auto config = file->empty() ? inClusterConfig() : loadClientConfig({.kubeconfig = *file});
    if (!config) return fail(Error(config.error()).within(flag));
    *api = std::make_unique<HttpApi>(component_.http(), component_.executor(), *std::move(config),
                                     HttpApiOptions{});
  }
  guard_.emplace(component_.executor(), authentication_.get(), authorization_.get(),
                 options_.guard);
  return {};
}

// The cluster tells which authorities vouch for its clients and front proxies, and tells others
// when that changes.
Task<void> SecureServing::followTrust(Followed followed, bool tolerant) {
  for (;;) {
    auto reading = get<api::ConfigMap>(*authentication_,
                                       {"kube-system", "extension-apiserver-authentication"});
    const auto configMap = co_await reading;
    if (configMap) {
      if (const auto set = takeTrust(configMap->data, followed); !set)
        log::error("the cluster's authorities of client certificates: {}", set.error().message);
    } else if (tolerant) {
      log::warn("client certificates mean nothing: {}", configMap.error().message);
    } else {
      log::error("looking up the authority of client certificates: {}", configMap.error().message);
      co_return component_.exit(1);
    }
    tolerant = true;  // it was good once
    auto pause = sleepFor(component_.executor(), std::chrono::minutes(1));
    co_await pause;
  }
}

Result<> SecureServing::takeTrust(const api::StringMap& configMap, Followed followed) {
  const net::ServerTls tlsBefore = tls_;
  const Trust trustBefore = trust_;
  if (followed.clients)
    if (const auto* pem = api::findIn(configMap, "client-ca-file")) trust_.clientsPem = *pem;
  if (followed.proxies) {
    if (const auto* pem = api::findIn(configMap, "requestheader-client-ca-file"))
      trust_.proxiesPem = *pem;
    auto proxies = readRequestHeaders(configMap);
    if (!proxies) {
      trust_ = trustBefore;
      return fail(std::move(proxies.error()));
    }
    trust_.proxies = *std::move(proxies);
  }
  return takeChange(tlsBefore, trustBefore);
}

void addSecureServingFlags(flags::FlagSet& set, SecureServingOptions& options) {
  set.text("bind-address", options.bindAddress, "Address of the HTTPS endpoints");
  set.integer("secure-port", options.port, "Port of the HTTPS endpoints; 0 = off").within(0, 65535);
  set.text("tls-cert-file", options.tlsCertFile,
           "Certificate of the HTTPS endpoints; by default one made at start");
  set.text("tls-private-key-file", options.tlsKeyFile, "Its key");
  set.text(
      "cert-dir", options.certDir,
      fmt::format("Folder with {0}.crt and {0}.key, which are made when they are not there; for "
                  "when --tls-cert-file is not given",
                  options.certificate));
  set.text("tls-min-version", options.tlsLimits.minVersion,
           "Oldest version of TLS: VersionTLS12 or VersionTLS13")
      .check([&options] { return net::checkTlsLimits(options.tlsLimits); });
  set.list("tls-cipher-suites", options.tlsLimits.cipherSuites,
           "Cipher suites for TLS 1.2, as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256; default: all good "
           "ones")
      .check([&options] { return net::checkTlsLimits(options.tlsLimits); });
}

void addAccessFlags(flags::FlagSet& set, SecureServingOptions& options) {
  RequestHeaderOptions& headers = options.requestHeaders;
  set.group("Who may ask the HTTPS endpoints");
  set.text("client-ca-file", options.clientCaFile,
           "Clients are who a certificate signed by these says");
  set.text(
      "requestheader-client-ca-file", options.requestHeaderCaFile,
      "Front proxies have certificates signed by these; they say in headers who the client is");
  set.list("requestheader-allowed-names", headers.allowedNames,
           "Common names of front proxies; none = any");
  set.list("requestheader-username-headers", headers.usernameHeaders,
           "Headers for the user's name");
  set.list("requestheader-uid-headers", headers.uidHeaders, "Headers for the user's uid");
  set.list("requestheader-group-headers", headers.groupHeaders, "Headers for groups");
  set.list("requestheader-extra-headers-prefix", headers.extraPrefixes,
           "What the names of headers begin with that say more about the user");
  set.text(
      "authentication-kubeconfig", options.authenticationKubeconfig,
      "Whom to ask whose a bearer token is; without it, and outside of pods, tokens mean nothing");
  set.boolean("authentication-skip-lookup", options.authenticationSkipLookup,
              "Do not look up the authorities of client certificates in the cluster");
  set.boolean("authentication-tolerate-lookup-failure", options.authenticationTolerateLookupFailure,
              "Serve also when that look-up fails");
  set.duration("authentication-token-webhook-cache-ttl", options.guard.tokensHold,
               "How long an answer about a token holds");
  set.text("authorization-kubeconfig", options.authorizationKubeconfig,
           "Whom to ask what clients may; without it, and outside of pods, only what needs no "
           "permission");
  set.list("authorization-always-allow-paths", options.guard.alwaysAllowPaths,
           "HTTPS paths that need no permission");
  set.duration("authorization-webhook-cache-authorized-ttl", options.guard.grantsHold,
               "How long a permission holds");
  set.duration("authorization-webhook-cache-unauthorized-ttl", options.guard.refusalsHold,
               "How long a refusal holds");
}

}  // namespace koord::kube
