#include "koordctl/shadow/shadow_command.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/event_loop.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "koordctl/common/cluster_flags.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/shadow/report_text.h"
#include "kube/identified_transport.h"
#include "kube/secure_serving.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr const char* kReportPath = "/apis/v1/shadow";

// The report from the scheduler's secure port, with the identity of the kubeconfig.
Task<Result<json::value>> fetchReport(const ShadowCommandOptions* options, Executor* executor) {
  const KubeconfigChoice choice = chooseKubeconfig(options->kubeconfig);
  auto config = loadChoice(choice);
  if (!config) co_return fail(explainFailure(choice, std::move(config.error())));
  net::HttpRequest request;
  request.url = options->scheduler.substr(0, options->scheduler.find_last_not_of('/') + 1);
  request.url += kReportPath;
  auto tls = std::make_shared<net::TlsConfig>();
  if (!options->authority.empty()) {
    auto pem = readFile(options->authority);
    if (!pem) co_return fail(std::move(pem.error()).within("--certificate-authority"));
    tls->caPem = *std::move(pem);
    tls->serverName = kube::kServingName;
  }
  request.tls = std::move(tls);
  const std::string target = request.url;
  net::HttpClient http{{.userAgent = "koordctl"}};
  kube::IdentifiedTransport asMyself(http, *std::move(config));
  auto fetching = asMyself.fetch(*executor, std::move(request));
  const auto reply = co_await fetching;
  if (!reply) co_return fail(Error(reply.error()).within(target));
  if (reply->status == 404)
    co_return fail(ErrorCode::NotFound,
                   target + ": this koord-scheduler is not a shadow: it runs without --shadow-of");
  if (reply->status != 200)
    co_return fail(ErrorCode::Internal,
                   fmt::format("{}: {} (status {})", target, reply->body, reply->status));
  co_return parseJson(reply->body);
}

Task<void> fetchInto(const ShadowCommandOptions* options, EventLoop* loop,
                     Result<json::value>* into) {
  auto fetching = fetchReport(options, loop);
  *into = co_await fetching;
  loop->stop();
}

Result<json::value> reportOf(const ShadowCommandOptions& options) {
  if (!options.file.empty()) {
    const std::string name = options.file == "-" ? "/dev/stdin" : options.file;
    const auto text = readFile(name);
    if (!text) return fail(Error(text.error()).within("--filename"));
    auto report = parseJson(*text);
    if (!report) return fail(std::move(report.error()).within("--filename " + options.file));
    if (textAt(*report, "kind") != "ShadowReport")
      return fail(ErrorCode::Invalid,
                  fmt::format("--filename {}: is not the report of a shadow", options.file));
    return report;
  }
  EventLoop loop;
  Result<json::value> report;
  TaskGroup tasks;
  tasks.spawn(fetchInto(&options, &loop, &report));
  loop.run();
  return report;
}

int runShadow(const ShadowCommandOptions& options) {
  log::setup({.program = "koordctl"});
  const auto report = reportOf(options);
  if (!report) {
    std::fprintf(stderr, "koordctl: %s\n", printable(report.error().message).c_str());
    return 1;
  }
  const std::string text = options.output == "json" ? toPrettyJson(*report) + "\n"
                                                    : shadowText(*report, options.differences);
  std::fputs(printable(text).c_str(), stdout);
  return 0;
}

}  // namespace

void addShadowCommand(flags::Commands& commands, ShadowCommandOptions& options) {
  auto& command =
      commands.add("shadow", "Show how often a shadow scheduler agrees with another scheduler");
  command.arguments = "[report]";
  command.details =
      "Reads the report of a koord-scheduler that runs with --shadow-of: agreement, differences "
      "with\nboth reasons, latencies, and what the shadow's choices would have gained.\n"
      "  koordctl shadow --certificate-authority ca.crt          from the address\n"
      "  koordctl shadow -o json > report.json                   to keep it\n"
      "  koordctl shadow -f report.json                          a report that was kept";
  command.flags.text("scheduler", options.scheduler, "Address of the shadow's secure port");
  command.flags.text("certificate-authority", options.authority,
                     "Certificate, or its authority, of that address; default: those that the "
                     "host trusts");
  command.flags.text("filename", options.file, "A saved report; - is standard input")
      .shortName('f');
  addKubeconfigFlag(command.flags, options.kubeconfig);
  command.flags.integer("differences", options.differences, "Number of differences that are shown")
      .within(0, 100'000);
  command.flags.text("output", options.output, "Format: json; default: text")
      .oneOf({"json"})
      .shortName('o');
  command.run = [&](const std::vector<std::string>& names) {
    if (names.size() > 1 || (names.size() == 1 && names.front() != "report"))
      return commands.refuse("no argument but report", "shadow");
    return runShadow(options);
  };
}

}  // namespace koord::koordctl
