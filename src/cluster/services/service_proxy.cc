#include "cluster/services/service_proxy.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/file.h"
#include "base/log.h"
#include "cluster/hostnode/volumes/on_worker.h"
#include "cluster/services/proxy/rules.h"
#include "cluster/services/proxy/service_device.h"
#include "cluster/services/service_environment.h"
#include "kube/client.h"

namespace koord::cluster::services {

using namespace std::chrono_literals;

namespace {

constexpr const char* kTable = "koordctl";
constexpr const char* kDnsNamespace = "kube-system";
constexpr const char* kDnsName = "kube-dns";
constexpr const char* kDnsAddress = "10.96.0.10";  // kubeadm's
constexpr Duration kSettle = 20ms;                 // changes within it are applied together
constexpr int kRestShare = 2;                      // after an update, rest this many times its time
constexpr Duration kRetry = 2s;
constexpr Duration kSyncPoll = 10ms;
constexpr Duration kSyncLimit = 10s;

bool isReal(const api::Node& node) {
  const auto& endpoint = node.status.daemonEndpoints.kubeletEndpoint;
  return endpoint && endpoint->Port > 0;
}

json::array dnsPorts(const char* portField, int port) {
  json::array ports;
  for (const auto& [name, protocol] : {std::pair{"dns", "UDP"}, std::pair{"dns-tcp", "TCP"}})
    ports.push_back(json::object{{"name", name}, {"protocol", protocol}, {portField, port}});
  return ports;
}

json::value dnsService(bool fixedAddress) {
  json::object spec{{"ports", dnsPorts("port", 53)}};
  if (fixedAddress) spec["clusterIP"] = kDnsAddress;
  return json::object{{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"metadata",
                       {{"name", kDnsName},
                        {"namespace", kDnsNamespace},
                        {"labels",
                         {{"k8s-app", kDnsName},
                          {"kubernetes.io/cluster-service", "true"},
                          {"kubernetes.io/name", "koordctl"}}}}},
                      {"spec", std::move(spec)}};
}

template <class T>
std::vector<std::shared_ptr<const T>> allOf(const kube::Informer<T>& informer) {
  return {informer.objects().begin(), informer.objects().end()};
}

}  // namespace

ServiceProxy::ServiceProxy(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                           Random random, ServiceProxyOptions options)
    : api_(api),
      executor_(executor),
      options_(std::move(options)),
      events_(api, executor, "service-controller", random.fork()),
      nodes_(nodes),
      services_(api, executor, {}, random.fork()),
      slices_(api, executor, {}, random.fork()) {
  const auto any = [this](const auto&) { changed(); };
  const auto two = [this](const auto&, const auto&) { changed(); };
  services_.addHandler({any, two, any});
  slices_.addHandler({any, two, any});
}

ServiceProxy::~ServiceProxy() = default;

Result<std::unique_ptr<ServiceProxy>> ServiceProxy::open(kube::Api& api, Executor& executor,
                                                         kube::Informer<api::Node>& nodes,
                                                         Random random,
                                                         ServiceProxyOptions options) {
  auto proxy = std::unique_ptr<ServiceProxy>(
      new ServiceProxy(api, executor, nodes, random, std::move(options)));
  if (auto opened = proxy->openKernel(); !opened) return fail(std::move(opened.error()));
  if (auto opened = proxy->openDns(); !opened) return fail(std::move(opened.error()));
  return proxy;
}

Result<> ServiceProxy::openKernel() {
  if (const auto hidden = hiddenNameservers(readFile("/etc/resolv.conf").value_or(""),
                                            readFile("/proc/net/route").value_or(""));
      !hidden.empty())
    return fail(ErrorCode::Conflict,
                fmt::format("the name servers of /etc/resolv.conf ({}) are in 10.96.0.0/12, whose "
                            "addresses would belong to services",
                            hidden));
  auto table = NftTable::open();
  if (!table) return fail(std::move(table.error()));
  table_ = *std::move(table);
  auto device = openServiceDevice();
  if (device) {
    device_ = *std::move(device);
  } else {
    log::warn("{}: cluster IPs need a default route", device.error().message);
  }
  applied_ = tableText({}, kTable, kServiceDevice);
  return table_->run(applied_);
}

Result<> ServiceProxy::openDns() {
  net::dns::ServerOptions options;
  options.zone = kClusterDomain;
  options.answer = [names = names_](const net::dns::Question& question) {
    return names->now.load()->answer(question);
  };
  options.upstreams = [names = names_] {
    auto servers = net::dns::nameserversIn(readFile("/etc/resolv.conf").value_or(""));
    // A host that resolves by this server would ask it in a circle.
    std::erase(servers, *names->own.load());
    return servers;
  };
  auto server = net::dns::Server::start(std::move(options));
  if (!server) return fail(std::move(server.error()));
  dns_ = *std::move(server);
  return {};
}

Task<Result<>> ServiceProxy::start() {
  auto publishing = publishDns();
  auto published = co_await publishing;
  if (!published) co_return published;
  services_.onSynced([this] { changed(); });
  slices_.onSynced([this] { changed(); });
  followNodes();
  services_.start();
  slices_.start();
  for (Duration waited{}; waited < kSyncLimit && !(services_.synced() && slices_.synced());
       waited += kSyncPoll) {
    auto pause = sleepFor(executor_, kSyncPoll);
    co_await pause;
  }
  co_return Result<>{};
}

void ServiceProxy::followNodes() {
  const auto one = [this](const auto& node) {
    if (isReal(*node)) changed();
  };
  nodes_.addHandler({one,
                     [this](const auto& before, const auto& now) {
                       if (isReal(*before) != isReal(*now)) changed();
                     },
                     one});
}

std::set<std::string> ServiceProxy::realNodes() const {
  std::set<std::string> names{options_.node};
  for (const auto& node : nodes_.objects())
    if (isReal(*node)) names.insert(node->metadata.name);
  return names;
}

Task<Result<>> ServiceProxy::publishDns() {
  const api::ObjectKey key{kDnsNamespace, kDnsName};
  auto getting = kube::get<Service>(api_, key);
  auto service = co_await getting;
  for (const bool fixed : {true, false}) {
    if (service || service.error().code != ErrorCode::NotFound) break;
    // Another service may have the usual address.
    auto creating =
        kube::createObject(api_, Service::kType, {kDnsNamespace, ""}, dnsService(fixed));
    auto created = co_await creating;
    if (!created && (!fixed || created.error().code != ErrorCode::Invalid))
      co_return fail(std::move(created.error()).within("service kube-dns"));
    if (!created) continue;
    auto again = kube::get<Service>(api_, key);
    service = co_await again;
  }
  if (!service) co_return fail(std::move(service.error()).within("service kube-dns"));
  json::value slice = json::object{
      {"apiVersion", "discovery.k8s.io/v1"},
      {"kind", "EndpointSlice"},
      {"metadata",
       {{"name", kDnsName},
        {"namespace", kDnsNamespace},
        {"labels", {{kServiceNameLabel, kDnsName}, {kManagedByLabel, "koordctl"}}}}},
      {"addressType", "IPv4"},
      {"endpoints", json::array{json::object{{"addresses", json::array{options_.nodeIp}},
                                             {"conditions", {{"ready", true}}}}}},
      {"ports", dnsPorts("port", dns_->port())}};
  // An earlier run had another port.
  auto deleting = kube::deleteObject(api_, EndpointSlice::kType, key);
  auto deleted = co_await deleting;
  if (!deleted && deleted.error().code != ErrorCode::NotFound) co_return deleted;
  auto creating =
      kube::createObject(api_, EndpointSlice::kType, {kDnsNamespace, ""}, std::move(slice));
  auto created = co_await creating;
  if (!created) co_return fail(std::move(created.error()).within("endpoints of kube-dns"));
  if (!isHeadless(*service)) dnsAddress_ = service->spec.clusterIP;
  names_->own = std::make_shared<const std::string>(dnsAddress_);
  co_return Result<>{};
}

std::map<std::string, std::string> ServiceProxy::environment(const std::string& namespace_,
                                                             bool links) const {
  return serviceEnvironment(allOf(services_), namespace_, links);
}

Result<std::string> ServiceProxy::origin(const api::ServiceReference& service) const {
  constexpr int kHttps = 443;
  const auto known = services_.get({service.namespace_, service.name});
  if (!known || !isIpv4(known->spec.clusterIP))
    return fail(ErrorCode::Unavailable,
                fmt::format("service \"{}\" not found in namespace {}, or without a cluster IP",
                            service.name, service.namespace_));
  return fmt::format("https://{}:{}", known->spec.clusterIP, service.port.value_or(kHttps));
}

void ServiceProxy::changed() {
  if (!services_.synced() || !slices_.synced()) return;
  due_ = true;
  if (applying_) return;
  applying_ = true;
  tasks_.spawn(apply());
}

Task<void> ServiceProxy::apply() {
  while (due_) {
    auto settling = sleepFor(executor_, kSettle);
    co_await settling;
    due_ = false;
    const SteadyTime begun = executor_.steadyNow();
    auto services = allOf(services_);
    const auto slices = allOf(slices_);
    names_->now = std::make_shared<const ServiceNames>(services, slices);
    std::string text =
        tableText(rulesOf(services, slices, realNodes(), options_.nodeIp), kTable, kServiceDevice);
    if (text != applied_) {
      auto writing =
          onWorker(executor_, thread_.loop(), [table = table_, text] { return table->run(text); });
      auto written = co_await writing;
      if (written) {
        applied_ = std::move(text);
      } else {
        log::error("services: {}", written.error().message);
        due_ = true;
        auto pause = sleepFor(executor_, kRetry);
        co_await pause;
      }
    }
    auto showing = showBalancers(std::move(services));
    co_await showing;
    if (!due_) continue;
    auto pause = sleepFor(executor_, (executor_.steadyNow() - begun) * kRestShare);
    co_await pause;
  }
  applying_ = false;
}

Task<void> ServiceProxy::showBalancers(std::vector<ServicePtr> services) {
  for (const auto& service : services) {
    if (!service->spec.loadBalancerClass.empty()) continue;  // of another controller
    const std::string ip = loadBalancerIp(*service);
    api::List<LoadBalancerIngress> wanted;
    if (!ip.empty()) wanted.push_back({ip, "VIP"});
    if (service->status.loadBalancer.ingress == wanted) continue;
    json::value ingress = json::array();
    if (!ip.empty()) ingress = json::array{json::object{{"ip", ip}, {"ipMode", "VIP"}}};
    json::value patch =
        json::object{{"metadata", {{"uid", service->metadata.uid}}},
                     {"status", {{"loadBalancer", {{"ingress", std::move(ingress)}}}}}};
    auto patching = kube::mergePatch(api_, Service::kType, api::keyOf(service->metadata),
                                     std::move(patch), "status");
    auto patched = co_await patching;
    if (!patched && patched.error().code != ErrorCode::NotFound &&
        patched.error().code != ErrorCode::Conflict) {
      log::warn("service {}: {}", service->metadata.name, patched.error().message);
      continue;
    }
    if (patched && !ip.empty())
      events_.record(kube::referenceTo(Service::kType, service->metadata), "Normal",
                     "EnsuredLoadBalancer", "Ensured load balancer");
  }
}

}  // namespace koord::cluster::services
