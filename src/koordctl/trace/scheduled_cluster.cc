#include "koordctl/trace/scheduled_cluster.h"

#include <utility>

#include "base/json.h"
#include "scheduler/plugins/deviceshare/device_object.h"
#include "scheduler/plugins/loadawarescheduling/node_metrics.h"
#include "scheduler/plugins/registry.h"

namespace koord::koordctl {

// Calls are answered by the cluster; there is nothing to watch.
class ScheduledCluster::Api final : public kube::Api {
 public:
  explicit Api(ScheduledCluster& cluster) : cluster_(cluster) {}
  Task<Result<std::string>> call(kube::Request request) override {
    co_return cluster_.answer(request);
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override {
    return std::make_unique<kube::Watch>();
  }

 private:
  ScheduledCluster& cluster_;
};

Result<std::unique_ptr<ScheduledCluster>> ScheduledCluster::create(
    scheduler::SchedulerConfiguration configuration, const Objects& objects, std::uint64_t seed) {
  std::unique_ptr<ScheduledCluster> cluster(new ScheduledCluster);
  cluster->api_ = std::make_unique<Api>(*cluster);
  cluster->registry_ = scheduler::makeRegistry();
  scheduler::SchedulerOptions options;
  cluster->profile_ = configuration.profiles.front().schedulerName;
  options.configuration = std::move(configuration);
  options.seed = seed;
  options.selfCheck = false;
  options.controllerPlugins = {};
  auto made = scheduler::Scheduler::create(std::move(options), cluster->registry_, cluster->loop_,
                                           cluster->api_.get());
  if (!made) return fail(made.error());
  cluster->scheduler_ = *std::move(made);
  auto& devices = cluster->scheduler_->stores().of<api::Device>();
  for (const Node& node : objects.nodes) {
    cluster->nodes_.emplace(node->metadata.name, node);
    cluster->scheduler_->nodeAdded(node);
  }
  for (const auto& device : objects.devices) devices.set(device);
  cluster->scheduler_->start();
  cluster->loop_.runReady();
  return cluster;
}

ScheduledCluster::~ScheduledCluster() = default;

void ScheduledCluster::add(const Pod& pod) {
  pods_.emplace(pod->metadata.name, pod);
  if (!pod->spec.nodeName.empty()) ++placed_;
  scheduler_->podAdded(pod);
}

void ScheduledCluster::update(const Node& node) {
  const auto it = nodes_.find(node->metadata.name);
  if (it == nodes_.end()) return;
  const Node before = std::exchange(it->second, node);
  scheduler_->nodeUpdated(before, node);
}

void ScheduledCluster::report(api::NodeMetric metric) {
  scheduler_->stores().of<scheduler::LoadReport>().set(
      std::make_shared<const scheduler::LoadReport>(scheduler::digest(std::move(metric))));
}

void ScheduledCluster::remove(const std::string& name) {
  const auto it = pods_.find(name);
  if (it == pods_.end()) return;
  const Pod pod = it->second;
  forget(name);
  scheduler_->podDeleted(pod);
}

void ScheduledCluster::forget(const std::string& name) {
  const auto it = pods_.find(name);
  if (it == pods_.end()) return;
  if (!it->second->spec.nodeName.empty()) --placed_;
  pods_.erase(it);
}

void ScheduledCluster::advance(Duration time) {
  loop_.runReady();
  if (time > Duration::zero()) loop_.advance(time);
  loop_.runReady();
}

std::string ScheduledCluster::nodeOf(const std::string& name) const {
  const auto it = pods_.find(name);
  return it == pods_.end() ? std::string() : std::string(it->second->spec.nodeName);
}

ScheduledCluster::Node ScheduledCluster::node(const std::string& name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? nullptr : it->second;
}

ScheduledCluster::Pod ScheduledCluster::pod(const std::string& name) const {
  const auto it = pods_.find(name);
  return it == pods_.end() ? nullptr : it->second;
}

Result<std::string> ScheduledCluster::answer(const kube::Request& request) {
  if (request.resource == "events") return "{}";
  const auto it = pods_.find(request.name);
  if (it == pods_.end()) return fail(ErrorCode::NotFound, "no pod \"" + request.name + "\"");
  const Pod pod = it->second;
  if (request.subresource == "binding") return bind(request, pod);
  if (request.verb == kube::Verb::Delete) {
    forget(request.name);
    onPreempted(request.name);
    loop_.post([this, pod] { scheduler_->podDeleted(pod); });
  }
  return "{}";  // conditions and nominations are not kept
}

Result<std::string> ScheduledCluster::bind(const kube::Request& request, const Pod& pod) {
  const auto body = parseJson(request.body);
  if (!body) return fail(body.error());
  auto bound = std::make_shared<api::Pod>(*pod);
  bound->spec.nodeName = textAt(*body, "target", "name");
  bound->metadata.resourceVersion = "2";
  if (const auto* added = at(*body, "metadata", "annotations"); added && added->is_object())
    for (const auto& member : added->get_object())
      bound->metadata.annotations[member.key()] = std::string(member.value().get_string());
  pods_[request.name] = bound;
  ++placed_;
  onPlaced(request.name);
  loop_.post([this, pod, bound] { scheduler_->podUpdated(pod, bound); });
  return "{}";
}

}  // namespace koord::koordctl
