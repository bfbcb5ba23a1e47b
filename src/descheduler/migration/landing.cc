#include "descheduler/migration/landing.h"

#include <fmt/format.h>

#include "api/codec.h"
#include "base/file.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/leader_address.h"
#include "kube/secure_serving.h"

namespace koord::descheduler {

namespace {

constexpr Duration kRetryDelay = std::chrono::minutes(1);
constexpr Duration kPatience = std::chrono::seconds(5);
// Only a pod's metadata and spec decide its placement. These long fields of them are omitted.
constexpr const char* kContainerFields[] = {"command", "args", "env", "workingDir"};

void shorten(json::value& containers) {
  if (!containers.is_array()) return;
  for (json::value& container : containers.get_array())
    if (auto* object = container.if_object())
      for (const char* field : kContainerFields) object->erase(field);
}

// A kept pod has only the sum of its containers' requests.
json::value keptDocument(const Pod& pod) {
  json::object requests;
  if (pod.facts.milliCpu > 0) requests["cpu"] = fmt::format("{}m", pod.facts.milliCpu);
  if (pod.facts.memory > 0) requests["memory"] = std::to_string(pod.facts.memory);
  for (const auto& [name, amount] : pod.scalars) requests[name] = std::to_string(amount);
  json::value document = api::encode<api::Pod>(pod);
  json::value& spec = document.get_object()["spec"];
  if (!spec.is_object()) spec.emplace_object();
  spec.get_object()["containers"] = json::array{json::object{
      {"name", "all"}, {"resources", json::object{{"requests", std::move(requests)}}}}};
  return document;
}

json::value podDocument(const LandingMove& move) {
  json::value document = move.whole ? *move.whole : keptDocument(*move.pod);
  json::object& object = document.get_object();
  object.erase("status");
  if (json::value* metadata = find(document, "metadata"))
    if (auto* fields = metadata->if_object()) fields->erase("managedFields");
  if (json::value* spec = find(document, "spec"))
    for (const char* list : {"containers", "initContainers"})
      if (json::value* containers = find(*spec, list)) shorten(*containers);
  return document;
}

}  // namespace

std::string landingRequest(const std::vector<LandingMove>& moves) {
  json::array pods;
  for (const LandingMove& move : moves) {
    json::object each{{"pod", podDocument(move)}, {"from", move.pod->spec.nodeName}};
    if (move.stays) each["stays"] = true;
    if (!move.group.empty()) each["group"] = move.group;
    json::array avoid;
    for (const std::string& node : move.avoid) avoid.push_back(json::string(node));
    if (!avoid.empty()) each["avoid"] = std::move(avoid);
    pods.push_back(std::move(each));
  }
  return toJson(json::value(json::object{{"pods", std::move(pods)}}));
}

Result<std::vector<LandingPlace>> readLandingReply(std::string_view body, std::size_t count) {
  auto document = parseJson(body);
  if (!document) return fail(std::move(document.error()));
  const json::value* pods = find(*document, "pods");
  if (!pods || !pods->is_array() || pods->get_array().size() != count)
    return fail(ErrorCode::Internal,
                fmt::format("expected results for {} pods in \"pods\"", count));
  std::vector<LandingPlace> places;
  for (const json::value& each : pods->get_array()) {
    LandingPlace place{std::string(textAt(each, "node")), std::string(textAt(each, "message"))};
    if (place.node.empty() && place.why.empty()) place.why = "no reason was given";
    places.push_back(std::move(place));
  }
  return places;
}

Task<Result<std::string>> SchedulerLanding::findScheduler() {
  if (!args_.schedulerURL.empty()) {
    std::string url = args_.schedulerURL;
    while (url.ends_with('/')) url.pop_back();
    if (url.starts_with("https://") && args_.caFile.empty()) {
      const api::ObjectKey leaseKey{args_.leaseNamespace, args_.leaseName};
      auto reading = kube::get<api::Lease>(handle_.api(), leaseKey);
      auto lease = co_await reading;
      const auto* told =
          lease ? api::findIn(lease->metadata.annotations, kube::kServingCertificate) : nullptr;
      certificate_ = told ? *told : std::string();
    }
    co_return url;
  }
  const api::ObjectKey leaseKey{args_.leaseNamespace, args_.leaseName};
  auto finding = kube::findLeader(handle_.api(), leaseKey, args_.port);
  auto leader = co_await finding;
  if (!leader) co_return fail(std::move(leader.error()));
  if (leader->certificate.empty() && args_.caFile.empty())
    co_return fail(ErrorCode::NotFound, fmt::format("the lease {} does not name the certificate of "
                                                    "its holder, and landing.caFile is not set",
                                                    leaseKey.toString()));
  certificate_ = std::move(leader->certificate);
  co_return std::move(leader->url);
}

Task<Result<std::vector<LandingPlace>>> SchedulerLanding::queryScheduler(std::string url,
                                                                         std::string body,
                                                                         std::size_t count) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = url + "/apis/v1/whatif/pods";
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  request.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(kPatience);
  auto tls = std::make_shared<net::TlsConfig>();
  if (args_.caFile.empty()) {
    // The scheduler creates a self-signed certificate at its start and publishes it in the lease.
    // Credentials are sent only to a server that is verified by it, or by caFile.
    tls->caPem = certificate_;
    if (!certificate_.empty()) tls->serverName = kube::kServingName;
  } else {
    auto authorities = readFile(args_.caFile);
    if (!authorities) co_return fail(std::move(authorities.error()).within("landing.caFile"));
    tls->caPem = *std::move(authorities);
  }
  request.tls = std::move(tls);
  auto fetching = http_->fetch(handle_.executor(), std::move(request));
  auto reply = co_await fetching;
  if (!reply) co_return fail(std::move(reply.error()));
  if (reply->status == 404) {
    retryAt_ = handle_.executor().steadyNow() + kRetryDelay;
    co_return fail(ErrorCode::NotFound, "it does not support the request");
  }
  if (reply->status != 200)
    co_return fail(ErrorCode::Unavailable,
                   fmt::format("it replied with status {}: {}", reply->status, reply->body));
  co_return readLandingReply(reply->body, count);
}

Task<std::optional<std::vector<LandingPlace>>> SchedulerLanding::ask(
    std::vector<LandingMove> moves) {
  if (!http_ || !args_.enabled || handle_.executor().steadyNow() < retryAt_) co_return std::nullopt;
  const std::string body = landingRequest(moves);
  Error problem;
  // The leader may have changed since it was found.
  for (int tries = 0; tries < 2; ++tries) {
    if (url_.empty()) {
      auto finding = findScheduler();
      auto found = co_await finding;
      if (!found) {
        problem = std::move(found.error());
        break;
      }
      url_ = *std::move(found);
    }
    auto asking = queryScheduler(url_, body, moves.size());
    auto answer = co_await asking;
    if (answer) co_return *std::move(answer);
    problem = std::move(answer.error());
    url_.clear();
    if (problem.code == ErrorCode::NotFound) break;
  }
  log::v(1, "koord-scheduler did not report where pods would land: {}", problem.message);
  if (problem.code != ErrorCode::NotFound)
    retryAt_ = handle_.executor().steadyNow() + std::chrono::seconds(5);
  co_return std::nullopt;
}

}  // namespace koord::descheduler
