#include "cluster/up/credentials.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/yaml.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kAuthorityLife = std::chrono::hours(24 * 3650);
constexpr Duration kCertificateLife = std::chrono::hours(24 * 365);
constexpr Duration kClockSlack = 10min;
constexpr Duration kKeyLife = std::chrono::hours(24 * 90);
// The life of the longest token.
constexpr Duration kKeyAfterlife = std::chrono::hours(24 * 366);

// "1767225600.key": the creation time.
std::optional<WallTime> creationTime(const std::filesystem::path& file) {
  const std::string name = file.stem();
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), seconds);
  if (error != std::errc{} || end != name.data() + name.size() || file.extension() != ".key")
    return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

}  // namespace

net::Validity Credentials::validity() const {
  return {now_ - kClockSlack, now_ + kCertificateLife};
}

Result<Credentials> Credentials::open(const std::string& dataDir, WallTime now) {
  const std::string certFile = dataDir + "/pki/ca.crt";
  const std::string keyFile = dataDir + "/pki/ca.key";
  const auto cert = readFile(certFile);
  const auto key = readFile(keyFile);
  if (cert && key) {
    net::CertKey pair{*cert, *key};
    if (auto match = net::checkCertKey(pair); !match)
      return fail(std::move(match.error())
                      .within(certFile + ": delete it and " + keyFile + " to create new ones"));
    const auto info = net::readCertificate(*cert);
    if (info && info->validity.to > now + kCertificateLife)
      return Credentials(std::move(pair), now);
  }
  auto made = net::makeAuthority("koordctl-authority", {now - kClockSlack, now + kAuthorityLife});
  if (!made) return fail(std::move(made.error()));
  if (auto put = writeFileAtomic(keyFile, made->keyPem, 0600); !put)
    return fail(std::move(put.error()));
  if (auto put = writeFileAtomic(certFile, made->certPem, 0644); !put)
    return fail(std::move(put.error()));
  return Credentials(*std::move(made), now);
}

Result<std::vector<net::SigningKey>> Credentials::signingKeys(const std::string& dataDir,
                                                              WallTime now) {
  const std::filesystem::path folder = dataDir + "/pki/service-accounts";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::map<WallTime, std::filesystem::path, std::greater<>> files;
  for (const auto& file : std::filesystem::directory_iterator(folder, failed))
    if (const auto made = creationTime(file.path())) files.emplace(*made, file.path());
  if (failed) return fail(ErrorCode::Io, folder.string() + ": " + failed.message());
  std::vector<net::SigningKey> keys;
  if (files.empty() || files.begin()->first + kKeyLife < now) {
    auto key = net::SigningKey::generate();
    auto pem = key ? key->pem() : fail(key.error());
    if (!pem) return fail(std::move(pem.error()));
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
    const auto path = folder / (std::to_string(seconds) + ".key");
    if (auto put = writeFileAtomic(path, *pem, 0600); !put) return fail(std::move(put.error()));
    keys.push_back(*std::move(key));
  }
  for (const auto& [made, path] : files) {
    if (made + kKeyLife + kKeyAfterlife < now) {
      std::filesystem::remove(path, failed);
      continue;
    }
    const auto pem = readFile(path);
    auto key = pem ? net::SigningKey::fromPem(*pem) : fail(pem.error());
    if (!key)
      return fail(std::move(key.error())
                      .within(path.string() + ": delete it to continue without this key"));
    keys.push_back(*std::move(key));
  }
  return keys;
}

Result<net::CertKey> Credentials::client(const std::string& user,
                                         std::vector<std::string> groups) const {
  return net::issueClientCert(authority_, {user, std::move(groups), validity()});
}

Result<net::CertKey> Credentials::serving(const std::string& name,
                                          std::vector<std::string> hosts) const {
  return net::issueServerCert(authority_, {name, std::move(hosts), validity()});
}

Result<std::shared_ptr<const net::ServerTls>> Credentials::server(
    std::vector<std::string> hosts) const {
  auto pair = serving("koordctl-server", std::move(hosts));
  if (!pair) return fail(std::move(pair.error()));
  return std::make_shared<const net::ServerTls>(pair->certPem, pair->keyPem, authority_.certPem);
}

Result<std::string> Credentials::kubeconfig(const std::string& serverUrl, const std::string& user,
                                            std::vector<std::string> groups) const {
  auto pair = client(user, std::move(groups));
  if (!pair) return fail(std::move(pair.error()));
  return kubeconfigOf(serverUrl, authority_.certPem, user, *pair);
}

std::string kubeconfigOf(const std::string& serverUrl, const std::string& caPem,
                         const std::string& user, const net::CertKey& client) {
  const json::value config = json::object{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters",
       {json::object{
           {"name", "koordctl"},
           {"cluster",
            {{"server", serverUrl}, {"certificate-authority-data", net::base64Encode(caPem)}}}}}},
      {"users",
       {json::object{{"name", user},
                     {"user",
                      {{"client-certificate-data", net::base64Encode(client.certPem)},
                       {"client-key-data", net::base64Encode(client.keyPem)}}}}}},
      {"contexts",
       {json::object{{"name", "koordctl"},
                     {"context", {{"cluster", "koordctl"}, {"user", user}}}}}},
      {"current-context", "koordctl"}};
  return toYaml(config);
}

}  // namespace koord::cluster
