#include "simulation/features/quotas.h"

#include <algorithm>
#include <set>

#include "api/codec.h"
#include "model/pod_requests.h"
#include "model/well_known.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::simulation {

using scheduler::testing::amountIn;

namespace {

constexpr const char* kNamespace = "koordinator-system";
constexpr const char* kNames[] = {"qa", "qb", "qc", "qp"};

PlainQuotas::Object older(const PlainQuotas::Object& a, const PlainQuotas::Object& b) {
  return a && *a->metadata.creationTimestamp <= *b->metadata.creationTimestamp ? a : b;
}

}  // namespace

QuotasFeature::QuotasFeature(const Surroundings& world, Random random)
    : Feature(world, random), quotas_(world.api, world.loop) {
  const auto seen = [this](const auto&) {
    invariants_.touched();
    changed_ = loop_.steadyNow();
  };
  quotas_.addHandler({seen,
                      [this, seen](const auto& before, const auto& after) {
                        invariants_.touched();
                        if (before->metadata.generation != after->metadata.generation ||
                            before->spec.max != after->spec.max ||
                            before->spec.min != after->spec.min)
                          seen(after);
                      },
                      seen});
}

void QuotasFeature::configure(scheduler::ProfileConfig& profile) const {
  enableAsShipped(profile, "ElasticQuota");
}

void QuotasFeature::begin() {
  define(Quota::kType, Status::Within);
  create(api::Namespace::kType, "", {{"metadata", {{"name", kNamespace}}}});
}

void QuotasFeature::start() {
  quotas_.start();
  for (int n = 0; n < 3; ++n) act();
}

void QuotasFeature::shape(scheduler::testing::PodBuilder& pod) {
  if (random_.chance(0.6))
    pod.label(std::string(model::kLabelQuotaName), pick({"qa", "qa", "qb", "qc", "qp", "none"}));
  if (random_.chance(0.1)) pod.label(std::string(model::kLabelPreemptible), "false");
}

void QuotasFeature::act() {
  const std::string name = kNames[random_.below(std::size(kNames))];
  const auto known = quotas_.get({kNamespace, name});
  json::object max, min;
  const auto cores = static_cast<std::int64_t>(1 + random_.below(14));
  max["cpu"] = std::to_string(cores);
  if (random_.chance(0.7))
    min["cpu"] = std::to_string(random_.below(static_cast<std::uint64_t>(cores) + 1));
  if (random_.chance(0.5)) max["memory"] = pick({"2Gi", "4Gi", "16Gi"});
  if (random_.chance(0.3)) min["memory"] = pick({"1Gi", "2Gi"});
  if (!known) {
    journal_.note("quota {} of {} cores comes", name, cores);
    json::object labels;
    labels[json::string(model::kLabelQuotaIsParent)] = name == "qp" ? "true" : "false";
    if (name != "qp" && name != "qc") labels[json::string(model::kLabelQuotaParent)] = "qp";
    if (random_.chance(0.2)) labels[json::string(model::kLabelQuotaLends)] = "false";
    write(kube::createObject(
        api_, Quota::kType, {kNamespace, ""},
        {{"metadata", {{"name", name}, {"namespace", kNamespace}, {"labels", labels}}},
         {"spec", {{"max", max}, {"min", min}}}}));
  } else if (random_.chance(0.2)) {
    journal_.note("quota {} goes", name);
    remove(Quota::kType, known->metadata);
  } else {
    journal_.note("quota {} has {} cores now", name, cores);
    for (const char* resource : PlainQuotas::kResources) {
      if (!max.contains(resource)) max[resource] = nullptr;
      if (!min.contains(resource)) min[resource] = nullptr;
    }
    patch(Quota::kType, known->metadata, {{"spec", {{"max", max}, {"min", min}}}});
  }
}

std::map<std::string, PlainQuotas::Object> QuotasFeature::objects() const {
  std::map<std::string, PlainQuotas::Object> objects;
  for (const auto& quota : quotas_.objects()) {
    auto& slot = objects[quota->metadata.name];
    slot = older(slot, quota);
  }
  return objects;
}

// As the process knows the world; the pod of this uid does not count.
std::shared_ptr<PlainQuotas> QuotasFeature::plainOf(scheduler::Handle& handle,
                                                    const std::string& without,
                                                    const Model& model) const {
  std::map<std::string, PlainQuotas::Object> objects;
  for (const auto& [key, object] : handle.stores().of<Quota>().all()) {
    auto& slot = objects[key.name];
    slot = older(slot, object);
  }
  auto plain = std::make_shared<PlainQuotas>(std::move(objects));
  handle.cluster().live().forEach(
      [&](scheduler::NodeId node) { plain->addNode(*handle.cluster().node(node).object); });
  // Reservations and owners on deleted nodes still count.
  Model everywhere = model;
  for (const auto& record : handle.cluster().pods()) {
    if (record.info->uid() == without || model.pods.contains(record.info->uid())) continue;
    auto pod = std::make_shared<api::Pod>(*record.info->pod);
    pod->spec.nodeName = handle.cluster().node(record.node).name;
    everywhere.pods[record.info->uid()] = std::move(pod);
  }
  std::set<std::string> running;
  const auto& ledger = scheduler::Quotas::of(handle, {}).ledger();
  for (const auto& record : handle.cluster().pods()) {
    if (record.info->uid() == without || !ledger.in(record.grants)) continue;
    const auto pod = record.info->pod;
    running.insert(record.info->uid());
    api::ResourceList covered;
    if (model.covered)
      for (const char* resource : PlainQuotas::kResources) {
        const std::int64_t amount =
            model.covered(everywhere, *everywhere.pods.at(record.info->uid()), resource);
        covered[resource] = resource == PlainQuotas::kResources[0] ? Quantity::ofMilli(amount)
                                                                   : Quantity::of(amount);
      }
    // A pod that was deleted while it was being bound still has its place, but requests nothing.
    const auto& known = handle.knownPods();
    const bool asks = !record.assumed || known.ours().contains(record.info->uid());
    plain->addPod(*pod, covered, {.asks = asks, .runs = true});
    if (!model.pods.contains(record.info->uid())) plain->hidden.push_back(pod);
  }
  handle.knownPods().forEach(handle.cluster(), [&](const scheduler::PodPtr& pod) {
    if (!running.contains(pod->uid())) plain->addPod(*pod->pod, {}, {.asks = true});
  });
  return plain;
}

void QuotasFeature::addRules(scheduler::Handle& handle, const std::string& without, Model& model) {
  auto plain = plainOf(handle, without, model);
  model.admit = [plain](const Model& now, const api::Pod& pod, const api::Node& node) {
    return plain->admit(now, pod, node);
  };
}

// Pods of other quotas leave only together with a pod whose end frees quota for the preemptor.
void QuotasFeature::departing(const api::Pod& preemptor, std::span<const PodObject> victims) {
  const PlainQuotas plain(objects());
  const std::string quota = plain.quotaOf(preemptor);
  const bool freesQuota = std::ranges::any_of(victims, [&](const PodObject& victim) {
    return plain.quotaOf(*victim) == quota && !plain.isFixed(*victim);
  });
  if (!freesQuota) return;
  for (const PodObject& victim : victims)
    if (plain.quotaOf(*victim) != quota) alongside_.insert(victim->metadata.uid);
}

// For a pod of its quota with higher priority, or alongside such a pod.
bool QuotasFeature::mayEvict(const api::Pod& victim) const {
  if (alongside_.contains(victim.metadata.uid)) return true;
  const PlainQuotas plain(objects());
  return !plain.isFixed(victim) &&
         std::ranges::any_of(invariants_.pods.objects(), [&](const auto& pod) {
           return plain.quotaOf(*pod) == plain.quotaOf(victim) &&
                  pod->spec.priority.value_or(0) > victim.spec.priority.value_or(0);
         });
}

void QuotasFeature::chosen(scheduler::Handle& handle, const api::Pod& pod, const Model& before,
                           Choice& choice) {
  const auto plain = plainOf(handle, pod.metadata.uid, before);
  const std::string quota = plain->quotaOf(pod);
  Known known{choice.time, {}};
  for (const char* resource : PlainQuotas::kResources)
    known.limits[resource] = plain->limitOf(quota, resource);
  known_[{choice.process, quota}].push_back(std::move(known));
}

// By what the process knew then, or when it chose nodes for other pods since: those may be bound
// already. Owners of reservations are skipped: their reservation has been charged before.
void QuotasFeature::bound(const api::Pod& pod, const Choice& choice) {
  const PlainQuotas plain(objects());
  const auto held = [](const api::Pod& one) {
    return one.metadata.annotations.contains(model::kAnnotationReservationAllocated);
  };
  const std::string quota = plain.quotaOf(pod);
  if (held(pod)) return;
  for (const char* resource : PlainQuotas::kResources) {
    std::optional<std::int64_t> most;
    bool limited = false;
    for (const Known& known : known_[{choice.process, quota}]) {
      if (known.time < choice.time) continue;
      const auto& limit = known.limits.at(resource);
      if (!limit) limited = false;
      if (!limit) break;
      limited = true;
      most = std::max(most.value_or(0), *limit);
    }
    if (!limited) continue;
    std::int64_t sum = 0;
    for (const auto& other : invariants_.others(choice))
      if (plain.quotaOf(*other) == quota && !held(*other))
        sum += amountIn(model::podRequests(*other), resource);
    if (sum > *most && amountIn(model::podRequests(pod), resource) > 0)
      journal_.violated("quotas", "{} takes quota {} to {} of {} {}", pod.metadata.name, quota, sum,
                        *most, resource);
  }
}

std::string QuotasFeature::differences(scheduler::Handle& handle, const Model& model) {
  const auto plain = plainOf(handle, "", model);
  const auto stored = objects();
  if (stored.size() != plain->objects().size())
    return fmt::format("{} quotas are known, {} are there", plain->objects().size(), stored.size());
  for (const auto& [name, object] : stored) {
    if (name == model::kRootQuota) continue;
    for (const char* resource : PlainQuotas::kResources) {
      if (!object->spec.max.contains(resource)) continue;
      const std::int64_t shown = amountIn(object->status.used, resource);
      if (const std::int64_t used = plain->usedOf(name, resource); used != shown)
        return fmt::format("quota {} shows {} {} used, pods use {}", name, shown, resource, used);
    }
    const auto* text = api::findIn(object->metadata.annotations, model::kAnnotationQuotaRuntime);
    const auto runtime =
        text ? api::decodeText<api::ResourceList>(*text) : Result<api::ResourceList>();
    for (const char* resource : PlainQuotas::kResources) {
      if (!text || !plain->limitOf(name, resource)) continue;
      // Where the parent does not name the resource, a quota is entitled to its max.
      const std::int64_t is = plain->runtimeOf(name, resource);
      const std::int64_t shown = runtime ? amountIn(*runtime, resource) : -1;
      if (shown != is && shown != plain->limitOf(name, resource))
        return fmt::format("quota {} shows a runtime of {}, it is {} {}", name, *text, is,
                           resource);
    }
  }
  return "";
}

}  // namespace koord::simulation
