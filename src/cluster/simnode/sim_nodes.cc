// Simulated nodes write to the API what a kubelet and a koordlet would, without any process. All
// nodes share one actor; a node costs an entry in a map, and a write when something is due.
//
//   nodes    A node with KWOK's mark that is not Ready gets a status: capacity (its own,
//            completed), conditions, an unused address. Its lease is renewed every 20 seconds,
//            which keeps the node lifecycle controller from tainting it.
//   pods     A pod that is bound to such a node is Running at once, with ready containers. It
//            succeeds after the delay of its annotation. A deleted pod is removed after its delay,
//            at most its grace period; if it has a finalizer, it ends first and stays, as on a real
//            node. Resized amounts are applied at once.
//   metrics  The NodeMetric of a node, once koord-manager has created it, gets a report per
//            interval of its spec, and the first at once, so that batch resources exist within a
//            second.
//
// Handlers only put names into work queues. The sync reads the current object, so a burst of events
// costs one write, and a failed write is retried with back-off. Writes name the pod's uid: a new
// pod of the same name is not affected by a write for the old one (Conflict), and NotFound counts
// as success.
//
// Cost: O(1) per pod event; each tick of a second checks all nodes for a due report. Stages and
// annotations: KWOK's default stages (kwok.h).

#include "cluster/simnode/sim_nodes.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "api/device.h"
#include "base/gather.h"
#include "base/log.h"
#include "cluster/node/node_agent.h"
#include "cluster/simnode/dra_devices.h"
#include "cluster/simnode/node_metric.h"
#include "kube/client.h"
#include "model/qos.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr Duration kMetricTick = 1s;
// Half of the lease's duration, twice that of kubelet: an idle cluster mostly renews leases.
constexpr Duration kLeaseRenewal = kNodeLeaseDuration / 2;
// Nodes or pods that are written together: the storage syncs a group once.
constexpr std::size_t kGroup = 100;
constexpr Duration kGroupPause = 20ms;

api::ObjectKey keyOf(const std::string& text) {
  const auto slash = text.find('/');
  return {text.substr(0, slash), text.substr(slash + 1)};
}

void fillDefaults(api::ResourceList& capacity) {
  capacity.try_emplace("cpu", Quantity::of(32));
  capacity.try_emplace("memory", Quantity::of(std::int64_t{128} << 30, Quantity::Format::BinarySI));
  capacity.try_emplace("pods", Quantity::of(110));
}

bool ready(const api::Node& node) {
  for (const auto& condition : node.status.conditions)
    if (condition.type == "Ready") return condition.status == "True";
  return false;
}

bool isReady(const api::Pod& pod) {
  const auto found = std::ranges::find(pod.status.conditions, "Ready", &api::PodCondition::type);
  return found != pod.status.conditions.end() && found->status == "True";
}

std::string addressOf(const api::Node& node) {
  for (const auto& address : node.status.addresses)
    if (address.type == "InternalIP") return address.address;
  return {};
}

const api::ContainerStatus* statusOf(const api::Pod& pod, const std::string& container) {
  for (const auto* list : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const auto& status : *list)
      if (status.name == container) return &status;
  return nullptr;
}

// Returns true if a running container requests other amounts than it has.
bool wasResized(const api::Pod& pod) {
  for (const auto* list : {&pod.spec.containers, &pod.spec.initContainers})
    for (const auto& container : *list) {
      const auto* status = statusOf(pod, container.name);
      if (status && status->resources &&
          (status->resources->requests != container.resources.requests ||
           status->resources->limits != container.resources.limits))
        return true;
    }
  return false;
}

}  // namespace

SimNodes::SimNodes(kube::Api& api, Executor& executor, kube::Informer<api::Node>& nodes,
                   kube::Informer<api::Pod>& pods, Random random)
    : api_(api),
      executor_(executor),
      nodes_(nodes),
      pods_(pods),
      metrics_(api, executor, {}, random.fork()),
      nodeQueue_(
          executor, "simulated-nodes", [this](std::string key) { return syncNode(std::move(key)); },
          kGroup),
      podQueue_(
          executor, "simulated-pods", [this](std::string key) { return syncPod(std::move(key)); },
          kGroup) {}

void SimNodes::start() {
  nodes_.addHandler({[this](const auto& node) { nodeSeen(*node); },
                     [this](const auto&, const auto& node) { nodeSeen(*node); },
                     [this](const auto& node) { nodesByName_.erase(node->metadata.name); }});
  pods_.addHandler({[this](const auto& pod) { onPod(*pod); },
                    [this](const auto&, const auto& pod) { onPod(*pod); },
                    [this](const auto& pod) { onPodDeleted(*pod); }});
  metrics_.addHandler({[this](const auto& metric) {
                         // The first report does not wait for the interval.
                         const auto node = nodesByName_.find(metric->metadata.name);
                         if (node != nodesByName_.end())
                           node->second.reportAt = executor_.steadyNow();
                       },
                       {},
                       {}});
  metrics_.start();
  nodeQueue_.start();
  podQueue_.start();
  tasks_.spawn(renewLeases());
  tasks_.spawn(reportMetrics());
}

Task<Result<>> SimNodes::createNodes(int count, SimNodeShape given) {
  const auto shape = std::make_shared<const SimNodeShape>(std::move(given));
  for (const auto& deviceClass : deviceClassesOf(*shape)) {
    auto creating = kube::create(api_, deviceClass);
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(
          std::move(created.error()).within("device class " + deviceClass.metadata.name));
  }
  for (int i = 0; i < count;) {
    std::vector<Task<Result<>>> creations;
    for (; i < count && creations.size() < kGroup; ++i) creations.push_back(createNode(shape, i));
    auto creating = gather(executor_, std::move(creations));
    auto results = co_await creating;
    for (auto& created : results)
      if (!created) co_return std::move(created);
  }
  co_return Result<>{};
}

Task<Result<>> SimNodes::createNode(std::shared_ptr<const SimNodeShape> shape, int number) {
  const std::string name = fmt::format("{}-{}", shape->name, number);
  const std::string what = "simulated node " + name;
  api::Node node;
  node.metadata.name = name;
  node.metadata.annotations = shape->annotations;
  node.metadata.annotations[std::string(kKwokNode)] = "fake";
  node.metadata.labels = labelsOf(*shape);
  for (const auto& [key, value] : api::StringMap{{"kubernetes.io/hostname", name},
                                                 {"kubernetes.io/os", "linux"},
                                                 {"kubernetes.io/arch", "amd64"},
                                                 {"type", "kwok"}})
    node.metadata.labels.try_emplace(key, value);
  node.status.capacity = capacityOf(*shape);
  node.status.allocatable = node.status.capacity;
  auto creating = kube::create(api_, node);
  auto created = co_await creating;
  if (!created && created.error().code != ErrorCode::AlreadyExists)
    co_return fail(std::move(created.error()).within(what));
  std::string uid;
  if (created) {
    uid = created->metadata.uid;
  } else {
    // An earlier run may have been stopped before all objects existed.
    auto reading = kube::get<api::Node>(api_, api::ObjectKey{"", name});
    auto known = co_await reading;
    if (!known && known.error().code == ErrorCode::NotFound) co_return Result<>{};
    if (!known) co_return fail(std::move(known.error()).within(what));
    if (!isSimulated(*known)) co_return Result<>{};
    uid = known->metadata.uid;
  }
  auto adding = createParts(shape, name, std::move(uid));
  auto added = co_await adding;
  if (!added) co_return fail(std::move(added.error()).within(what));
  co_return Result<>{};
}

// The objects are owned by their node.
Task<Result<>> SimNodes::createParts(std::shared_ptr<const SimNodeShape> shape, std::string node,
                                     std::string uid) {
  const json::array owners{json::object{
      {"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}, {"uid", uid}, {"controller", true}}};
  if (auto topology = topologyOf(*shape, node)) {
    static constexpr api::ResourceType kTopology{"topology.node.k8s.io", "v1alpha1",
                                                 "noderesourcetopologies", "NodeResourceTopology",
                                                 false};
    (*topology)["metadata"].get_object()["ownerReferences"] = owners;
    auto creating =
        kube::createObject(api_, kTopology, {"", node}, json::value(*std::move(topology)));
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()));
  }
  for (const auto& slice : slicesOf(*shape, node, uid)) {
    auto creating = kube::create(api_, slice);
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()));
  }
  if (auto device = deviceOf(*shape, node)) {
    (*device)["metadata"].get_object()["ownerReferences"] = owners;
    auto creating =
        kube::createObject(api_, api::Device::kType, {"", node}, json::value(*std::move(device)));
    auto created = co_await creating;
    if (!created && created.error().code != ErrorCode::AlreadyExists)
      co_return fail(std::move(created.error()));
  }
  co_return Result<>{};
}

void SimNodes::nodeSeen(const api::Node& node) {
  const std::string& name = node.metadata.name;
  if (!isSimulated(node)) {
    nodesByName_.erase(name);
    return;
  }
  const auto [known, fresh] = nodesByName_.try_emplace(name);
  if (fresh) {
    known->second.ip = addressOf(node);
    nodeAddresses_.take(known->second.ip);
    known->second.reportAt = executor_.steadyNow();
    for (const auto& pod : pods_.objects())
      if (pod->spec.nodeName == name) onPod(*pod);
  }
  if (!ready(node)) nodeQueue_.add(name);
}

Task<Result<>> SimNodes::syncNode(std::string name) {
  const auto node = nodes_.get({"", name});
  const auto known = nodesByName_.find(name);
  if (!node || known == nodesByName_.end() || ready(*node)) co_return Result<>{};
  // Not before: the addresses of all known nodes are taken now.
  if (known->second.ip.empty()) known->second.ip = nodeAddresses_.next();
  const std::string ip = known->second.ip;  // the entry may be gone when the lease is renewed
  auto renewing = renewNodeLease(api_, name, executor_.wallNow());
  auto renewed = co_await renewing;
  if (!renewed) co_return renewed;
  api::NodeStatus status;
  status.capacity = node->status.capacity;
  fillDefaults(status.capacity);
  status.allocatable =
      node->status.allocatable.empty() ? status.capacity : node->status.allocatable;
  status.conditions = nodeConditions(node->status.conditions, executor_.wallNow(), true,
                                     "KubeletReady", "simulated by koordctl");
  status.addresses = {{"InternalIP", ip}, {"Hostname", name}};
  const std::string fake = "simulated";
  status.nodeInfo = {name, name, name, fake, fake, "simulated://1", fake, fake, "linux", "amd64"};
  json::value patch = json::object{{"status", api::encode(status)}};
  auto patching = kube::patchOnly(api_, api::Node::kType, {"", name}, kube::PatchType::Strategic,
                                  std::move(patch), "status");
  auto patched = co_await patching;
  if (!patched && patched.error().code != ErrorCode::NotFound)
    co_return fail(std::move(patched.error()));
  // A controller that considered the node lost has made its pods unready, too.
  if (const auto again = nodesByName_.find(name); again != nodesByName_.end())
    for (const auto& key : again->second.pods) {
      restored_.insert(key);
      podQueue_.add(key.toString());
    }
  co_return Result<>{};
}

void SimNodes::onPod(const api::Pod& pod) {
  if (pod.spec.nodeName.empty()) return;
  podAddresses_.take(pod.status.podIP.str());
  const auto node = nodesByName_.find(pod.spec.nodeName);
  if (node == nodesByName_.end()) return;
  const auto key = api::keyOf(pod.metadata);
  node->second.pods.insert(key);
  const bool running = pod.status.phase == "Running";
  if (pod.metadata.deletionTimestamp || pod.status.phase.empty() || pod.status.phase == "Pending" ||
      (running && wasResized(pod))) {
    podQueue_.add(key.toString());
  } else if (const auto delay = completionDelay(pod); running && delay && pod.status.startTime) {
    const Duration left = *pod.status.startTime + *delay - executor_.wallNow();
    podQueue_.addAfter(key.toString(), std::max<Duration>(left, 0s));
  }
}

void SimNodes::onPodDeleted(const api::Pod& pod) {
  if (const auto node = nodesByName_.find(pod.spec.nodeName); node != nodesByName_.end())
    node->second.pods.erase(api::keyOf(pod.metadata));
}

Task<Result<>> SimNodes::syncPod(std::string key) {
  const auto pod = pods_.get(keyOf(key));
  if (!pod) restored_.erase(keyOf(key));
  if (!pod || !nodesByName_.contains(pod->spec.nodeName)) co_return Result<>{};
  if (pod->metadata.deletionTimestamp) {
    // deletionTimestamp is the time when it must be gone, deletionGracePeriodSeconds after the
    // request.
    const auto grace = std::chrono::seconds(pod->metadata.deletionGracePeriodSeconds.value_or(0));
    const auto delay = std::min<Duration>(deletionDelay(*pod), grace);
    const Duration left = *pod->metadata.deletionTimestamp - grace + delay - executor_.wallNow();
    if (delay > 0s && left > 0s) {
      podQueue_.addAfter(key, left);
      co_return Result<>{};
    }
    // Controllers that hold the pod with a finalizer must see that it has ended.
    if (!pod->metadata.finalizers.empty() && !api::isTerminal(*pod)) {
      auto ending = setStatus(pod, "Failed");
      auto ended = co_await ending;
      if (!ended) co_return ended;
    }
    kube::DeleteOptions options{pod->metadata.uid, "", 0, ""};
    auto deleting =
        kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), std::move(options));
    auto deleted = co_await deleting;
    const auto code = deleted ? ErrorCode::NotFound : deleted.error().code;
    if (code != ErrorCode::NotFound && code != ErrorCode::Conflict) co_return deleted;
    co_return Result<>{};
  }
  const bool restored = restored_.erase(api::keyOf(pod->metadata)) > 0 && !isReady(*pod);
  if (api::isTerminal(*pod)) co_return Result<>{};
  if (pod->status.phase != "Running" || wasResized(*pod) || restored) {
    auto starting = setStatus(pod, "Running");
    co_return co_await starting;
  }
  const auto delay = completionDelay(*pod);
  if (!delay || !pod->status.startTime || executor_.wallNow() < *pod->status.startTime + *delay)
    co_return Result<>{};
  auto completing = setStatus(pod, "Succeeded");
  co_return co_await completing;
}

Task<Result<>> SimNodes::setStatus(std::shared_ptr<const api::Pod> pod, std::string phase) {
  const WallTime now = executor_.wallNow();
  const bool running = phase == "Running";
  api::PodStatus status;
  status.phase = phase;
  status.startTime = pod->status.startTime ? pod->status.startTime : api::Time(now);
  status.qosClass = std::string(model::textOf(model::computeKubernetesQos(pod->spec)));
  status.hostIP = nodesByName_.at(pod->spec.nodeName).ip;
  status.podIP = pod->status.podIP.empty() ? podAddresses_.next() : pod->status.podIP;
  status.podIPs = {api::PodIP{status.podIP.str()}};
  for (const char* type : {"Initialized", "Ready", "ContainersReady"}) {
    api::PodCondition condition;
    condition.type = type;
    condition.status = running || condition.type == "Initialized" ? "True" : "False";
    condition.lastTransitionTime = now;
    if (!running) condition.reason = "PodCompleted";
    status.conditions.push_back(std::move(condition));
  }
  const auto describe = [&](const api::Container& container, bool done) {
    api::ContainerStatus state;
    state.name = container.name;
    state.image = container.image;
    state.containerID = fmt::format("simulated://{}-{}", pod->metadata.uid, container.name);
    state.ready = done || running;
    state.started = !done && running;
    if (done || !running) {
      const bool killed = !done && phase == "Failed";
      state.state.terminated =
          api::ContainerStateTerminated{.exitCode = killed ? 137 : 0,
                                        .reason = killed ? "Error" : "Completed",
                                        .startedAt = status.startTime,
                                        .finishedAt = now};
    } else {
      const auto* before = statusOf(*pod, container.name);
      state.state.running =
          before && before->state.running ? before->state.running : api::ContainerStateRunning{now};
      // A container gets the requested amounts at once.
      state.resources = container.resources;
      state.allocatedResources = container.resources.requests;
    }
    return state;
  };
  for (const auto& container : pod->spec.initContainers)
    status.initContainerStatuses.push_back(
        describe(container, container.restartPolicy != "Always"));
  for (const auto& container : pod->spec.containers)
    status.containerStatuses.push_back(describe(container, false));
  json::value patch =
      json::object{{"metadata", {{"uid", pod->metadata.uid}}}, {"status", api::encode(status)}};
  auto patching = kube::patchOnly(api_, api::Pod::kType, api::keyOf(pod->metadata),
                                  kube::PatchType::Strategic, std::move(patch), "status");
  auto patched = co_await patching;
  if (patched) co_return patched;
  const auto code = patched.error().code;
  if (code == ErrorCode::NotFound || code == ErrorCode::Conflict) co_return Result<>{};
  co_return patched;
}

// Groups spread over the period, so that the API server is never busy with all nodes at once.
Task<void> SimNodes::renewLeases() {
  while (true) {
    std::vector<std::string> names;
    for (const auto& [name, node] : nodesByName_) names.push_back(name);
    const auto groups = std::max<std::size_t>(1, (names.size() + kGroup - 1) / kGroup);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0 && i % kGroup == 0) {
        auto pause = sleepFor(executor_, kLeaseRenewal / groups);
        co_await pause;
      }
      tasks_.spawn(renewLease(names[i]));
    }
    auto pause = sleepFor(executor_, kLeaseRenewal / groups);
    co_await pause;
  }
}

Task<void> SimNodes::renewLease(std::string name) {
  auto renewing = renewNodeLease(api_, name, executor_.wallNow());
  auto renewed = co_await renewing;
  if (!renewed) log::v(2, "lease of node {}: {}", name, renewed.error().message);
}

Task<void> SimNodes::reportMetrics() {
  while (true) {
    const SteadyTime now = executor_.steadyNow();
    std::vector<std::string> due;
    for (const auto& [name, node] : nodesByName_)
      if (node.reportAt <= now) due.push_back(name);
    for (std::size_t i = 0; i < due.size(); ++i) {
      if (i > 0 && i % kGroup == 0) {
        auto pause = sleepFor(executor_, kGroupPause);
        co_await pause;
      }
      tasks_.spawn(tryReportMetric(due[i]));
    }
    auto pause = sleepFor(executor_, kMetricTick);
    co_await pause;
  }
}

Task<void> SimNodes::tryReportMetric(std::string name) {
  auto reporting = reportMetric(name);
  auto reported = co_await reporting;
  if (!reported) log::v(2, "metric of node {}: {}", name, reported.error().message);
}

Task<Result<>> SimNodes::reportMetric(std::string name) {
  const auto known = nodesByName_.find(name);
  const auto node = nodes_.get({"", name});
  const auto metric = metrics_.get({"", name});
  // koord-manager creates the object; until then there is nothing to report to.
  if (known == nodesByName_.end() || !node || !metric) co_return Result<>{};
  if (api::findIn(node->metadata.annotations, kMachine)) co_return Result<>{};
  std::vector<std::shared_ptr<const api::Pod>> pods;
  for (const auto& key : known->second.pods)
    if (const auto pod = pods_.get(key)) pods.push_back(pod);
  known->second.reportAt = executor_.steadyNow() + reportInterval(metric->spec);
  const auto status = nodeMetricStatus(*node, pods, metric->spec, executor_.wallNow());
  json::value patch = json::object{{"status", api::encode(status)}};
  auto patching = kube::patchOnly(api_, api::NodeMetric::kType, {"", name}, kube::PatchType::Merge,
                                  std::move(patch), "status");
  co_return co_await patching;
}

}  // namespace koord::cluster
