#include "koordlet/states/kubelet.h"

#include <fmt/core.h>

#include "api/codec.h"
#include "base/log.h"
#include "base/utf8.h"
#include "koordlet/states/list_items.h"

namespace koord::koordlet {

Result<std::string> kubeletUrl(const api::Node& node, const KubeletOptions& options,
                               std::string_view path) {
  std::string host;
  for (const auto& address : node.status.addresses)
    if (address.type == options.addressType && host.empty()) host = address.address;
  if (host.empty())
    return fail(ErrorCode::NotFound,
                fmt::format("node {} has no address of type {} (--kubelet-preferred-address-type)",
                            node.metadata.name, options.addressType));
  if (host.find(':') != std::string::npos) host = fmt::format("[{}]", host);
  if (options.insecure) return fmt::format("http://{}:{}{}", host, options.readOnlyPort, path);
  const auto& endpoint = node.status.daemonEndpoints.kubeletEndpoint;
  if (!endpoint || endpoint->Port <= 0)
    return fail(
        ErrorCode::NotFound,
        fmt::format("node {} has no status.daemonEndpoints.kubeletEndpoint", node.metadata.name));
  return fmt::format("https://{}:{}{}", host, endpoint->Port, path);
}

namespace {

// koordlet does not use three quarters of a pod's text.
void dropUnusedFields(api::Pod& pod) {
  const auto drop = [](auto& member) { member = {}; };
  drop(pod.spec.affinity);
  drop(pod.spec.tolerations);
  drop(pod.spec.topologySpreadConstraints);
  drop(pod.status.conditions);
  for (auto* containers : {&pod.spec.containers, &pod.spec.initContainers})
    for (auto& container : *containers) {
      drop(container.image);
      drop(container.command);
      drop(container.args);
      drop(container.workingDir);
      drop(container.ports);
      drop(container.env);
    }
  for (auto* statuses : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (auto& status : *statuses) {
      drop(status.lastState);
      drop(status.image);
      drop(status.imageID);
    }
}

}  // namespace

Result<std::vector<std::shared_ptr<const api::Pod>>> PodListDecoder::decode(std::string_view body) {
  std::vector<std::shared_ptr<const api::Pod>> pods;
  pods.reserve(known_.size());
  ++list_;
  auto scanned = forEachListItem(body, [&](std::string_view item) {
    const std::size_t hash = std::hash<std::string_view>{}(item);
    if (const auto it = known_.find(hash); it != known_.end() && it->second.size == item.size()) {
      it->second.list = list_;
      pods.push_back(it->second.pod);
      return;
    }
    auto pod = api::decodeText<api::Pod>(item);
    if (pod && !pod->metadata.uid.empty()) {
      dropUnusedFields(*pod);
      pods.push_back(std::make_shared<const api::Pod>(*std::move(pod)));
      known_.insert_or_assign(hash, Known{item.size(), list_, pods.back()});
    } else {
      log::warn(
          "kubelet lists a pod that cannot be read: {}",
          pod ? fmt::format("{} has no metadata.uid", pod->metadata.name) : pod.error().message);
    }
  });
  if (!scanned) return fail(std::move(scanned.error()).within("kubelet's answer"));
  std::erase_if(known_, [&](const auto& entry) { return entry.second.list != list_; });
  return pods;
}

KubeletSource::KubeletSource(Executor& executor, net::HttpClient& client, KubeletOptions options,
                             Metrics& metrics)
    : executor_(executor), client_(client), options_(std::move(options)), metrics_(metrics) {}

Task<Result<>> KubeletSource::authenticate(net::HttpRequest& request) {
  std::shared_ptr<const net::TlsConfig> identity = options_.tls;
  if (options_.credentials) {
    auto asking = options_.credentials->credentials(executor_);
    auto credentials = co_await asking;
    if (!credentials) co_return fail(std::move(credentials.error()));
    if (credentials->tls) identity = credentials->tls;
    if (!credentials->token.empty())
      request.headers.push_back({"Authorization", "Bearer " + credentials->token});
  }
  const bool changed = !unverified_ || (identity && (identity->certPem != unverified_->certPem ||
                                                     identity->keyPem != unverified_->keyPem));
  if (changed) {
    net::TlsConfig tls;
    if (identity) {
      tls.certPem = identity->certPem;
      tls.keyPem = identity->keyPem;
    }
    tls.insecureSkipVerify = true;
    unverified_ = std::make_shared<const net::TlsConfig>(std::move(tls));
  }
  request.tls = unverified_;
  co_return Result<>{};
}

Task<Result<std::string>> KubeletSource::fetch(const api::Node& node, std::string path) {
  auto url = kubeletUrl(node, options_, path);
  if (!url) co_return fail(std::move(url.error()));
  net::HttpRequest request;
  request.url = *url;
  request.timeout = options_.timeout;
  request.connectTimeout = options_.timeout;
  request.headers.push_back({"Accept", "application/json"});
  if (!options_.insecure) {
    auto authenticating = authenticate(request);
    auto authenticated = co_await authenticating;
    if (!authenticated) co_return fail(std::move(authenticated.error()));
  }
  const SteadyTime start = executor_.steadyNow();
  auto task = client_.fetch(executor_, std::move(request));
  auto response = co_await task;
  if (!response) co_return fail(std::move(response.error()));
  metrics_.kubeletRequest(path, response->status, executor_.steadyNow() - start);
  if (response->status != 200) {
    Error error{codeOfHttpStatus(response->status),
                fmt::format("GET {}: status {}: {}", *url, response->status,
                            shortened(response->body, 200)),
                {}};
    co_return fail(std::move(error));
  }
  co_return std::move(response->body);
}

Task<Result<std::vector<std::shared_ptr<const api::Pod>>>> KubeletSource::list(
    const api::Node& node) {
  auto fetching = fetch(node, "/pods/");
  auto body = co_await fetching;
  if (!body) co_return fail(std::move(body.error()));
  co_return decoder_.decode(*body);
}

Task<Result<json::value>> KubeletSource::config(const api::Node& node) {
  auto fetching = fetch(node, "/configz");
  auto body = co_await fetching;
  if (!body) co_return fail(std::move(body.error()));
  co_return parseJson(*body);
}

}  // namespace koord::koordlet
