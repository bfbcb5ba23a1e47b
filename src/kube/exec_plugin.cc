// Credentials from an exec plugin: a program that prints an ExecCredential object. It runs on a
// thread of its own, one at a time; who asks meanwhile waits for the same run. Clients of a process
// with the same plugin share its credentials: a short-lived client beside a long-lived one does not
// run the plugin, which may open a browser or cost a second.

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/json.h"
#include "base/run_program.h"
#include "base/time.h"
#include "base/utf8.h"
#include "kube/credentials.h"
#include "net/tls.h"

namespace koord::kube {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kLimit = 60s;
// Credentials that expire within this time are fetched again.
constexpr Duration kExpiryMargin = 10s;

struct Issued {
  Credentials credentials;
  std::optional<WallTime> expires;
};

std::string execInfo(const ExecPlugin& plugin) {
  json::object spec{{"interactive", false}};
  if (!plugin.clusterInfo.empty()) {
    if (auto cluster = parseJson(plugin.clusterInfo)) spec["cluster"] = *std::move(cluster);
  }
  return toJson(json::object{
      {"kind", "ExecCredential"}, {"apiVersion", plugin.apiVersion}, {"spec", std::move(spec)}});
}

Result<Issued> readCredential(const ExecPlugin& plugin, const std::string& text,
                              const net::TlsConfig& tls) {
  const auto document = parseJson(text);
  if (!document) return fail(Error(document.error()).within("its output"));
  if (textAt(*document, "kind") != "ExecCredential" ||
      textAt(*document, "apiVersion") != plugin.apiVersion) {
    return fail(ErrorCode::Invalid,
                fmt::format("its output is not an ExecCredential of {}", plugin.apiVersion));
  }
  Issued issued;
  issued.credentials.token = textAt(*document, "status", "token");
  const auto cert = textAt(*document, "status", "clientCertificateData");
  const auto key = textAt(*document, "status", "clientKeyData");
  if (!cert.empty() || !key.empty()) {
    net::TlsConfig withCert = tls;
    withCert.certPem = cert;
    withCert.keyPem = key;
    if (auto matching = net::checkCertKey({withCert.certPem, withCert.keyPem}); !matching) {
      return fail(std::move(matching.error()).within("its client certificate"));
    }
    issued.credentials.tls = std::make_shared<const net::TlsConfig>(std::move(withCert));
  } else if (issued.credentials.token.empty()) {
    return fail(ErrorCode::Invalid, "its output has neither a token nor a client certificate");
  }
  if (const auto expires = textAt(*document, "status", "expirationTimestamp"); !expires.empty()) {
    const auto time = parseTime(expires);
    if (!time) return fail(Error(time.error()).within("status.expirationTimestamp"));
    issued.expires = *time;
  }
  return issued;
}

Result<Issued> runPlugin(const ExecPlugin& plugin, const net::TlsConfig& tls,
                         const Interrupt& interrupt) {
  std::vector<std::string> argv{plugin.command};
  argv.insert(argv.end(), plugin.args.begin(), plugin.args.end());
  auto environment = plugin.env;
  environment.emplace_back("KUBERNETES_EXEC_INFO", execInfo(plugin));
  auto output = runProgram({std::move(argv), std::move(environment), "", kLimit}, interrupt);
  if (output && output->killed) return fail(*std::move(output->killed));
  if (!output) {
    if (output.error().code == ErrorCode::NotFound && !plugin.installHint.empty()) {
      output.error().message += "\n" + plugin.installHint;
    }
    return fail(std::move(output.error()));
  }
  if (output->status != 0) {
    return fail(ErrorCode::Unauthorized, fmt::format("{} ended with status {}: {}", plugin.command,
                                                     output->status, shortened(output->err, 1000)));
  }
  auto issued = readCredential(plugin, output->out, tls);
  if (!issued) return fail(std::move(issued.error()).within(plugin.command));
  return issued;
}

class PluginCredentials final : public CredentialSource {
 public:
  PluginCredentials(ExecPlugin plugin, std::shared_ptr<const net::TlsConfig> tls)
      : plugin_(std::move(plugin)), tls_(std::move(tls)) {}
  ~PluginCredentials() override {
    interrupt_.raise();
    if (thread_.joinable()) thread_.join();
  }

  bool isOf(const ExecPlugin& plugin, const net::TlsConfig& tls) const {
    return plugin_ == plugin && *tls_ == tls;
  }

  Task<Result<Credentials>> credentials(Executor& executor) override {
    auto ends = Future<Result<Credentials>>::make(executor);
    ask(executor.wallNow(), ends.second);
    Result<Credentials> answer = co_await ends.first;
    co_return std::move(answer);
  }

  void refused() override {
    std::lock_guard lock(mutex_);
    issued_.reset();
  }

 private:
  void ask(WallTime now, Completer<Result<Credentials>> completer) {
    std::lock_guard lock(mutex_);
    if (issued_ && (!issued_->expires || now + kExpiryMargin < *issued_->expires)) {
      completer.complete(issued_->credentials);
      return;
    }
    waiting_.push_back(std::move(completer));
    if (waiting_.size() > 1) return;
    if (thread_.joinable()) thread_.join();  // it has answered everybody and is about to end
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error& error) {
      // The machine has no room for another one, which may change.
      const Result<Credentials> none = fail(
          ErrorCode::Unavailable, std::string("exec credential plugin: thread: ") + error.what());
      for (const auto& waiting : std::exchange(waiting_, {})) waiting.complete(none);
    }
  }

  void run() {
    auto issued = runPlugin(plugin_, *tls_, interrupt_);
    std::lock_guard lock(mutex_);
    Result<Credentials> answer;
    if (issued) {
      answer = issued->credentials;
      issued_ = *std::move(issued);
    } else {
      answer = fail(std::move(issued.error()).within("exec credential plugin"));
    }
    for (const auto& completer : std::exchange(waiting_, {})) completer.complete(answer);
  }

  const ExecPlugin plugin_;
  const std::shared_ptr<const net::TlsConfig> tls_;
  Interrupt interrupt_;
  std::mutex mutex_;
  std::optional<Issued> issued_;                         // guarded by mutex_
  std::vector<Completer<Result<Credentials>>> waiting_;  // guarded by mutex_
  std::thread thread_;                                   // guarded by mutex_
};

}  // namespace

std::shared_ptr<CredentialSource> credentialsFromPlugin(ExecPlugin plugin,
                                                        std::shared_ptr<const net::TlsConfig> tls) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<PluginCredentials>> known;  // guarded by mutex
  // Destroyed after the lock: the last owner waits for the plugin to end.
  std::vector<std::shared_ptr<PluginCredentials>> held;
  std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& one) { return one.expired(); });
  for (const auto& one : known) {
    auto credentials = held.emplace_back(one.lock());
    if (credentials && credentials->isOf(plugin, *tls)) return credentials;
  }
  auto credentials = std::make_shared<PluginCredentials>(std::move(plugin), std::move(tls));
  known.push_back(credentials);
  return credentials;
}

}  // namespace koord::kube
