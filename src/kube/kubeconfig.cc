#include "kube/kubeconfig.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <ranges>

#include "base/json.h"
#include "kube/credentials.h"
#include "kube/kubeconfig_file.h"
#include "net/tls.h"
#include "net/url.h"

namespace koord::kube {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

Result<Kubeconfig> loadFile(const std::string& path) {
  auto text = readTextFile(path);
  if (!text) return fail(std::move(text.error()).within("kubeconfig"));
  return parseKubeconfig(*text, path);
}

// $KUBECONFIG: files that are missing are passed over, as long as there is one.
Result<Kubeconfig> loadList(const std::string& list) {
  Kubeconfig merged;
  bool any = false;
  for (const auto& path : kubeconfigFiles(list)) {
    auto loaded = loadFile(path);
    if (!loaded && loaded.error().code == ErrorCode::NotFound) continue;
    if (!loaded) return loaded;
    merged.mergeFrom(*std::move(loaded));
    any = true;
  }
  if (!any) {
    return fail(ErrorCode::NotFound,
                fmt::format("kubeconfig: none of the files in $KUBECONFIG exists: {}", list));
  }
  return merged;
}

template <class T>
Result<const T*> pick(const std::map<std::string, T>& entries, const std::string& name,
                      const std::string& where, std::string_view field) {
  const auto it = entries.find(name);
  if (it != entries.end()) return &it->second;
  return fail(ErrorCode::NotFound,
              fmt::format("{}: {} \"{}\" is not defined; there are: {}", where, field, name,
                          fmt::join(std::views::keys(entries), ", ")));
}

// Data in the file wins over a path to it.
Result<std::string> dataOrFile(const std::string& data, const std::string& file,
                               const std::string& where, const std::string& field) {
  if (!data.empty()) {
    auto decoded = net::base64Decode(data);
    if (!decoded) return fail(std::move(decoded.error()).within(where + "." + field + "-data"));
    return decoded;
  }
  if (file.empty()) return std::string();
  auto text = readTextFile(file);
  if (!text) return fail(std::move(text.error()).within(where + "." + field));
  return text;
}

Result<net::TlsConfig> tlsOf(const KubeCluster& cluster) {
  auto ca = dataOrFile(cluster.caData, cluster.caFile, cluster.where, "certificate-authority");
  if (!ca) return fail(std::move(ca.error()));
  if (!ca->empty()) {
    if (cluster.insecureSkipTlsVerify) {
      return fail(ErrorCode::Invalid,
                  cluster.where +
                      ": certificate-authority and insecure-skip-tls-verify exclude each other");
    }
    if (auto readable = net::readCertificate(*ca); !readable) {
      return fail(std::move(readable.error()).within(cluster.where + ".certificate-authority"));
    }
  }
  return net::TlsConfig{.caPem = *std::move(ca),
                        .serverName = cluster.tlsServerName,
                        .insecureSkipVerify = cluster.insecureSkipTlsVerify};
}

// A client certificate of which at least a part stands in the kubeconfig itself.
Result<> addFixedCertificate(const KubeUser& user, net::TlsConfig& tls) {
  auto cert = dataOrFile(user.certData, user.certFile, user.where, "client-certificate");
  if (!cert) return fail(std::move(cert.error()));
  auto key = dataOrFile(user.keyData, user.keyFile, user.where, "client-key");
  if (!key) return fail(std::move(key.error()));
  if (cert->empty() && key->empty()) return {};
  if (cert->empty() || key->empty()) {
    return fail(ErrorCode::Invalid,
                user.where + ": client-certificate and client-key must be given together");
  }
  if (auto matching = net::checkCertKey({*cert, *key}); !matching) {
    return fail(
        std::move(matching.error()).within(user.where + ": client-certificate, client-key"));
  }
  tls.certPem = *std::move(cert);
  tls.keyPem = *std::move(key);
  return {};
}

// For plugins that want to know which cluster the credentials are for.
std::string clusterInfo(const KubeCluster& cluster, const net::TlsConfig& tls) {
  json::object info{{"server", cluster.server}};
  if (!tls.serverName.empty()) info["tls-server-name"] = tls.serverName;
  if (tls.insecureSkipVerify) info["insecure-skip-tls-verify"] = true;
  if (!tls.caPem.empty()) info["certificate-authority-data"] = net::base64Encode(tls.caPem);
  if (!cluster.proxyUrl.empty()) info["proxy-url"] = cluster.proxyUrl;
  if (!cluster.execConfig.empty()) {
    if (auto config = parseJson(cluster.execConfig)) info["config"] = *std::move(config);
  }
  return toJson(info);
}

Result<> addUser(const KubeUser& user, const KubeCluster& cluster, net::TlsConfig tls,
                 ClientConfig& config) {
  config.basicUser = user.username;
  config.basicPassword = user.password;
  config.impersonate = user.impersonate;
  const bool certFiles = user.certData.empty() && user.keyData.empty() && !user.certFile.empty() &&
                         !user.keyFile.empty();
  if (!certFiles) {
    if (auto added = addFixedCertificate(user, tls); !added) return added;
  }
  config.tls = std::make_shared<const net::TlsConfig>(tls);

  const bool caFile = cluster.caData.empty() && !cluster.caFile.empty();
  if (certFiles || !user.tokenFile.empty() || (caFile && !user.exec)) {
    CredentialFiles files{.token = user.tokenFile, .fixedToken = user.token};
    if (caFile) files.ca = cluster.caFile;
    if (certFiles) {
      files.cert = user.certFile;
      files.key = user.keyFile;
    }
    auto source = credentialsFromFiles(std::move(files), config.tls);
    if (!source) return fail(std::move(source.error()).within(user.where));
    config.credentials = *std::move(source);
  } else if (!user.token.empty()) {
    config.credentials = fixedToken(user.token);
  } else if (user.exec) {
    ExecPlugin plugin = *user.exec;
    if (user.execWantsCluster) plugin.clusterInfo = clusterInfo(cluster, tls);
    config.credentials = credentialsFromPlugin(std::move(plugin), config.tls);
  }
  return {};
}

Result<> setServer(std::string server, const std::string& where, ClientConfig& config) {
  if (server.empty()) {
    return fail(ErrorCode::Invalid,
                where + ".server: must name the API server, such as https://127.0.0.1:6443");
  }
  if (server.find("://") == server.npos) {
    const net::TlsConfig& tls = *config.tls;
    const bool secure = !tls.caPem.empty() || !tls.certPem.empty() || tls.insecureSkipVerify;
    server.insert(0, secure ? "https://" : "http://");
  }
  while (server.ends_with('/')) server.pop_back();
  if (const auto url = net::parseUrl(server); !url) {
    return fail(Error(url.error()).within(where + ".server"));
  }
  config.server = std::move(server);
  return {};
}

Result<ClientConfig> resolve(const Kubeconfig& kubeconfig, const ConfigSource& source) {
  const auto& name = source.context.empty() ? kubeconfig.currentContext : source.context;
  if (name.empty()) {
    return fail(ErrorCode::Invalid,
                kubeconfig.where + ": current-context: is not set; set it, or name a context");
  }
  const auto context = pick(kubeconfig.contexts, name, kubeconfig.where,
                            source.context.empty() ? "current-context" : "context");
  if (!context) return fail(context.error());
  const auto cluster = pick(kubeconfig.clusters, (*context)->cluster, (*context)->where, "cluster");
  if (!cluster) return fail(cluster.error());

  auto tls = tlsOf(**cluster);
  if (!tls) return fail(std::move(tls.error()));
  ClientConfig config;
  config.proxyUrl = (*cluster)->proxyUrl;
  config.gzip = !(*cluster)->disableCompression;
  if (!(*context)->namespace_.empty()) config.defaultNamespace = (*context)->namespace_;
  if ((*context)->user.empty()) {
    config.tls = std::make_shared<const net::TlsConfig>(*std::move(tls));
  } else {
    const auto user = pick(kubeconfig.users, (*context)->user, (*context)->where, "user");
    if (!user) return fail(user.error());
    if (auto added = addUser(**user, **cluster, *std::move(tls), config); !added) {
      return fail(std::move(added.error()));
    }
  }
  if (auto set = setServer((*cluster)->server, (*cluster)->where, config); !set) {
    return fail(std::move(set.error()));
  }
  return config;
}

bool inCluster() {
  return !environment("KUBERNETES_SERVICE_HOST").empty() &&
         !environment("KUBERNETES_SERVICE_PORT").empty();
}

Result<ClientConfig> loadWithoutOverride(const ConfigSource& source) {
  const auto parse = [&](Result<Kubeconfig> kubeconfig) -> Result<ClientConfig> {
    if (!kubeconfig) return fail(std::move(kubeconfig.error()));
    return resolve(*kubeconfig, source);
  };
  if (!source.kubeconfig.empty()) return parse(loadFile(source.kubeconfig));
  if (const auto list = environment("KUBECONFIG"); !list.empty()) return parse(loadList(list));
  if (inCluster() && source.context.empty()) return inClusterConfig();
  const auto home = homeKubeconfig();
  std::error_code ignored;
  if (std::filesystem::exists(home, ignored)) return parse(loadFile(home));
  if (!source.server.empty()) {
    return ClientConfig{.tls = std::make_shared<const net::TlsConfig>()};
  }
  return fail(ErrorCode::NotFound,
              fmt::format("no API server is configured: give --kubeconfig FILE, set "
                          "$KUBECONFIG, or create {}",
                          home));
}

}  // namespace

std::vector<std::string> kubeconfigFiles(std::string_view list) {
  std::vector<std::string> files;
  for (const auto part : std::views::split(list, ':'))
    if (!part.empty()) files.emplace_back(part.begin(), part.end());
  return files;
}

std::string homeKubeconfig() {
  return std::filesystem::path(environment("HOME")) / ".kube/config";
}

Result<ClientConfig> loadClientConfig(const ConfigSource& source) {
  auto config = loadWithoutOverride(source);
  if (!config || source.server.empty()) return config;
  if (auto set = setServer(source.server, "--master", *config); !set) {
    return fail(std::move(set.error()));
  }
  return config;
}

Result<ClientConfig> inClusterConfig(const std::string& root) {
  const std::string where = "in-cluster configuration";
  if (!inCluster()) {
    return fail(ErrorCode::NotFound,
                where +
                    ": KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; "
                    "this is not a pod");
  }
  const auto folder = std::filesystem::path(root) / "var/run/secrets/kubernetes.io/serviceaccount";
  auto ca = readTextFile(folder / "ca.crt");
  if (!ca) return fail(std::move(ca.error()).within(where));
  if (auto readable = net::readCertificate(*ca); !readable) {
    return fail(std::move(readable.error()).within((folder / "ca.crt").string()).within(where));
  }
  ClientConfig config;
  config.tls = std::make_shared<const net::TlsConfig>(net::TlsConfig{.caPem = *std::move(ca)});
  auto token =
      credentialsFromFiles({.token = folder / "token", .ca = folder / "ca.crt"}, config.tls);
  if (!token) return fail(std::move(token.error()).within(where));
  config.credentials = *std::move(token);
  if (auto own = readTextFile(folder / "namespace"); own && !own->empty()) {
    config.defaultNamespace = *std::move(own);
  }
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  const bool ipv6 = host.find(':') != host.npos;
  config.server = fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", host, ipv6 ? "]" : "",
                              environment("KUBERNETES_SERVICE_PORT"));
  return config;
}

}  // namespace koord::kube
