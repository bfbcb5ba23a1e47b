#include "cluster/up/console_service.h"

#include <utility>

#include "base/version/version.h"
#include "cluster/screen/status.h"
#include "cluster/up/addresses.h"

namespace koord::cluster {

namespace {

using namespace std::chrono_literals;

constexpr const char* kPreferredConsole = "127.0.0.1:6480";

// What koordlet does to BE pods now, in the words of the screen; empty while it does not answer.
Task<std::vector<std::string>> askKoordlet(net::HttpTransport* http, Executor* executor,
                                           std::string address) {
  if (address.empty()) co_return std::vector<std::string>();
  net::HttpRequest request;
  request.url = address + "/apis/v1/qos";
  request.timeout = 1s;
  auto fetching = http->fetch(*executor, std::move(request));
  auto reply = co_await fetching;
  if (!reply || reply->status != 200) co_return std::vector<std::string>();
  auto document = parseJson(reply->body);
  if (!document) co_return std::vector<std::string>();
  QosLine qos = describeQos(*document);
  co_return std::move(qos.lines);
}

console::ConsoleOptions optionsOf(ConsoleInputs& inputs) {
  console::ConsoleOptions options;
  options.cluster = inputs.server;
  options.version = programVersion();
  options.notes = std::move(inputs.notes);
  Question question = inputs.question;
  question.executor = inputs.executor;
  if (inputs.explain)
    options.explain = [question, explain = inputs.explain](std::string kind, std::string name) {
      return explain(question, std::move(kind), std::move(name));
    };
  if (inputs.simulate)
    options.simulate = [question, simulate = inputs.simulate](std::string request) {
      return simulate(question, std::move(request));
    };
  options.koordlet = [http = inputs.http, executor = inputs.executor, node = inputs.koordletNode,
                      address = inputs.koordlet](std::string of) {
    return askKoordlet(http, executor, of == node ? address : std::string());
  };
  return options;
}

}  // namespace

Result<std::unique_ptr<console::Console>> openConsole(ConsoleInputs inputs) {
  auto console =
      std::make_unique<console::Console>(*inputs.api, *inputs.executor, optionsOf(inputs));
  const std::string address = inputs.address.empty() ? kPreferredConsole : inputs.address;
  auto listening = console->listen(address);
  // Another cluster of this host may have the preferred port.
  if (!listening && inputs.address.empty()) listening = console->listen("127.0.0.1:0");
  if (!listening) return fail(std::move(listening.error()).within("--console"));
  return console;
}

Result<> checkConsoleAddress(const std::string& address) {
  if (address.empty() || address == "off" || isLoopback(address.substr(0, address.rfind(':'))))
    return {};
  return fail(ErrorCode::Invalid,
              "must be \"off\" or a loopback address, because the console does not have TLS");
}

}  // namespace koord::cluster
