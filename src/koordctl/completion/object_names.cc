#include "koordctl/completion/object_names.h"

#include "base/event_loop.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "kube/http_api.h"
#include "kube/received.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr Duration kPatience = std::chrono::seconds(2);
constexpr const char* kMost = "500";

Task<void> list(kube::Api* api, kube::Request request, Result<std::string>* answer,
                EventLoop* loop) {
  auto asking = api->call(std::move(request));
  *answer = co_await asking;
  loop->stop();
}

}  // namespace

flags::Completion objectNames(const std::string& kubeconfig, const api::ResourceType& type,
                              const std::string& namespace_) {
  flags::Completion completion;
  auto config = loadChoice(chooseKubeconfig(kubeconfig));
  if (!config) return completion;
  Result<std::string> answer;
  EventLoop loop;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    kube::HttpApiOptions options;
    options.timeout = kPatience;
    options.retries429 = 0;
    kube::HttpApi api(http, loop, *std::move(config), options);
    auto request = kube::makeRequest(kube::Verb::List, type, {namespace_, ""});
    request.query["limit"] = kMost;
    TaskGroup tasks;
    tasks.spawn(list(&api, std::move(request), &answer, &loop));
    // A server that cannot be reached takes longer than one answer may.
    loop.runAfter(kPatience, [&loop] { loop.stop(); });
    loop.run();
  }
  if (!answer) return completion;
  // A list that cannot be read offers nothing.
  const auto head = kube::openList(*answer, [&](const kube::Received& item) {
    const auto key = item.key();
    const bool whole = !key.namespace_.empty() && namespace_.empty();
    completion.candidates.push_back({whole ? key.namespace_ + "/" + key.name : key.name, ""});
  });
  if (!head) completion.candidates.clear();
  return completion;
}

}  // namespace koord::koordctl
