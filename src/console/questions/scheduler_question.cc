#include "console/questions/scheduler_question.h"

#include <fmt/format.h>

#include "api/core.h"
#include "base/aside.h"
#include "console/questions/simulation_request.h"
#include "kube/client.h"
#include "kube/leader_address.h"
#include "kube/secure_serving.h"

namespace koord::console {

namespace {

using namespace std::chrono_literals;

constexpr auto kPatience = 45s;
constexpr std::size_t kMostAnswerBytes = 64 << 20;
constexpr const char* kNote =
    "pods are as in the manifest, without the defaults and webhooks of the cluster: koordctl "
    "simulate adds them";

Task<Result<kube::LeaderAddress>> findScheduler(kube::Api& api, SchedulerPlace place) {
  const api::ObjectKey lease{place.leaseNamespace, place.leaseName};
  if (place.url.empty()) {
    auto finding = kube::findLeader(api, lease, place.port);
    auto found = co_await finding;
    if (!found)
      co_return fail(ErrorCode::NotFound, "koord-scheduler is not found: " + found.error().message);
    co_return found;
  }
  auto reading = kube::get<api::Lease>(api, lease);
  const auto held = co_await reading;
  if (!held)
    co_return fail(ErrorCode::NotFound,
                   fmt::format("koord-scheduler is not found: the lease {}: {}", lease.toString(),
                               held.error().message));
  const auto* certificate = api::findIn(held->metadata.annotations, kube::kServingCertificate);
  co_return kube::LeaderAddress{place.url.substr(0, place.url.find_last_not_of('/') + 1),
                                certificate ? *certificate : std::string()};
}

json::value documentOf(json::object spec) {
  return json::object{{"apiVersion", "simulation.koordinator.sh/v1alpha1"},
                      {"kind", "Simulation"},
                      {"spec", std::move(spec)}};
}

Result<json::value> answerOf(const net::HttpResponse& reply, bool hasObjects) {
  auto answer = parseJson(reply.body);
  if (reply.status == 200) {
    json::value* status = answer ? find(*answer, "status") : nullptr;
    if (!status || !status->is_object())
      return fail(ErrorCode::Unavailable, "koord-scheduler: the answer is not one of a simulation");
    json::value& notes = status->get_object()["notes"];
    if (!notes.is_array()) notes = json::array();
    if (hasObjects) notes.get_array().push_back(kNote);
    return answer;
  }
  const std::string_view message = answer ? textAt(*answer, "message") : std::string_view();
  const std::string why =
      message.empty() ? fmt::format("status {}", reply.status) : std::string(message);
  return fail(codeOfHttpStatus(reply.status),
              fmt::format("koord-scheduler: {} (status {})", why, reply.status));
}

}  // namespace

Task<Result<json::value>> simulateAs(Executor& executor, kube::Api& api, net::HttpTransport& http,
                                     SchedulerPlace place, std::string request,
                                     std::shared_ptr<const kube::Caller> caller) {
  if (caller->token().empty())
    co_return fail(ErrorCode::Forbidden,
                   "koord-scheduler must know who asks, and this console has no token of yours to "
                   "show: koordctl simulate asks with your own credentials");
  auto reading = aside(executor, [&request] { return simulationSpec(request, "default"); });
  auto spec = co_await reading;
  if (!spec) co_return fail(std::move(spec.error()));
  auto finding = findScheduler(api, std::move(place));
  auto found = co_await finding;
  if (!found) co_return fail(std::move(found.error()));
  if (found->certificate.empty())
    co_return fail(ErrorCode::NotFound,
                   "koord-scheduler is not found: its lease does not name its certificate, so it "
                   "has no --secure-port");
  const json::value* objects = spec->if_contains("objects");
  const bool hasObjects = objects && objects->is_array() && !objects->get_array().empty();
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = found->certificate;
  tls->serverName = kube::kServingName;
  net::HttpRequest asked;
  asked.method = "POST";
  asked.url = found->url + "/apis/v1/simulations";
  asked.headers = {{"Content-Type", "application/json"},
                   {"Authorization", "Bearer " + caller->token()}};
  asked.body = toJson(documentOf(*std::move(spec)));
  asked.tls = std::move(tls);
  asked.timeout = kPatience;
  asked.maxResponseBytes = kMostAnswerBytes;
  auto fetching = http.fetch(executor, std::move(asked));
  const auto reply = co_await fetching;
  if (!reply) co_return fail(Error(reply.error()));
  co_return answerOf(*reply, hasObjects);
}

}  // namespace koord::console
