#include "manager/webhook/certificates.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace koord::manager {

namespace {

using std::chrono::days;

constexpr auto kYear = days(365);
constexpr const char* kFileNames[] = {"ca-cert.pem", "ca-key.pem", "cert.pem",
                                      "key.pem",     "tls.crt",    "tls.key"};

std::string valueOf(const api::StringMap& files, std::string_view name,
                    std::string_view otherName) {
  if (const auto* value = api::findIn(files, name); value && !value->empty()) return *value;
  const auto* other = otherName.empty() ? nullptr : api::findIn(files, otherName);
  return other ? *other : "";
}

Result<> writeFile(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path part = path.string() + ".new";
  std::FILE* file = std::fopen(part.c_str(), "w");
  if (!file) return fail(errnoError("write " + part.string(), errno));
  ::fchmod(::fileno(file), 0600);
  const bool written = std::fwrite(content.data(), 1, content.size(), file) == content.size();
  if (std::fclose(file) != 0 || !written) return fail(errnoError("write " + part.string(), errno));
  if (std::rename(part.c_str(), path.c_str()) != 0)
    return fail(errnoError("write " + path.string(), errno));
  return {};
}

// The first certificate of the text, or "" if it has expired.
std::string firstIfValid(const std::string& pem, WallTime now) {
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
  const auto end = pem.find(kEnd);
  const auto info = net::readCertificate(pem);
  if (end == pem.npos || !info || info->validity.to <= now) return "";
  return pem.substr(0, end + kEnd.size());
}

}  // namespace

Result<> checkCerts(const WebhookCerts& certs, const std::string& host, WallTime now) {
  if (auto ok = net::checkCertKey(certs.server); !ok) return ok;
  return net::checkTrust(certs.server.certPem, certs.authority.certPem, host, now + kYear / 2);
}

Result<WebhookCerts> renewCerts(const WebhookCerts* old, const std::string& host, WallTime now) {
  const net::Validity validity{now - std::chrono::hours(1), now + kYear * 10};
  WebhookCerts certs;
  bool reuse = false;
  if (old && net::checkCertKey(old->authority)) {
    const auto info = net::readCertificate(old->authority.certPem);
    reuse = info && info->authority && info->validity.to > now + kYear;
  }
  if (reuse) {
    certs.authority = old->authority;
  } else {
    auto authority = net::makeAuthority("webhook-cert-ca", validity);
    if (!authority) return fail(std::move(authority.error()));
    certs.authority = *std::move(authority);
    if (old) certs.authority.certPem += firstIfValid(old->authority.certPem, now);
  }
  auto server = net::issueServerCert(certs.authority, {host, {"localhost", host}, validity});
  if (!server) return fail(std::move(server.error()));
  certs.server = *std::move(server);
  return certs;
}

api::StringMap toFiles(const WebhookCerts& certs) {
  return {{"ca-cert.pem", certs.authority.certPem}, {"ca-key.pem", certs.authority.keyPem},
          {"cert.pem", certs.server.certPem},       {"key.pem", certs.server.keyPem},
          {"tls.crt", certs.server.certPem},        {"tls.key", certs.server.keyPem}};
}

Result<WebhookCerts> fromFiles(const api::StringMap& files) {
  WebhookCerts certs;
  certs.authority = {valueOf(files, "ca-cert.pem", ""), valueOf(files, "ca-key.pem", "")};
  certs.server = {valueOf(files, "cert.pem", "tls.crt"), valueOf(files, "key.pem", "tls.key")};
  if (certs.authority.certPem.empty() || certs.server.certPem.empty() ||
      certs.server.keyPem.empty())
    return fail(ErrorCode::NotFound, "ca-cert.pem, cert.pem or key.pem is missing");
  return certs;
}

Result<WebhookCerts> fromSecret(const api::Secret& secret) {
  api::StringMap files;
  for (const auto& [name, value] : secret.data) {
    auto content = net::base64Decode(value);
    if (!content) return fail(std::move(content.error()).within("data[" + name + "]"));
    files[name] = *std::move(content);
  }
  return fromFiles(files);
}

json::value toSecretData(const WebhookCerts& certs) {
  json::object data;
  for (const auto& [name, content] : toFiles(certs)) data[name] = net::base64Encode(content);
  return data;
}

Result<WebhookCerts> readFolder(const std::string& folder) {
  api::StringMap files;
  for (const char* name : kFileNames) {
    std::ifstream file(std::filesystem::path(folder) / name);
    if (file) files[name] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  auto certs = fromFiles(files);
  if (!certs) return fail(std::move(certs.error()).within(folder));
  return certs;
}

Result<> writeFolder(const std::string& folder, const WebhookCerts& certs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return fail(errnoError("create " + folder, error.value()));
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  for (const auto& [name, content] : toFiles(certs))
    if (auto written = writeFile(std::filesystem::path(folder) / name, content); !written)
      return written;
  return {};
}

}  // namespace koord::manager
