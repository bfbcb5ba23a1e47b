#include "cluster/up/pod_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cluster/hostnode/log_follower.h"
#include "cluster/simnode/kwok.h"
#include "cluster/simnode/simulated_container.h"
#include "cluster/streaming/text_command.h"
#include "cluster/up/remote_log.h"
#include "kube/client.h"
#include "net/answering.h"

namespace koord::cluster {

namespace {

constexpr int kCannotExecute = 126;  // as shells report it

std::string queried(const api::StringMap& query, std::string_view key) {
  const auto* text = api::findIn(query, key);
  return text ? *text : std::string();
}

// The container that the query names, else the only one.
Result<std::string> containerOf(const api::Pod& pod, const std::string& named, const Host* host) {
  const std::string name(pod.metadata.name);
  std::vector<std::string> containers;
  for (const auto& container : pod.spec.containers) containers.emplace_back(container.name);
  if (named.empty() && containers.size() == 1) return containers.front();
  std::vector<std::string> inits;
  for (const auto& container : pod.spec.initContainers) inits.emplace_back(container.name);
  if (named.empty())
    return fail(ErrorCode::BadRequest,
                fmt::format("a container name must be specified for pod {}, choose one of: [{}]{}",
                            name, fmt::join(containers, " "),
                            inits.empty() ? ""
                                          : fmt::format(" or one of the init containers: [{}]",
                                                        fmt::join(inits, " "))));
  for (const auto* list : {&containers, &inits})
    if (std::ranges::find(*list, named) != list->end()) return named;
  if (host && host->node().hasEphemeralContainer(api::keyOf(pod.metadata), named)) return named;
  return fail(ErrorCode::BadRequest,
              fmt::format("container {} is not valid for pod {}", named, name));
}

}  // namespace

Result<PodAccess::Place> PodAccess::placeOf(const api::Pod& pod) const {
  const std::string name(pod.metadata.name);
  if (pod.spec.nodeName.empty())
    return fail(ErrorCode::BadRequest, fmt::format("pod {} does not have a host assigned", name));
  if (host_ && pod.spec.nodeName == host_->nodeName()) return Place::Host;
  const auto node = nodes_.get({"", pod.spec.nodeName});
  if (!node)
    return fail(ErrorCode::BadRequest, fmt::format("pod {}: its node {} does not exist", name,
                                                   std::string(pod.spec.nodeName)));
  return isSimulated(*node) ? Place::Simulated : Place::Joined;
}

Task<Result<apiserver::PodLog>> PodAccess::log(api::ObjectKey key, api::StringMap query) {
  const auto pod = pods_.get(key);
  if (!pod) co_return fail(ErrorCode::NotFound, fmt::format("pods \"{}\" not found", key.name));
  const auto place = placeOf(*pod);
  if (!place) co_return fail(place.error());
  auto container = containerOf(*pod, queried(query, "container"), host_);
  if (!container) co_return fail(std::move(container.error()));
  if (*place == Place::Host) co_return hostLog(key, *std::move(container), query);
  if (*place == Place::Simulated) {
    auto describing = describe(pod, *std::move(container));
    auto text = co_await describing;
    co_return apiserver::PodLog{std::move(text), nullptr};
  }
  auto reading = joinedLog(pod, *std::move(container), std::move(query));
  co_return co_await reading;
}

Result<apiserver::PodLog> PodAccess::hostLog(const api::ObjectKey& key, std::string container,
                                             const api::StringMap& query) {
  const auto options = readLogOptions([&](std::string_view name) { return queried(query, name); },
                                      executor_.wallNow());
  if (!options) return fail(options.error());
  auto reader = LogFollower::open(executor_, host_->node(), key, std::move(container), *options);
  if (!reader) return fail(std::move(reader.error()));
  const auto shared = std::make_shared<LogFollower>(*std::move(reader));
  return apiserver::PodLog{"", [shared] { return shared->next(); }};
}

Task<Result<apiserver::PodLog>> PodAccess::joinedLog(PodPtr pod, std::string container,
                                                     api::StringMap query) {
  const auto node = nodes_.get({"", pod->spec.nodeName});
  auto url = remoteLogUrl(*node, api::keyOf(pod->metadata), container, query);
  if (!url) co_return fail(std::move(url.error()));
  const auto remote =
      std::make_shared<RemoteLog>(*joined_.http, executor_, *std::move(url),
                                  std::make_shared<const net::TlsConfig>(net::TlsConfig{
                                      joined_.caPem, joined_.client.certPem, joined_.client.keyPem,
                                      std::string(pod->spec.nodeName), false}));
  auto opening = remote->opened();
  auto opened = co_await opening;
  if (!opened) co_return fail(std::move(opened.error()));
  co_return apiserver::PodLog{"", [remote] { return remote->next(); }};
}

Task<std::string> PodAccess::describe(PodPtr pod, std::string container) {
  auto reading = kube::get<api::NodeSLO>(api_, {"", std::string(pod->spec.nodeName)});
  const auto slo = co_await reading;
  co_return describeSimulatedContainer(pod, container, slo ? &*slo : nullptr);
}

void PodAccess::stream(kube::Request call, net::ServerRequest request,
                       std::shared_ptr<net::Responder> responder) {
  const api::ObjectKey key{call.namespace_, call.name};
  const auto pod = pods_.get(key);
  if (!pod)
    return refuseStream(
        *responder,
        {ErrorCode::Unavailable, fmt::format("pod {} is not known yet: repeat it", key.name), {}});
  const auto place = placeOf(*pod);
  if (!place) return refuseStream(*responder, place.error());
  std::string container;
  if (call.subresource != "portforward") {
    // Admission may have changed the query.
    const auto target = net::parseTarget(request.target);
    auto named = containerOf(*pod, target ? std::string(target->param("container")) : "", host_);
    if (!named) return refuseStream(*responder, named.error());
    container = *std::move(named);
  }
  if (*place == Place::Joined)
    return answerNotImplemented(
        *responder,
        fmt::format("pod {} runs on the joined node {}: {} reaches pods of the first host only; "
                    "kubectl logs works. Run the command on that host",
                    key.name, std::string(pod->spec.nodeName), call.subresource));
  if (*place == Place::Simulated) {
    tasks_.spawn(net::runHandler("a stream of pod " + key.toString(), responder,
                                 streamSimulated(this, std::move(call), pod, std::move(container),
                                                 std::move(request), responder)));
    return;
  }
  auto& streams = host_->streams();
  if (call.subresource == "portforward")
    return streams.portForward(key, std::move(request), std::move(responder));
  if (call.subresource == "attach")
    return streams.attach(key, std::move(container), std::move(request), std::move(responder));
  streams.exec(key, std::move(container), std::move(request), std::move(responder));
}

Task<void> PodAccess::streamSimulated(PodAccess* self, kube::Request call, PodPtr pod,
                                      std::string container, net::ServerRequest request,
                                      std::shared_ptr<net::Responder> responder) {
  if (call.subresource == "portforward") {
    answerNotImplemented(
        *responder,
        fmt::format("pod {} is simulated: nothing listens on its ports. Pods of the host "
                    "node have ports; --host-node=on makes this host a node",
                    call.name));
    co_return;
  }
  auto describing = self->describe(pod, std::move(container));
  auto text = co_await describing;
  auto answering =
      answerExecWithText(&self->executor_, std::move(request), std::move(responder),
                         std::move(text), call.subresource == "exec" ? kCannotExecute : 0);
  co_await answering;
}

}  // namespace koord::cluster
