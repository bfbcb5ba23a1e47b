#include "scheduler/plugins/coscheduling/pod_group_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "kube/client.h"
#include "kube/events.h"
#include "model/well_known.h"

namespace koord::scheduler {

namespace {

// The most members of a gang that get an event in one round; the others get it in later rounds.
constexpr std::size_t kMaxReportedAtOnce = 100;

// Finished pods that name a PodGroup by its label.
kube::WatchScope endedScope() {
  return {"", std::string(model::kLabelPodGroup),
          "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"};
}

// Reduces a finished pod to the fields that are used here.
void dropUnusedFields(api::Pod& pod) {
  api::Pod little;
  little.metadata.name = std::move(pod.metadata.name);
  little.metadata.namespace_ = std::move(pod.metadata.namespace_);
  little.metadata.uid = std::move(pod.metadata.uid);
  little.metadata.resourceVersion = std::move(pod.metadata.resourceVersion);
  const std::string gang(gangNameOf(pod));
  little.metadata.labels[std::string(model::kLabelPodGroup)] = gang;
  little.status.phase = std::move(pod.status.phase);
  pod = std::move(little);
}

std::string ownersOf(const api::Pod& pod) {
  std::vector<std::string> owners;
  for (const auto& owner : pod.metadata.ownerReferences)
    owners.push_back(pod.metadata.namespace_ + "/" + owner.name);
  std::ranges::sort(owners);
  return fmt::format("{}", fmt::join(owners, ","));
}

// The field of a pod that names the gang.
std::string namingField(const std::string& id) {
  return id.starts_with(api::WorkloadPodGroup::kType.group)
             ? std::string("spec.schedulingGroup")
             : fmt::format("metadata.labels[{}]", model::kLabelPodGroup);
}

// A merge patch of the fields that differ.
json::object statusPatch(const api::PodGroupStatus& before, const api::PodGroupStatus& after) {
  const json::value was = api::encode(before);
  json::value is = api::encode(after);
  json::object patch;
  for (auto& member : is.get_object()) {
    const auto* old = was.get_object().if_contains(member.key());
    if (!old || *old != member.value()) patch[member.key()] = std::move(member.value());
  }
  for (const auto& member : was.get_object())
    if (!is.get_object().contains(member.key())) patch[member.key()] = nullptr;
  return patch;
}

}  // namespace

PodGroupController::PodGroupController(Handle& handle, Gangs& gangs)
    : handle_(handle),
      gangs_(gangs),
      queue_(
          handle.executor(), "podgroup", [this](std::string gang) { return sync(std::move(gang)); },
          static_cast<std::size_t>(std::min<std::int64_t>(gangs.args().controllerWorkers, 64))),
      endedPods_(*handle.api(), handle.executor(), endedScope(), handle.random()) {
  endedPods_.setTransform(dropUnusedFields);
  endedPods_.addHandler({[this](const auto& pod) { ended(*pod, true); },
                         [this](const auto&, const auto& pod) { ended(*pod, true); },
                         [this](const auto& pod) { ended(*pod, false); }});
  gangs.listen([this, alive = std::weak_ptr<bool>(alive_)](const std::string& gang) {
    if (!alive.expired()) changed(gang);
  });
}

PodGroupController::~PodGroupController() = default;

void PodGroupController::start() {
  endedPods_.start();
  endedPods_.onSynced([this] {
    for (const auto& [id, gang] : gangs_.all()) changed(id);
    queue_.start();
  });
}

void PodGroupController::ended(const api::Pod& pod, bool there) {
  const std::string gang = gangIdOf(pod);
  if (gang.empty()) return;
  auto& pods = ended_[gang];
  if (there) {
    pods[pod.metadata.uid] = pod.status.phase == "Succeeded";
  } else {
    pods.erase(pod.metadata.uid);
    if (pods.empty()) ended_.erase(gang);
  }
  changed(gang);
}

void PodGroupController::changed(const std::string& id) {
  const Gang* gang = gangs_.find(id);
  if (!gang) {
    reportedProblems_.erase(id);
    waits_.erase(id);
    return;
  }
  reportProblems(*gang);
  if (gang->object && !isSettled(*gang->object)) queue_.add(id);
}

GangPods PodGroupController::podsOf(const Gang* gang, const std::string& id) const {
  GangPods counts;
  const auto gone = ended_.find(id);
  const PodInfo* first = nullptr;
  for (const auto& [uid, pod] : gang->members) {
    if (gone != ended_.end() && gone->second.contains(uid)) continue;
    ++counts.pods;
    counts.scheduled += !pod->pod->spec.nodeName.empty();
    counts.running += pod->pod->status.phase == "Running";
    if (!first || pod->key() < first->key()) first = pod.get();
  }
  if (first) counts.owners = ownersOf(*first->pod);
  if (gone == ended_.end()) return counts;
  for (const auto& [uid, succeeded] : gone->second) {
    ++counts.pods;
    ++counts.scheduled;
    ++(succeeded ? counts.succeeded : counts.failed);
  }
  return counts;
}

Task<Result<>> PodGroupController::sync(std::string id) {
  const Gang* gang = gangs_.find(id);
  if (!gang || !gang->object || isSettled(*gang->object)) co_return Result<>{};
  const std::shared_ptr<const api::PodGroup> object = gang->object;
  const api::PodGroupStatus status =
      podGroupStatus(*object, podsOf(gang, id), handle_.executor().wallNow());
  json::object changes = statusPatch(object->status, status);
  if (changes.empty()) co_return Result<>{};
  json::value patch = json::object{{"metadata", json::object{{"uid", object->metadata.uid}}},
                                   {"status", std::move(changes)}};
  auto patching = kube::mergePatch(*handle_.api(), api::PodGroup::kType,
                                   api::keyOf(object->metadata), std::move(patch));
  const Result<json::value> reply = co_await patching;
  if (reply || reply.error().code == ErrorCode::NotFound) co_return Result<>{};
  co_return fail(Error(reply.error()).within("status of PodGroup " + id));
}

// Records an event about the PodGroup, else about the member that states the gang's requirements,
// else about the first waiting member.
void PodGroupController::tell(const Gang& gang, std::string_view type, std::string_view reason,
                              const std::string& text) {
  if (!handle_.events()) return;
  if (gang.hasObject()) {
    handle_.events()->record(gang.reference(), type, reason, text, "Scheduling");
    return;
  }
  PodPtr about;
  if (const auto source = gang.members.find(gang.source); source != gang.members.end())
    about = source->second;
  if (!about) {
    const std::vector<PodPtr> pending = gangs_.pendingOf(gang);
    if (!pending.empty()) about = pending.front();
  }
  if (about)
    handle_.events()->record(handle_.kindOf(*about).reference(*about), type, reason, text,
                             "Scheduling");
}

void PodGroupController::reportProblems(const Gang& gang) {
  std::string text = gang.unreadable;
  if (gang.spec && !gang.spec->problems.empty())
    text = fmt::format("{}", fmt::join(gang.spec->problems, "; "));
  if (text.empty()) {
    reportedProblems_.erase(gang.id);
  } else if (std::string& told = reportedProblems_[gang.id]; told != text) {
    told = text;
    tell(gang, "Warning", "InvalidGang", text);
  }
}

// The pods or objects that the gang itself lacks; "" if it has all.
std::string PodGroupController::ownShortageOf(const Gang& gang) const {
  if (gang.deleted)
    return fmt::format("PodGroup {} was deleted; its pods name it in {}", gang.id,
                       namingField(gang.id));
  if (!gang.spec) {
    return gang.unreadable.empty()
               ? fmt::format("PodGroup {} does not exist; its pods name it in {}", gang.id,
                             namingField(gang.id))
               : gang.unreadable;
  }
  if (gang.complete()) return {};
  return fmt::format("{}: {} pods are required, {} exist{}", gang.minimumField(),
                     gang.spec->minimum, gang.members.size(),
                     gang.notReady > 0 ? fmt::format(", of which {} are held back", gang.notReady)
                                       : std::string());
}

// The same, or what another gang of its group lacks.
std::string PodGroupController::shortageOf(const Gang& gang) const {
  if (gangs_.free(gang)) return {};
  if (std::string own = ownShortageOf(gang); !own.empty() || !gang.spec) return own;
  for (const std::string& id : gang.spec->group) {
    const Gang* other = gangs_.find(id);
    if (!other || other->deleted)
      return fmt::format("gang {}, with which it is bound together, does not exist", id);
    if (const std::string shortage = ownShortageOf(*other); !shortage.empty())
      return fmt::format("gang {}, with which it is bound together: {}", id, shortage);
  }
  return {};
}

// Skips gated and terminating members: their own objects say why they wait.
void PodGroupController::reportToMembers(const Gang& gang, Wait& wait) {
  if (!handle_.events()) return;
  std::size_t told = 0;
  for (const PodPtr& pod : gangs_.pendingOf(gang)) {
    if (!pod->pod->spec.schedulingGates.empty() || pod->pod->metadata.deletionTimestamp) continue;
    if (!wait.members.insert(pod->uid()).second) continue;
    handle_.events()->record(handle_.kindOf(*pod).reference(*pod), "Warning", "GangIncomplete",
                             fmt::format("waiting for its gang {}: {}", gang.id, wait.shortage),
                             "Scheduling");
    if (++told == kMaxReportedAtOnce) return;
  }
}

void PodGroupController::reportWaiting() {
  const SteadyTime now = handle_.executor().steadyNow();
  for (const auto& [id, gang] : gangs_.all()) {
    const bool waits = gang.bound < gang.members.size();
    std::string shortage = waits ? shortageOf(gang) : std::string();
    if (shortage.empty()) {
      waits_.erase(id);
      continue;
    }
    Wait& wait = waits_[id];
    if (wait.shortage != shortage) wait = {std::move(shortage), now, false, {}};
    if (now - wait.since < kPeriod) continue;
    if (!std::exchange(wait.told, true)) tell(gang, "Warning", "GangIncomplete", wait.shortage);
    reportToMembers(gang, wait);
  }
}

}  // namespace koord::scheduler
