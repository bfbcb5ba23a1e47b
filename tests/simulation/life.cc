#include "simulation/life.h"

#include <algorithm>

#include "base/time.h"

namespace koord::simulation {

using namespace std::chrono_literals;

namespace {

constexpr const char* kDriver = "volumes.example.com";
constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kSelectedNode = "volume.kubernetes.io/selected-node";
constexpr std::size_t kMaxPods = 80;
constexpr std::size_t kMaxNodes = 16;

}  // namespace

Life::Life(kube::Api& api, VirtualLoop& loop, Invariants& invariants, Journal& journal,
           const Features& features, Random random)
    : Writes(api, journal),
      loop_(loop),
      invariants_(invariants),
      features_(features),
      random_(random.fork()),
      generate_(random.next()),
      shapes_(1 + random_.below(12)),
      volumes_(random_.chance(0.3) ? 0.5 : 0.1) {
  invariants_.pods.addHandler({[this](const auto& pod) { onPod(pod); },
                               [this](const auto&, const auto& pod) { onPod(pod); },
                               {}});
}

void Life::patch(const api::ResourceType& type, const api::ObjectMeta& meta, json::value patch,
                 std::string subresource) {
  patch.as_object()["metadata"].is_object() ? void()
                                            : void(patch.as_object()["metadata"] = json::object{});
  patch.as_object()["metadata"].as_object()["uid"] = meta.uid;
  write(
      kube::strategicPatch(api_, type, api::keyOf(meta), std::move(patch), std::move(subresource)));
}

std::vector<std::shared_ptr<const api::Node>> Life::sortedNodes() const {
  std::vector<std::shared_ptr<const api::Node>> all;
  for (const auto& node : invariants_.nodes.objects()) all.push_back(node);
  std::ranges::sort(all, {}, [](const auto& node) { return node->metadata.name; });
  return all;
}

void Life::begin() {
  constexpr api::ResourceType kPriorityClass{"scheduling.k8s.io", "v1", "priorityclasses",
                                             "PriorityClass", false};
  create(api::Namespace::kType, "",
         {{"metadata", {{"name", "other"}, {"labels", {{"team", "y"}}}}}});
  write(kube::mergePatch(api_, api::Namespace::kType, {"", "default"},
                         {{"metadata", {{"labels", {{"team", "x"}}}}}}));
  for (const auto& [name, value, policy] : {std::tuple{"low", -10, "PreemptLowerPriority"},
                                            {"high", 100, "PreemptLowerPriority"},
                                            {"higher", 1000, "PreemptLowerPriority"},
                                            {"polite", 100, "Never"}})
    create(kPriorityClass, "",
           {{"metadata", {{"name", name}}}, {"value", value}, {"preemptionPolicy", policy}});
  create(api::StorageClass::kType, "",
         {{"metadata", {{"name", "fast"}}},
          {"provisioner", kDriver},
          {"volumeBindingMode", "WaitForFirstConsumer"}});
  create(api::StorageClass::kType, "",
         {{"metadata", {{"name", "local"}}},
          {"provisioner", "kubernetes.io/no-provisioner"},
          {"volumeBindingMode", "WaitForFirstConsumer"}});
  create(api::StorageClass::kType, "",
         {{"metadata", {{"name", "instant"}}},
          {"provisioner", kDriver},
          {"volumeBindingMode", "Immediate"}});
  crowded_ = std::ranges::any_of(features_, [](const auto& one) { return one->crowded(); });
  if (crowded_) volumes_ = 0;
  const std::uint64_t nodes = crowded_ ? 1 + random_.below(4) : 2 + random_.below(10);
  for (std::uint64_t n = 0; n < nodes; ++n) createNode();
}

void Life::act() {
  double dice = random_.unit();
  if (crowded_ && dice >= 0.70 && dice < 0.96 && random_.chance(0.9)) dice = 0;  // nodes stay
  if (dice < 0.35) {
    createPods();
  } else if (dice < 0.55) {
    const auto pods = invariants_.sortedPods();
    if (const auto* pod = anyOf(pods)) {
      journal_.note("somebody deletes pod {}", (*pod)->metadata.name);
      kube::DeleteOptions options;
      options.uid = (*pod)->metadata.uid;
      if (random_.chance(0.2)) options.gracePeriodSeconds = 0;
      write(kube::deleteObject(api_, api::Pod::kType, api::keyOf((*pod)->metadata), options));
    }
  } else if (dice < 0.70) {
    changePod();
  } else if (dice < 0.76) {
    if (invariants_.nodes.size() < kMaxNodes) createNode();
  } else if (dice < 0.80) {
    const auto nodes = sortedNodes();
    if (nodes.size() > 1) {
      const auto& node = *anyOf(nodes);
      journal_.note("node {} is deleted", node->metadata.name);
      write(kube::deleteObject(api_, api::Node::kType, {"", node->metadata.name}));
    }
  } else if (dice < 0.96) {
    changeNode();
  } else {
    createBudget();
  }
}

void Life::createPods() {
  const std::uint64_t count = 1 + random_.below(random_.chance(0.2) ? 16 : 4);
  for (std::uint64_t i = 0; i < count && invariants_.pods.size() < kMaxPods; ++i) createPod();
}

void Life::createPod() {
  auto pod = generate_.pod(++lastPod_, shapes_);
  api::Pod& object = pod.object();
  object.metadata.uid.clear();
  object.metadata.resourceVersion.clear();
  for (auto& container : object.spec.containers) {
    if (container.image.empty()) container.image = "img:2";
    // Recordings leave it out, and their replays must be the same.
    container.env = {{"SECRET", fmt::format("of {}", object.metadata.name), {}}};
    container.args = {container.env.front().value};
  }
  if (random_.chance(0.5))
    object.spec.priorityClassName = generate_.pick({"low", "high", "higher", "polite"});
  if (random_.chance(0.1)) pod.gate("example.com/wait");
  if (random_.chance(volumes_)) addVolumes(pod);
  if (random_.chance(volumes_ / 2)) {
    auto& disk = object.spec.volumes.emplace_back();
    disk.name = "disk";
    disk.gcePersistentDisk = {{"pdName", generate_.pick({"disk-a", "disk-b"})},
                              {"readOnly", random_.chance(0.5)}};
  }
  const auto nodes = sortedNodes();
  if (random_.chance(0.05) && !nodes.empty()) {
    pod.requireNode({{}, {{"metadata.name", "In", {(*anyOf(nodes))->metadata.name}}}});
  } else if (random_.chance(0.03) && !nodes.empty()) {
    pod.label(kForeign, "yes").nodeName((*anyOf(nodes))->metadata.name);
    object.spec.schedulingGates.clear();
  }
  for (const auto& feature : features_) feature->shape(pod);
  journal_.note("pod {} is created{}{}", object.metadata.name,
                object.spec.priorityClassName.empty() ? "" : ", of class ",
                object.spec.priorityClassName);
  create(api::Pod::kType, object.metadata.namespace_, api::encodeObject(object));
}

void Life::addVolumes(scheduler::testing::PodBuilder& pod) {
  const std::string namespace_ = pod.object().metadata.namespace_;
  const std::string name = fmt::format("claim-{}", ++lastVolume_);
  const std::string class_ = generate_.pick({"fast", "fast", "fast", "instant", "local", "local"});
  const bool exclusive = random_.chance(0.4);
  create(api::PersistentVolumeClaim::kType, namespace_,
         {{"metadata", {{"name", name}}},
          {"spec",
           {{"accessModes", json::array{exclusive ? "ReadWriteOncePod" : "ReadWriteOnce"}},
            {"storageClassName", class_},
            {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}});
  pod.claim(name);
  // Another volume, possibly in use, in the other namespace, or missing.
  if (const auto other = random_.below(lastVolume_ + 2);
      random_.chance(0.3) && other + 1 != lastVolume_)
    pod.claim(fmt::format("claim-{}", 1 + other));
  const auto nodes = sortedNodes();
  if (class_ != "local" || nodes.empty() || random_.chance(0.2)) return;
  const json::value where{
      {"required",
       {{"nodeSelectorTerms",
         json::array{
             {{"matchFields",
               json::array{{{"key", "metadata.name"},
                            {"operator", "In"},
                            {"values", json::array{(*anyOf(nodes))->metadata.name}}}}}}}}}}};
  create(api::PersistentVolume::kType, "",
         {{"metadata", {{"name", "local-" + name}}},
          {"spec",
           {{"accessModes", json::array{"ReadWriteOnce", "ReadWriteOncePod"}},
            {"storageClassName", "local"},
            {"capacity", {{"storage", generate_.pick({"1Gi", "2Gi"})}}},
            {"local", {{"path", "/disk"}}},
            {"nodeAffinity", where}}},
          {"status", {{"phase", "Available"}}}});
}

void Life::createNode() {
  auto node = generate_.node(++lastNode_);
  api::Node& object = node.object();
  object.metadata.uid.clear();
  if (const auto* zone = api::findIn(object.metadata.labels, "zone"); zone && random_.chance(0.7))
    object.metadata.labels[kZone] = std::string(*zone);
  const std::string name = object.metadata.name;
  for (const auto& feature : features_) feature->shape(node);
  journal_.note("node {} is created", name);
  create(api::Node::kType, "", api::encodeObject(object));
  create(api::CSINode::kType, "",
         {{"metadata", {{"name", name}}},
          {"spec",
           {{"drivers", json::array{{{"name", kDriver},
                                     {"nodeID", name},
                                     {"allocatable", {{"count", kVolumesPerNode}}}}}}}}});
}

void Life::changeNode() {
  const auto nodes = sortedNodes();
  if (nodes.empty()) return;
  const api::Node& node = **anyOf(nodes);
  journal_.note("node {} is changed", node.metadata.name);
  const double dice = random_.unit();
  if (dice < 0.3) {
    patch(api::Node::kType, node.metadata,
          {{"status",
            {{"allocatable",
              {{"cpu", generate_.pick({"1", "2", "4", "8"})},
               {"memory", generate_.pick({"2Gi", "4Gi", "8Gi"})}}}}}},
          "status");
  } else if (dice < 0.5) {
    patch(api::Node::kType, node.metadata,
          {{"spec", {{"unschedulable", !node.spec.unschedulable}}}});
  } else if (dice < 0.8) {
    json::array taints;
    if (random_.chance(0.5))
      taints.push_back({{"key", "t"},
                        {"value", generate_.pick({"x", "y"})},
                        {"effect", generate_.pick({"NoSchedule", "PreferNoSchedule"})}});
    write(kube::mergePatch(api_, api::Node::kType, {"", node.metadata.name},
                           {{"spec", {{"taints", std::move(taints)}}}}));
  } else {
    patch(api::Node::kType, node.metadata,
          {{"metadata",
            {{"labels",
              {{"disk", generate_.pick({"ssd", "hdd"})},
               {"rank", generate_.pick({"1", "5", "9"})}}}}}});
  }
}

void Life::changePod() {
  const auto pods = invariants_.sortedPods();
  const auto* found = anyOf(pods);
  if (!found) return;
  const api::Pod& pod = **found;
  const std::string& name = pod.metadata.name;
  if (!pod.spec.schedulingGates.empty()) {
    journal_.note("the gate of pod {} opens", name);
    write(kube::mergePatch(api_, api::Pod::kType, api::keyOf(pod.metadata),
                           {{"spec", {{"schedulingGates", nullptr}}}}));
  } else if (pod.spec.nodeName.empty()) {
    journal_.note("pod {} tolerates more", name);
    const json::value document = api::encodeObject(pod);
    const auto* known = at(document, "spec", "tolerations");
    json::array tolerations = known ? known->as_array() : json::array{};
    tolerations.push_back({{"key", generate_.pick({"t", "u"})}, {"operator", "Exists"}});
    write(kube::mergePatch(api_, api::Pod::kType, api::keyOf(pod.metadata),
                           {{"metadata", {{"uid", pod.metadata.uid}}},
                            {"spec", {{"tolerations", std::move(tolerations)}}}}));
  } else if (pod.status.phase == "Running") {
    journal_.note("pod {} ends", name);
    patch(api::Pod::kType, pod.metadata, {{"status", {{"phase", "Succeeded"}}}}, "status");
  }
}

void Life::createBudget() {
  const std::string app = generate_.pick({"a", "b", "c"});
  const std::string namespace_ = generate_.pick({"default", "other"});
  const auto known = invariants_.budgets.get({namespace_, app});
  if (known) {
    write(kube::deleteObject(api_, api::PodDisruptionBudget::kType, {namespace_, app}));
    return;
  }
  create(api::PodDisruptionBudget::kType, namespace_,
         {{"metadata", {{"name", app}}},
          {"spec",
           {{"minAvailable", 1 + random_.below(4)},
            {"selector", {{"matchLabels", {{"app", app}}}}}}}});
}

// --- Controllers.

void Life::onPod(const PodObject& pod) {
  if (pod->spec.nodeName.empty() || api::isTerminal(*pod)) return;
  const bool leaving = pod->metadata.deletionTimestamp.has_value();
  if (!leaving && pod->status.phase == "Running") return;
  std::uint64_t most = leaving ? 4'000'000'000 : 1'000'000'000;
  constexpr std::int64_t kUsual = 30;  // the server's default
  if (const auto grace = pod->spec.terminationGracePeriodSeconds.value_or(kUsual);
      crowded_ && leaving && grace != kUsual)
    most = static_cast<std::uint64_t>(grace) * 1'000'000'000;
  loop_.runAfter(Duration(random_.below(most)), [this, pod, leaving] {
    if (!leaving) return startPod(pod);
    kube::DeleteOptions options{pod->metadata.uid, "", 0, ""};
    write(kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), options));
  });
}

void Life::startPod(const PodObject& pod) {
  patch(api::Pod::kType, pod->metadata,
        {{"status", {{"phase", "Running"}, {"startTime", formatTime(loop_.wallNow())}}}}, "status");
}

void Life::tick() {
  collect();
  countBudgets();
  provision();
}

void Life::collect() {
  for (const auto& pod : invariants_.sortedPods()) {
    const bool lost =
        !pod->spec.nodeName.empty() && !invariants_.nodes.get({"", pod->spec.nodeName});
    if (!lost && !(api::isTerminal(*pod) && random_.chance(0.1))) continue;
    kube::DeleteOptions options{pod->metadata.uid, "", 0, ""};
    write(kube::deleteObject(api_, api::Pod::kType, api::keyOf(pod->metadata), options));
  }
}

void Life::countBudgets() {
  std::map<std::string, BudgetObject> sorted;
  for (const auto& budget : invariants_.budgets.objects())
    sorted[api::keyOf(budget->metadata).toString()] = budget;
  for (const auto& [key, budget] : sorted) {
    const auto selector = api::Selector::compile(budget->spec.selector);
    std::int32_t healthy = 0;
    for (const auto& pod : invariants_.pods.objects())
      healthy += pod->metadata.namespace_ == budget->metadata.namespace_ &&
                 pod->status.phase == "Running" && !pod->metadata.deletionTimestamp &&
                 selector->matches(pod->metadata.labels);
    const std::int32_t wanted = budget->spec.minAvailable->number;
    const std::int32_t allowed = std::max(0, healthy - wanted);
    const api::PodDisruptionBudgetStatus& now = budget->status;
    if (allowed == now.disruptionsAllowed && now.disruptedPods.empty() &&
        now.observedGeneration == budget->metadata.generation)
      continue;
    patch(api::PodDisruptionBudget::kType, budget->metadata,
          {{"status",
            {{"observedGeneration", budget->metadata.generation},
             {"disruptedPods", nullptr},
             {"disruptionsAllowed", allowed},
             {"currentHealthy", healthy},
             {"desiredHealthy", wanted}}}},
          "status");
  }
}

// The volume controller and a provisioner in one.
void Life::provision() {
  std::map<std::string, std::shared_ptr<const api::PersistentVolumeClaim>> unbound;
  for (const auto& claim : invariants_.claims.objects())
    if (claim->spec.volumeName.empty()) unbound[api::keyOf(claim->metadata).toString()] = claim;
  for (const auto& [key, claim] : unbound) {
    std::string promised;
    for (const auto& volume : invariants_.volumes.objects())
      if (volume->spec.claimRef && volume->spec.claimRef->uid == claim->metadata.uid)
        promised = volume->metadata.name;
    if (!promised.empty()) {
      bindClaim(*claim, promised);
      continue;
    }
    const auto* node = api::findIn(claim->metadata.annotations, kSelectedNode);
    const std::string class_ = claim->spec.storageClassName.value_or("");
    if ((class_ == "fast" ? !node : class_ != "instant") || random_.chance(0.5)) continue;
    if (node && random_.chance(0.2)) {
      journal_.note("no volume for {} on {}", key, *node);
      write(kube::mergePatch(api_, api::PersistentVolumeClaim::kType, api::keyOf(claim->metadata),
                             {{"metadata", {{"annotations", {{kSelectedNode, nullptr}}}}}}));
      continue;
    }
    const std::string name = "pv-" + claim->metadata.uid;
    const auto object = node ? invariants_.nodes.get({"", *node}) : nullptr;
    const auto* zone = object ? api::findIn(object->metadata.labels, "zone") : nullptr;
    const auto* labelled = object ? api::findIn(object->metadata.labels, kZone) : nullptr;
    json::object spec{{"accessModes", json::array{claim->spec.accessModes.front()}},
                      {"storageClassName", class_},
                      {"capacity", {{"storage", "1Gi"}}},
                      {"csi", {{"driver", kDriver}, {"volumeHandle", name}}},
                      {"claimRef",
                       {{"kind", "PersistentVolumeClaim"},
                        {"namespace", claim->metadata.namespace_},
                        {"name", claim->metadata.name},
                        {"uid", claim->metadata.uid}}}};
    json::object metadata{{"name", name}};
    if (labelled && random_.chance(0.5)) {  // the old way to specify the location of a volume
      metadata["labels"] = {{kZone, random_.chance(0.5) ? *labelled : "z__" + *labelled}};
    } else if (zone) {
      spec["nodeAffinity"] = {
          {"required",
           {{"nodeSelectorTerms",
             json::array{{{"matchExpressions", json::array{{{"key", "zone"},
                                                            {"operator", "In"},
                                                            {"values", json::array{*zone}}}}}}}}}}};
    }
    create(api::PersistentVolume::kType, "",
           {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}});
  }
}

void Life::bindClaim(const api::PersistentVolumeClaim& claim, const std::string& volume) {
  journal_.note("claim {} is bound", claim.metadata.name);
  const api::ObjectKey key = api::keyOf(claim.metadata);
  write(kube::mergePatch(
      api_, api::PersistentVolumeClaim::kType, key,
      {{"metadata", {{"annotations", {{"pv.kubernetes.io/bind-completed", "yes"}}}}},
       {"spec", {{"volumeName", volume}}}}));
  write(kube::mergePatch(api_, api::PersistentVolumeClaim::kType, key,
                         {{"status", {{"phase", "Bound"}}}}, "status"));
  write(kube::mergePatch(api_, api::PersistentVolume::kType, {"", volume},
                         {{"status", {{"phase", "Bound"}}}}, "status"));
}

}  // namespace koord::simulation
