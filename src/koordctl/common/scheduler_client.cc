#include "koordctl/common/scheduler_client.h"

#include <fmt/format.h>

#include "api/core.h"
#include "cluster/up/components.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "kube/secure_serving.h"

namespace koord::koordctl {

Result<std::string> componentUrlOf(const std::string& component, const std::string& given,
                                   const std::string& dataDir, const KubeconfigChoice& choice) {
  if (!given.empty()) return given.substr(0, given.find_last_not_of('/') + 1);
  const auto folders = dataDir.empty() ? dataDirsOf(choice) : std::vector{dataDir};
  for (const auto& folder : folders) {
    for (const auto& name : {component + "-secure", component})
      if (const auto url = cluster::componentUrl(folder, name); !url.empty()) return url;
  }
  if (!choice.files.empty())
    if (auto config = loadChoice(choice); !config)
      return fail(explainFailure(choice, std::move(config.error())));
  return fail(ErrorCode::NotFound,
              fmt::format("--{}: no 'koordctl up' {} has a {} to query: give its address, for a "
                          "cluster through kubectl port-forward",
                          component.substr(component.find('-') + 1),
                          choice.files.empty()
                              ? std::string("running on its default data folder")
                              : fmt::format("that runs beside kubeconfig {}", choice.files.front()),
                          component));
}

Task<Result<>> SchedulerClient::find() {
  auto url = componentUrlOf("koord-scheduler", given_, dataDir_, choice_);
  if (!url) co_return fail(std::move(url.error()));
  url_ = *std::move(url);
  if (!url_.starts_with("https://")) co_return Result<>{};
  auto config = loadChoice(choice_);
  if (!config) co_return fail(explainFailure(choice_, std::move(config.error())));
  asMyself_.emplace(http_, *config);
  kube::HttpApi api(http_, executor_, *std::move(config));
  const api::ObjectKey key{"koordinator-system", "koord-scheduler"};
  auto reading = kube::get<api::Lease>(api, key);
  auto lease = co_await reading;
  if (!lease) co_return fail(explainFailure(choice_, std::move(lease.error())));
  const auto* certificate = api::findIn(lease->metadata.annotations, kube::kServingCertificate);
  if (!certificate)
    co_return fail(ErrorCode::NotFound,
                   fmt::format("the lease {} does not name the certificate of its holder: it is "
                               "not a koord-scheduler with a --secure-port",
                               key.toString()));
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = *certificate;
  tls->serverName = kube::kServingName;
  tls_ = std::move(tls);
  co_return Result<>{};
}

Task<Result<net::HttpResponse>> SchedulerClient::fetch(net::HttpRequest request) {
  const std::string target = request.url;
  net::HttpTransport* transport = &http_;
  if (tls_ && target.starts_with("https://")) {
    request.tls = tls_;
    transport = &*asMyself_;
  }
  auto fetching = transport->fetch(executor_, std::move(request));
  auto reply = co_await fetching;
  if (reply) co_return reply;
  Error error = std::move(reply.error()).within(target);
  co_return fail(given_.empty() ? explainFailure(choice_, std::move(error)) : std::move(error));
}

}  // namespace koord::koordctl
