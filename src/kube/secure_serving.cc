#include "kube/secure_serving.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
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

// A problem with the files that lasts may end with an expired certificate.
constexpr Duration kReportAgain = std::chrono::hours(1);

// A certificate for this run only; clients that care give us a real one.
Result<net::CertKey> selfSigned(WallTime now, const SecureServingOptions& options) {
  const net::Validity validity{now - std::chrono::hours(1), now + std::chrono::days(365)};
  const auto authority = net::makeAuthority(options.program + "-ca", validity);
  if (!authority) return fail(authority.error());
  return net::issueServerCert(
      *authority, {options.program, {kServingName, "127.0.0.1", options.bindAddress}, validity});
}

struct CertificateFiles {
  std::string cert;
  std::string key;
};

// The files that the flags name, else those in --cert-dir; nullopt if the certificate is in no
// file.
std::optional<CertificateFiles> certificateFiles(const SecureServingOptions& options) {
  if (!options.tlsCertFile.empty() || !options.tlsKeyFile.empty())
    return CertificateFiles{options.tlsCertFile, options.tlsKeyFile};
  if (options.certDir.empty()) return std::nullopt;
  const std::string file = options.certDir + "/" + options.certificate;
  return CertificateFiles{file + ".crt", file + ".key"};
}

Result<net::CertKey> readCertificate(const CertificateFiles& files) {
  auto cert = readFile(files.cert);
  if (!cert) return fail(std::move(cert.error()).within("--tls-cert-file"));
  auto key = readFile(files.key);
  if (!key) return fail(std::move(key.error()).within("--tls-private-key-file"));
  return net::CertKey{*std::move(cert), *std::move(key)};
}

Result<net::CertKey> makeCertificate(const CertificateFiles& files,
                                     const SecureServingOptions& options, WallTime now) {
  auto own = selfSigned(now, options);
  if (!own) return own;
  std::error_code ec;
  std::filesystem::create_directories(options.certDir, ec);
  for (const auto& [file, text, mode] :
       {std::tuple{&files.cert, &own->certPem, 0644}, std::tuple{&files.key, &own->keyPem, 0600}})
    if (auto written = writeFileAtomic(*file, *text, mode); !written)
      return fail(std::move(written.error()).within("--cert-dir"));
  log::info("created a certificate: {}", files.cert);
  return own;
}

// For the start, which makes the files in --cert-dir if neither is there. Later the files may be
// missing while a program replaces them, and a new certificate would then replace a good one.
Result<net::CertKey> certificateAtStart(const SecureServingOptions& options, WallTime now) {
  const auto files = certificateFiles(options);
  if (!files) return selfSigned(now, options);
  const bool given = !options.tlsCertFile.empty() || !options.tlsKeyFile.empty();
  if (!given && !std::filesystem::exists(files->cert) && !std::filesystem::exists(files->key))
    return makeCertificate(*files, options, now);
  return readCertificate(*files);
}

}  // namespace

const std::array<SecureServing::Authority, 2> SecureServing::kAuthorities = {{
    {"--client-ca-file", &SecureServingOptions::clientCaFile, &Trust::clientsPem},
    {"--requestheader-client-ca-file", &SecureServingOptions::requestHeaderCaFile,
     &Trust::proxiesPem},
}};

Result<std::unique_ptr<SecureServing>> SecureServing::start(Component& component,
                                                            SecureServingOptions options,
                                                            net::HttpServer::Handler handler) {
  return startWith(component, std::move(options),
                   [&](RequestGuard& guard) { return guard.around(std::move(handler)); });
}

Result<std::unique_ptr<SecureServing>> SecureServing::start(Component& component,
                                                            SecureServingOptions options,
                                                            RequestGuard::CallerHandler handler) {
  return startWith(component, std::move(options),
                   [&](RequestGuard& guard) { return guard.around(std::move(handler)); });
}

Result<std::unique_ptr<SecureServing>> SecureServing::startWith(Component& component,
                                                                SecureServingOptions options,
                                                                const Around& around) {
  std::unique_ptr<SecureServing> serving(new SecureServing(component, std::move(options)));
  if (auto begun = serving->begin(around); !begun) return fail(std::move(begun.error()));
  return serving;
}

Result<> SecureServing::readAuthority(const Authority& authority, Trust& trust) const {
  const std::string& file = options_.*authority.file;
  if (file.empty()) return {};
  auto text = readFile(file);
  if (!text) return fail(std::move(text.error()).within(authority.flag));
  trust.*authority.pem = *std::move(text);
  return {};
}

Result<> SecureServing::begin(const Around& around) {
  if (auto guarded = makeGuard(); !guarded) return guarded;
  auto certificate = certificateAtStart(options_, component_.executor().wallNow());
  if (!certificate) return fail(std::move(certificate.error()));
  net::ServerTls tls;
  tls.limits = options_.tlsLimits;
  tls.certPem = std::move(certificate->certPem);
  tls.keyPem = std::move(certificate->keyPem);
  Trust trust;
  trust.proxies = options_.requestHeaders;
  for (const auto& authority : kAuthorities)
    if (auto read = readAuthority(authority, trust); !read) return read;
  if (auto taken = take(std::move(tls), std::move(trust)); !taken) return taken;
  net::ServerOptions server;
  server.listen = fmt::format("{}:{}", options_.bindAddress, options_.port);
  server.maxConnections = options_.maxConnections;
  server.maxBodyBytes = options_.maxBodyBytes;
  server.tls = std::make_shared<net::ServerTls>(tls_);
  auto started = net::HttpServer::start(component_.executor(), std::move(server), around(*guard_));
  if (!started) return fail(std::move(started.error()));
  server_ = *std::move(started);
  log::info("serving on {}", server_->address());
  const bool known = !options_.clientCaFile.empty() && !options_.requestHeaderCaFile.empty();
  if (!known && !options_.authenticationSkipLookup && authentication_)
    tasks_.spawn(watchTrust({options_.clientCaFile.empty(), options_.requestHeaderCaFile.empty()},
                            options_.authenticationTolerateLookupFailure));
  tasks_.spawn(watchFiles());
  return {};
}

Result<> SecureServing::readCertificateAgain() {
  const auto files = certificateFiles(options_);
  if (!files) return {};
  auto certificate = readCertificate(*files);
  if (!certificate) return fail(std::move(certificate.error()));
  net::ServerTls tls = tls_;
  tls.certPem = std::move(certificate->certPem);
  tls.keyPem = std::move(certificate->keyPem);
  return take(std::move(tls), trust_);
}

Result<> SecureServing::readAuthorityAgain(const Authority& authority) {
  Trust trust = trust_;
  if (auto read = readAuthority(authority, trust); !read) return read;
  return take(tls_, std::move(trust));
}

// Each part on its own: an unusable authority must not stop the renewal of the certificate.
Result<> SecureServing::readFilesAgain() {
  std::vector<std::string> problems;
  const auto note = [&](const Result<>& part) {
    if (!part) problems.push_back(part.error().message);
  };
  note(readCertificateAgain());
  for (const auto& authority : kAuthorities) note(readAuthorityAgain(authority));
  if (problems.empty()) return {};
  return fail(ErrorCode::Invalid, fmt::format("{}", fmt::join(problems, "; ")));
}

// Certificates are renewed, and authorities replaced, while programs run for months.
Task<void> SecureServing::watchFiles() {
  std::string reported;
  SteadyTime reportedAt{};
  for (;;) {
    auto pause = sleepFor(component_.executor(), std::chrono::minutes(1));
    co_await pause;
    const auto read = readFilesAgain();
    const std::string problem = read ? "" : read.error().message;
    const SteadyTime now = component_.executor().steadyNow();
    if (problem == reported && now - reportedAt < kReportAgain) continue;
    if (!problem.empty()) log::error("{}; the previous content stays in force", problem);
    reported = problem;
    reportedAt = now;
  }
}

Result<> SecureServing::take(net::ServerTls tls, Trust trust) {
  std::vector<std::string> clients;
  trust.proxies.authorities.clear();
  for (const auto& [flag, pem, into] :
       {std::tuple{"--client-ca-file", &trust.clientsPem, &clients},
        std::tuple{"--requestheader-client-ca-file", &trust.proxiesPem,
                   &trust.proxies.authorities}}) {
    if (pem->empty()) continue;
    auto fingerprints = net::fingerprintsOf(*pem);
    if (!fingerprints) return fail(std::move(fingerprints.error()).within(flag));
    *into = *std::move(fingerprints);
  }
  tls.clientCaPem = trust.clientsPem;
  if (!trust.clientsPem.empty() && !trust.proxiesPem.empty()) tls.clientCaPem += '\n';
  tls.clientCaPem += trust.proxiesPem;
  const bool differs = tls.certPem != tls_.certPem || tls.keyPem != tls_.keyPem ||
                       tls.clientCaPem != tls_.clientCaPem;
  if (server_ && differs)
    if (auto set = server_->setTls(tls); !set) return set;
  // From here on nothing can fail.
  guard_->setAuthorities(std::move(clients), trust.proxies);
  tls_ = std::move(tls);
  trust_ = std::move(trust);
  return {};
}

Result<> SecureServing::makeGuard() {
  for (const auto& [flag, file, api] :
       {std::tuple{"--authentication-kubeconfig", &options_.authenticationKubeconfig,
                   &authentication_},
        std::tuple{"--authorization-kubeconfig", &options_.authorizationKubeconfig,
                   &authorization_}}) {
    if (!options_.reviewsOfComponent && file->empty() && !net::runsInPod()) continue;
    auto config = options_.reviewsOfComponent ? Result<ClientConfig>(component_.config())
                  : file->empty()             ? inClusterConfig()
                                              : loadClientConfig({.kubeconfig = *file});
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
Task<void> SecureServing::watchTrust(TrustSource followed, bool tolerant) {
  for (;;) {
    auto reading = get<api::ConfigMap>(*authentication_,
                                       {"kube-system", "extension-apiserver-authentication"});
    const auto configMap = co_await reading;
    if (configMap) {
      if (const auto set = applyTrust(configMap->data, followed); !set)
        log::error("the cluster's authorities of client certificates: {}", set.error().message);
    } else if (tolerant) {
      log::warn("client certificates are ignored: {}", configMap.error().message);
    } else {
      log::error("cannot read the authority of client certificates: {}", configMap.error().message);
      co_return component_.exit(1);
    }
    tolerant = true;  // it was good once
    auto pause = sleepFor(component_.executor(), std::chrono::minutes(1));
    co_await pause;
  }
}

Result<> SecureServing::applyTrust(const api::StringMap& configMap, TrustSource followed) {
  Trust trust = trust_;
  if (followed.clients)
    if (const auto* pem = api::findIn(configMap, "client-ca-file")) trust.clientsPem = *pem;
  if (followed.proxies) {
    if (const auto* pem = api::findIn(configMap, "requestheader-client-ca-file"))
      trust.proxiesPem = *pem;
    auto proxies = readRequestHeaders(configMap);
    if (!proxies) return fail(std::move(proxies.error()));
    trust.proxies = *std::move(proxies);
  }
  return take(tls_, std::move(trust));
}

void addSecureServingFlags(flags::FlagSet& set, SecureServingOptions& options) {
  set.text("bind-address", options.bindAddress, "Address of the HTTPS endpoints");
  set.integer("secure-port", options.port, "Port of the HTTPS endpoints; 0 = off").within(0, 65535);
  set.text("tls-cert-file", options.tlsCertFile,
           "Certificate of the HTTPS endpoints; default: self-signed, created at start");
  set.text("tls-private-key-file", options.tlsKeyFile, "Private key of that certificate");
  set.text("cert-dir", options.certDir,
           fmt::format("Folder of {0}.crt and {0}.key, which are created if missing; not used with "
                       "--tls-cert-file",
                       options.certificate));
  set.text("tls-min-version", options.tlsLimits.minVersion,
           "Oldest version of TLS: VersionTLS12 or VersionTLS13")
      .check([&options] { return net::checkTlsLimits(options.tlsLimits); });
  set.list("tls-cipher-suites", options.tlsLimits.cipherSuites,
           "Cipher suites for TLS 1.2, as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256; default: the "
           "secure ones")
      .check([&options] { return net::checkTlsLimits(options.tlsLimits); });
}

void addAccessFlags(flags::FlagSet& set, SecureServingOptions& options) {
  RequestHeaderOptions& headers = options.requestHeaders;
  set.group("Authentication and authorization of the HTTPS endpoints");
  set.text("client-ca-file", options.clientCaFile,
           "Certificate authorities of client certificates");
  set.text("requestheader-client-ca-file", options.requestHeaderCaFile,
           "Certificate authorities of front proxies, which name the client in request headers");
  set.list("requestheader-allowed-names", headers.allowedNames,
           "Common names of front proxies; empty: any");
  set.list("requestheader-username-headers", headers.usernameHeaders,
           "Headers for the user's name");
  set.list("requestheader-uid-headers", headers.uidHeaders, "Headers for the user's uid");
  set.list("requestheader-group-headers", headers.groupHeaders, "Headers for groups");
  set.list("requestheader-extra-headers-prefix", headers.extraPrefixes,
           "Prefixes of headers with extra attributes of the user");
  set.text("authentication-kubeconfig", options.authenticationKubeconfig,
           "kubeconfig of the cluster that checks bearer tokens; without it, and outside of pods, "
           "tokens are ignored");
  set.boolean("authentication-skip-lookup", options.authenticationSkipLookup,
              "Do not read the authorities of client certificates from the cluster");
  set.boolean("authentication-tolerate-lookup-failure", options.authenticationTolerateLookupFailure,
              "Serve also if they cannot be read");
  set.duration("authentication-token-webhook-cache-ttl", options.guard.tokenTtl,
               "How long the result of a token check is cached");
  set.text("authorization-kubeconfig", options.authorizationKubeconfig,
           "kubeconfig of the cluster that authorizes requests; without it, and outside of pods, "
           "only paths without authorization are allowed");
  set.list("authorization-always-allow-paths", options.guard.alwaysAllowPaths,
           "HTTPS paths without authorization");
  set.duration("authorization-webhook-cache-authorized-ttl", options.guard.grantTtl,
               "How long a granted authorization is cached");
  set.duration("authorization-webhook-cache-unauthorized-ttl", options.guard.refusalTtl,
               "How long a denied authorization is cached");
}

}  // namespace koord::kube
