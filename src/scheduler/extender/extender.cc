#include "scheduler/extender/extender.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "base/file.h"
#include "net/public_url.h"
#include "net/tls.h"
#include "net/url.h"
#include "scheduler/engine/resources.h"

namespace koord::scheduler {

namespace {

// Data in the configuration overrides a file. "" if neither is given.
std::string pemOf(const std::string& data, const std::string& file, const std::string& path,
                  std::vector<std::string>& errors) {
  if (data.empty() && file.empty()) return {};
  auto pem = data.empty() ? readFile(file) : net::base64Decode(data);
  if (pem) return *std::move(pem);
  errors.push_back(
      fmt::format("{}{}: {}", path, data.empty() ? "File" : "Data", pem.error().message));
  return {};
}

bool asksFor(const api::Container& container, const std::set<std::string, std::less<>>& resources) {
  const auto has = [&](const auto& entry) { return resources.contains(entry.first); };
  return std::ranges::any_of(container.resources.requests, has) ||
         std::ranges::any_of(container.resources.limits, has);
}

wire::PodObject podOf(const wire::Victims& victims, const std::string& uid) {
  const auto found = std::ranges::find_if(
      victims.pods, [&](const wire::PodObject& pod) { return pod->metadata.uid == uid; });
  return found == victims.pods.end() ? nullptr : *found;
}

}  // namespace

Extender::Extender(ExtenderConfig config, net::HttpTransport& transport, Executor& executor,
                   std::vector<std::string>& errors)
    : config_(std::move(config)),
      transport_(transport),
      executor_(executor),
      url_(config_.urlPrefix) {
  while (url_.ends_with('/')) url_.pop_back();
  if (const auto url = net::parseUrl(url_); !url) {
    errors.push_back(fmt::format("{}.urlPrefix: Invalid value: \"{}\": {}", config_.path,
                                 net::withoutCredentials(config_.urlPrefix), url.error().message));
  }
  for (std::size_t i = 0; i < config_.managedResources.size(); ++i) {
    const std::string& name = config_.managedResources[i].name;
    const auto refuse = [&](std::string_view why) {
      errors.push_back(fmt::format("{}.managedResources[{}].name: Invalid value: \"{}\": {}",
                                   config_.path, i, name, why));
    };
    if (const std::string wrong = api::checkQualifiedName(name); !wrong.empty()) refuse(wrong);
    if (!isExtendedResource(name)) refuse("is an invalid extended resource name");
    managed_.insert(name);
  }
  const auto& tls = config_.tls;
  if (!config_.enableHttps && tls == ExtenderConfig::Tls{}) return;
  const std::string path = config_.path + ".tlsConfig.";
  net::TlsConfig read;
  read.caPem = pemOf(tls.caData, tls.caFile, path + "ca", errors);
  read.certPem = pemOf(tls.certData, tls.certFile, path + "cert", errors);
  read.keyPem = pemOf(tls.keyData, tls.keyFile, path + "key", errors);
  read.serverName = tls.serverName;
  // As upstream: HTTPS without an authority accepts any certificate.
  read.insecureSkipVerify = tls.insecure || (config_.enableHttps && read.caPem.empty());
  tls_ = std::make_shared<const net::TlsConfig>(std::move(read));
}

bool Extender::interestedIn(const api::Pod& pod) const {
  if (managed_.empty()) return true;
  const auto asks = [&](const api::Container& container) { return asksFor(container, managed_); };
  return std::ranges::any_of(pod.spec.containers, asks) ||
         std::ranges::any_of(pod.spec.initContainers, asks);
}

Task<Result<std::string>> Extender::send(std::string verb, std::string body) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = fmt::format("{}/{}", url_, verb);
  request.headers = {{"Content-Type", "application/json"}};
  request.body = std::move(body);
  request.tls = tls_;
  request.timeout = std::chrono::ceil<std::chrono::milliseconds>(config_.httpTimeout);
  const std::string url = request.url;
  auto fetching = transport_.fetch(executor_, std::move(request));
  auto reply = co_await fetching;
  if (!reply) co_return fail(std::move(reply.error()));
  if (reply->status != 200) {
    co_return fail(ErrorCode::Unavailable, fmt::format("failed {} with extender at URL {}, code {}",
                                                       verb, url, reply->status));
  }
  co_return std::move(reply->body);
}

Task<Result<wire::FilterResult>> Extender::filter(wire::PodObject pod, wire::NodeObjects nodes) {
  const bool byName = config_.nodeCacheCapable;
  auto sending = send(config_.filterVerb, wire::args(*pod, nodes, byName));
  const auto reply = co_await sending;
  if (!reply) co_return fail(reply.error());
  auto result = wire::readFilterResult(*reply, byName);
  if (!result) co_return result;
  if (!result->error.empty()) co_return fail(ErrorCode::Unavailable, result->error);
  std::set<std::string_view> asked;
  for (const auto& node : nodes) asked.insert(node->metadata.name);
  for (const std::string& name : result->nodes) {
    if (asked.contains(name)) continue;
    co_return fail(
        ErrorCode::Invalid,
        fmt::format("extender \"{}\" claims a filtered node \"{}\" which is not found in "
                    "the input node list",
                    config_.urlPrefix, name));
  }
  co_return result;
}

Task<Result<std::vector<wire::HostPriority>>> Extender::prioritize(wire::PodObject pod,
                                                                   wire::NodeObjects nodes) {
  auto sending = send(config_.prioritizeVerb, wire::args(*pod, nodes, config_.nodeCacheCapable));
  const auto reply = co_await sending;
  if (!reply) co_return fail(reply.error());
  co_return wire::readPriorities(*reply);
}

Task<Result<>> Extender::bind(wire::PodObject pod, std::string node) {
  auto sending = send(config_.bindVerb, wire::bindingArgs(*pod, node));
  const auto reply = co_await sending;
  if (!reply) co_return fail(reply.error());
  const auto error = wire::readBindingResult(*reply);
  if (!error) co_return fail(error.error());
  if (!error->empty()) co_return fail(ErrorCode::Unavailable, *error);
  co_return Result<>{};
}

Task<Result<std::map<std::string, wire::Victims>>> Extender::preempt(
    wire::PodObject pod, std::map<std::string, wire::Victims> victims) {
  auto sending =
      send(config_.preemptVerb, wire::preemptionArgs(*pod, victims, config_.nodeCacheCapable));
  const auto reply = co_await sending;
  if (!reply) co_return fail(reply.error());
  const auto answer = wire::readPreemptionResult(*reply);
  if (!answer) co_return fail(answer.error());
  std::map<std::string, wire::Victims> left;
  for (const auto& [node, named] : *answer) {
    wire::Victims& entry = left[node];
    entry.budgetsBroken = named.budgetsBroken;
    const auto proposed = victims.find(node);
    for (const std::string& uid : named.uids) {
      const wire::PodObject found =
          proposed == victims.end() ? nullptr : podOf(proposed->second, uid);
      if (!found) {
        co_return fail(ErrorCode::Invalid,
                       fmt::format("extender: {} claims to preempt pod (UID: {}) on node: {}, but "
                                   "the pod is not found on that node",
                                   config_.urlPrefix, uid, node));
      }
      entry.pods.push_back(found);
    }
  }
  co_return left;
}

}  // namespace koord::scheduler
