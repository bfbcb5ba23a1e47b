#include "kube/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "net/tls.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

constexpr Duration kReadAgainAfter = 1min;

class FixedToken final : public CredentialSource {
 public:
  explicit FixedToken(std::string token) : credentials_{std::move(token), nullptr} {}

  Task<Result<Credentials>> credentials(Executor&) override { co_return credentials_; }
  void refused() override {}

 private:
  const Credentials credentials_;
};

std::string trimmed(std::string text) {
  const auto end = text.find_last_not_of(" \t\r\n");
  text.resize(end == text.npos ? 0 : end + 1);
  return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

class FileCredentials final : public CredentialSource {
 public:
  FileCredentials(CredentialFiles files, std::shared_ptr<const net::TlsConfig> tls)
      : files_(std::move(files)), tls_(std::move(tls)) {}

  Task<Result<Credentials>> credentials(Executor& executor) override {
    co_return current(executor.steadyNow());
  }

  void refused() override {
    std::lock_guard lock(mutex_);
    read_.reset();
  }

  Result<> readNow() {
    Credentials fresh{files_.fixedToken, nullptr};
    if (!files_.token.empty()) {
      auto token = readTextFile(files_.token);
      if (!token) return fail(std::move(token.error()));
      fresh.token = trimmed(*std::move(token));
      if (fresh.token.empty())
        return fail(ErrorCode::Invalid, files_.token + ": the token is empty");
    }
    net::TlsConfig tls = *tls_;
    if (!files_.ca.empty()) {
      auto ca = readTextFile(files_.ca);
      if (!ca) return fail(std::move(ca.error()));
      if (auto readable = net::readCertificate(*ca); !readable)
        return fail(std::move(readable.error()).within(files_.ca));
      tls.caPem = *std::move(ca);
    }
    if (!files_.cert.empty()) {
      auto cert = readTextFile(files_.cert);
      if (!cert) return fail(std::move(cert.error()));
      auto key = readTextFile(files_.key);
      if (!key) return fail(std::move(key.error()));
      if (auto matching = net::checkCertKey({*cert, *key}); !matching) {
        return fail(std::move(matching.error()).within(files_.cert + ", " + files_.key));
      }
      tls.certPem = *std::move(cert);
      tls.keyPem = *std::move(key);
    }
    if (!files_.cert.empty() || !files_.ca.empty()) {
      // Connections are shared by requests with the same object, so a new one only when it differs.
      const bool same = last_.tls && last_.tls->caPem == tls.caPem &&
                        last_.tls->certPem == tls.certPem && last_.tls->keyPem == tls.keyPem;
      fresh.tls = same ? last_.tls : std::make_shared<const net::TlsConfig>(std::move(tls));
    }
    last_ = std::move(fresh);
    return {};
  }

 private:
  Result<Credentials> current(SteadyTime now) {
    std::lock_guard lock(mutex_);
    auto seen = look();
    if (!read_ || now - *read_ >= kReadAgainAfter || seen != seen_) {
      read_ = now;
      seen_ = std::move(seen);
      if (auto fresh = readNow(); !fresh) {
        log::warn("credentials: {}; the previous ones stay in use", fresh.error().message);
      }
    }
    return last_;
  }

  // What tells one version of a file from the next, without reading it.
  using Stamp = std::array<std::int64_t, 4>;
  std::vector<Stamp> look() const {
    std::vector<Stamp> stamps;
    for (const auto& path : {files_.token, files_.ca, files_.cert, files_.key}) {
      struct stat status{};
      if (path.empty() || ::stat(path.c_str(), &status) != 0) continue;
      stamps.push_back({static_cast<std::int64_t>(status.st_ino), status.st_size,
                        status.st_mtim.tv_sec, status.st_mtim.tv_nsec});
    }
    return stamps;
  }

  const CredentialFiles files_;
  const std::shared_ptr<const net::TlsConfig> tls_;
  std::mutex mutex_;
  std::vector<Stamp> seen_;         // guarded by mutex_
  std::optional<SteadyTime> read_;  // guarded by mutex_
  Credentials last_;                // guarded by mutex_
};

}  // namespace

std::shared_ptr<CredentialSource> fixedToken(std::string token) {
  return std::make_shared<FixedToken>(std::move(token));
}

Result<std::shared_ptr<CredentialSource>> credentialsFromFiles(
    CredentialFiles files, std::shared_ptr<const net::TlsConfig> tls) {
  auto source = std::make_shared<FileCredentials>(std::move(files), std::move(tls));
  if (auto read = source->readNow(); !read) return fail(std::move(read.error()));
  return source;
}

Result<std::string> readTextFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errnoError(path, errno));
  std::string text;
  std::array<char, 16 << 10> part;
  ssize_t size = 0;
  while ((size = ::read(fd, part.data(), part.size())) > 0) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  const int error = size < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) return fail(errnoError(path, error));
  return text;
}

}  // namespace koord::kube
