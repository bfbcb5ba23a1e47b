// The embedded API server alone, to try clients against: writes a kubeconfig and serves until it is
// stopped.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "apiserver/http_front.h"
#include "apiserver/webhook_caller.h"
#include "base/event_loop.h"
#include "base/log.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace koord {
namespace {

struct Flags {
  std::string listen = "127.0.0.1:0";
  std::string database;
  std::string kubeconfig;
};

int failed(const Error& error) {
  log::error("{}", error.message);
  return 1;
}

int run(const Flags& flags) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);

  LoopThread thread("apiserver");
  net::HttpClient client;
  const auto now = thread.loop().wallNow();
  const net::Validity validity{now - std::chrono::minutes(5), now + std::chrono::hours(24 * 365)};
  auto authority = net::makeAuthority("kubernetes", validity);
  if (!authority) return failed(authority.error());
  auto cert = net::issueServerCert(
      *authority, {"apiserver", {"127.0.0.1", "localhost", "kubernetes.default.svc"}, validity});
  auto admin = net::issueClientCert(*authority, {"admin", {"system:masters"}, validity});
  if (!cert) return failed(cert.error());
  if (!admin) return failed(admin.error());
  const std::string token = net::randomToken();

  std::unique_ptr<apiserver::Server> server;
  std::unique_ptr<apiserver::HttpFront> front;
  std::optional<Error> error;
  thread.runSync([&] {
    apiserver::ServerOptions options;
    options.database = flags.database;
    options.seed = Random::entropy();
    options.webhookCaller = apiserver::makeWebhookCaller(client, thread.loop(), nullptr);
    options.rbac = true;
    options.serviceAccounts.emplace().rootCaPem = authority->certPem;
    auto opened = apiserver::Server::open(thread.loop(), std::move(options));
    if (!opened) {
      error = opened.error();
      return;
    }
    server = *std::move(opened);
    apiserver::HttpFrontOptions listen;
    listen.listen = flags.listen;
    listen.tls = std::make_shared<net::ServerTls>(
        net::ServerTls{cert->certPem, cert->keyPem, authority->certPem});
    listen.tokens[token] = apiserver::User{};
    listen.anonymous = true;
    auto started = apiserver::HttpFront::start(*server, std::move(listen));
    if (started) {
      front = *std::move(started);
    } else {
      error = started.error();
    }
  });
  if (error) {
    thread.runSync([&] { server.reset(); });
    return failed(*error);
  }
  if (!flags.kubeconfig.empty()) {
    std::ofstream out(flags.kubeconfig);
    std::filesystem::permissions(
        flags.kubeconfig, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    out << fmt::format(
        "apiVersion: v1\nkind: Config\nclusters:\n- name: embedded\n  cluster:\n    server: "
        "https://{}\n"
        "    certificate-authority-data: {}\nusers:\n- name: admin\n  user:\n    "
        "client-certificate-data: {}\n"
        "    client-key-data: {}\ncontexts:\n- name: embedded\n  context: {{cluster: embedded, "
        "user: admin}}\n"
        "current-context: embedded\n",
        front->address(), net::base64Encode(authority->certPem), net::base64Encode(admin->certPem),
        net::base64Encode(admin->keyPem));
  }
  std::printf("ready %s token %s\n", front->address().c_str(), token.c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop, &signal);
  thread.runSync([&] {
    front.reset();
    server.reset();
  });
  return 0;
}

}  // namespace
}  // namespace koord

int main(int argc, char** argv) {
  koord::Flags flags;
  CLI::App app("The embedded API server alone");
  app.add_option("--listen", flags.listen, "address:port");
  app.add_option("--database", flags.database, "SQLite file; in memory without it");
  app.add_option("--kubeconfig", flags.kubeconfig, "file to write");
  CLI11_PARSE(app, argc, argv);
  koord::log::setup({"apiserver"});
  return koord::run(flags);
}
