#include "simulation/features/gangs.h"

#include <algorithm>
#include <climits>

#include "model/well_known.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "simulation/process.h"

namespace koord::simulation {

using scheduler::testing::Reference;

namespace {

constexpr std::size_t kMaxGangPods = 80;
constexpr std::size_t kMaxMembers = 30;  // that wait

std::string gangOf(const api::Pod& pod) {
  const auto& labels = pod.metadata.labels;
  const auto* name = api::findIn(labels, model::kLabelPodGroup);
  if (!name) name = api::findIn(pod.metadata.annotations, model::kAnnotationGangName);
  return name ? pod.metadata.namespace_ + '/' + *name : std::string();
}

bool ready(const api::Pod& pod) {
  return !pod.spec.nodeName.empty() ||
         (pod.spec.schedulingGates.empty() && !pod.metadata.deletionTimestamp);
}

std::string listOf(const std::vector<std::string>& ids) {
  json::array list;
  for (const std::string& id : ids) list.emplace_back(id);
  return toJson(list);
}

// Places pods one after the other, each where it scores best. Returns how many of each gang fit if
// ties go to the first or to the last node.
std::map<std::string, int> roomFor(Model model, const std::vector<PodObject>& pods, bool first) {
  std::map<std::string, int> placed;
  for (const PodObject& pod : pods) {
    const Reference reference(model, *pod);
    const auto& totals = reference.outcome().totals;
    if (totals.empty()) continue;
    auto best = totals.begin();
    for (auto it = totals.begin(); it != totals.end(); ++it)
      if (it->second > best->second || (!first && it->second == best->second)) best = it;
    auto there = std::make_shared<api::Pod>(*pod);
    there->spec.nodeName = best->first;
    model.pods[pod->metadata.uid] = std::move(there);
    ++placed[gangOf(*pod)];
  }
  return placed;
}

// Members that plain evaluation places on trial get no CPUs of NUMA nodes. So it cannot say how
// many of them fit.
bool lacksNumaNodes(const api::Pod& pod) {
  return std::ranges::any_of(pod.status.conditions, [](const api::PodCondition& condition) {
    return condition.type == "PodScheduled" && condition.message.find("NUMA") != std::string::npos;
  });
}

bool saysMembersHadNodes(const api::PodGroup& group) {
  const api::PodGroupStatus& status = group.status;
  const std::string& phase = status.phase;
  if (group.spec.minMember <= 0) return false;
  if (status.scheduled + status.running + status.succeeded + status.failed <= 0) return false;
  return phase == "Scheduled" || phase == "Running" || phase == "Finished" || phase == "Failed";
}

int lacks(int minimum, const std::string& policy, int waiting, int running, bool satisfied) {
  if (policy == "once-satisfied" && satisfied) return 0;
  return std::max(minimum - waiting - (policy == "waiting-and-running" ? running : 0), 0);
}

}  // namespace

GangsFeature::GangsFeature(const Surroundings& world, Random random)
    : Feature(world, random),
      groups_(world.api, world.loop),
      leader_(world.leader),
      preempts_(random_.chance(0.4)) {
  const auto touched = [this](const auto&) { invariants_.touched(); };
  const auto seen = [this](const auto& group) {
    const std::string id = api::keyOf(group->metadata).toString();
    if (saysMembersHadNodes(*group)) hadNodes_.insert(id);
    minimums_[id][loop_.steadyNow()] = group->spec.minMember;
    invariants_.touched();
  };
  groups_.addHandler({seen, [seen](const auto&, const auto& after) { seen(after); }, touched});
}

void GangsFeature::configure(scheduler::ProfileConfig& profile) const {
  enableAsShipped(profile, "Coscheduling");
  profile.pluginConfig.push_back(
      {"Coscheduling", json::object{{"enablePreemption", preempts_}}, "pluginConfig"});
}

void GangsFeature::begin() {
  define(api::PodGroup::kType, Status::Within);
}

void GangsFeature::start() {
  groups_.start();
}

void GangsFeature::plan(Plan& plan) {
  plan.name = fmt::format("g{}", ++lastGang_);
  plan.minimum = static_cast<int>(1 + random_.below(5));
  plan.podGroup = random_.chance(0.6);
  plan.mode = pick({"Strict", "Strict", "NonStrict"});
  plan.policy = pick({"once-satisfied", "once-satisfied", "only-waiting", "waiting-and-running"});
  plan.wait = pick({"3s", "8s", "15s"});
}

// One or two gangs are created, their members one by one; some are never complete, some have too
// many members.
void GangsFeature::act() {
  if (random_.chance(inCrowd() ? 0.1 : 0.25)) return changeOne();
  const auto waiting = std::ranges::count_if(invariants_.pods.objects(), [](const auto& pod) {
    return !gangOf(*pod).empty() && pod->spec.nodeName.empty();
  });
  if (invariants_.pods.size() + 12 > kMaxGangPods ||
      static_cast<std::size_t>(waiting) > kMaxMembers)
    return;
  std::vector<Plan> gangs(random_.chance(0.25) ? 2 : 1);
  Plan alike;
  alike.cpu = pick({"500m", "1", "2"});
  alike.priority =
      inCrowd() ? pick({"", "low", "high", "higher", "higher"}) : pick({"", "", "low", "high"});
  alike.quota = pick({"", "qa", "qb", "qc"});
  const std::string mode = pick({"Strict", "Strict", "NonStrict"});
  for (Plan& gang : gangs) {
    gang = alike;
    plan(gang);
    gang.mode = mode;
    gang.namespace_ = pick({"default", "default", "other"});
  }
  if (gangs.size() > 1)
    for (Plan& gang : gangs)
      for (const Plan& other : gangs) gang.group.push_back(other.id());
  for (const Plan& gang : gangs) {
    plans_[gang.id()] = gang;
    createGang(gang);
  }
}

void GangsFeature::createGang(const Plan& plan) {
  int count = plan.minimum;
  if (random_.chance(0.3)) count += static_cast<int>(1 + random_.below(2));
  if (random_.chance(0.1)) count -= 1;
  journal_.note("gang {} of {} pods comes: {} {} needs {}{}", plan.id(), count, plan.mode,
                plan.policy, plan.minimum, plan.group.empty() ? "" : ", with another");
  if (plan.podGroup) {
    api::PodGroup group;
    group.metadata.name = plan.name;
    group.metadata.namespace_ = plan.namespace_;
    group.spec.minMember = plan.minimum;
    group.spec.scheduleTimeoutSeconds = std::stoi(plan.wait);
    auto& annotations = group.metadata.annotations;
    annotations[model::kAnnotationGangMode] = plan.mode;
    annotations[model::kAnnotationGangMatchPolicy] = plan.policy;
    if (!plan.group.empty()) annotations[model::kAnnotationGangGroups] = listOf(plan.group);
    loop_.runAfter(Duration(random_.below(3'000'000'000)), [this, group] {
      write(kube::createObject(api_, api::PodGroup::kType, {group.metadata.namespace_, ""},
                               api::encodeObject(group)));
    });
  }
  for (int n = 0; n < count; ++n) {
    const bool gated = random_.chance(0.1);
    const auto wait = Duration(random_.chance(0.5) ? 0 : random_.below(4'000'000'000));
    loop_.runAfter(wait, [this, plan, n, gated] { createMember(plan, n, gated); });
  }
}

void GangsFeature::createMember(const Plan& plan, int n, bool gated) {
  auto pod = scheduler::testing::aPod(fmt::format("{}-{}", plan.name, n), plan.namespace_);
  pod.request("cpu", plan.cpu).image("img:2");
  api::Pod& object = pod.object();
  object.metadata.uid.clear();
  object.metadata.resourceVersion.clear();
  auto& annotations = object.metadata.annotations;
  if (plan.podGroup) {
    object.metadata.labels[model::kLabelPodGroup] = plan.name;
  } else {
    annotations[model::kAnnotationGangName] = plan.name;
    annotations[model::kAnnotationGangMinAvailable] = std::to_string(plan.minimum);
    annotations[model::kAnnotationGangMode] = plan.mode;
    annotations[model::kAnnotationGangMatchPolicy] = plan.policy;
    annotations[model::kAnnotationGangWaitingTime] = plan.wait;
    if (!plan.group.empty()) annotations[model::kAnnotationGangGroups] = listOf(plan.group);
  }
  if (!plan.quota.empty()) object.metadata.labels[model::kLabelQuotaName] = plan.quota;
  object.spec.priorityClassName = plan.priority;
  if (gated) pod.gate("example.com/wait");
  write(kube::createObject(api_, api::Pod::kType, {object.metadata.namespace_, ""},
                           api::encodeObject(object)));
}

void GangsFeature::changeOne() {
  std::map<std::string, std::shared_ptr<const api::PodGroup>> all;
  for (const auto& group : groups_.objects()) all[api::keyOf(group->metadata).toString()] = group;
  if (all.empty()) return;
  const auto it = std::next(all.begin(), static_cast<std::ptrdiff_t>(random_.below(all.size())));
  if (random_.chance(0.3)) {
    journal_.note("PodGroup {} is deleted", it->first);
    return remove(api::PodGroup::kType, it->second->metadata);
  }
  const std::uint64_t minimum = random_.below(6);
  journal_.note("PodGroup {} needs {} now", it->first, minimum);
  patch(api::PodGroup::kType, it->second->metadata, {{"spec", {{"minMember", minimum}}}});
}

// Removes scheduling gates of members after some time.
void GangsFeature::tick() {
  for (const auto& pod : invariants_.sortedPods())
    if (!gangOf(*pod).empty() && !pod->spec.schedulingGates.empty() && random_.chance(0.1))
      write(kube::mergePatch(
          api_, api::Pod::kType, api::keyOf(pod->metadata),
          {{"metadata", {{"uid", pod->metadata.uid}}}, {"spec", {{"schedulingGates", nullptr}}}}));
  noteSatisfied();
  if (inCrowd() && !quiet_) replaceMembers();
}

bool GangsFeature::inCrowd() const {
  return std::ranges::any_of(invariants_.features(),
                             [](const auto& one) { return one->crowded(); });
}

// Members that ended or were deleted are created again, as by a workload, as long as there are
// others.
void GangsFeature::replaceMembers() {
  if (invariants_.pods.size() > kMaxGangPods) return;
  std::map<std::string, std::size_t> present;
  for (const auto& pod : invariants_.pods.objects()) ++present[gangOf(*pod)];
  for (const auto& [id, plan] : plans_) {
    if (!present.contains(id) || !random_.chance(0.05)) continue;
    const auto n = static_cast<int>(random_.below(static_cast<std::uint64_t>(plan.minimum)));
    if (invariants_.pods.get({plan.namespace_, fmt::format("{}-{}", plan.name, n)})) continue;
    journal_.note("{}-{} is made again", plan.name, n);
    createMember(plan, n, false);
  }
}

// A new leader knows which members are bound, and not which were.
void GangsFeature::noteSatisfied() {
  const Process* leader = leader_();
  if (!leader) return;
  if (leader->name() != satisfiedFor_) satisfied_.clear();
  satisfiedFor_ = leader->name();
  for (const auto& pod : invariants_.pods.objects())
    if (!gangOf(*pod).empty() && !pod->spec.nodeName.empty() && !api::isTerminal(*pod))
      satisfied_.insert(groupIdOf(*pod));
}

// NonStrict gangs that lack nodes take turns to hold theirs until their time is over: a single gang
// waits without changes, several never do.
bool GangsFeature::calm() {
  std::map<std::string, std::vector<PodObject>> waiting;  // by group
  for (const auto& pod : invariants_.sortedPods()) {
    const auto plan = plans_.find(gangOf(*pod));
    if (plan != plans_.end() && plan->second.mode == "NonStrict" && pod->spec.nodeName.empty())
      waiting[groupIdOf(*pod)].push_back(pod);
  }
  if (waiting.size() < 2) return false;
  for (const auto& [group, pods] : waiting) {
    journal_.note("{} of gang(s) {} give up their turns", pods.size(), group);
    for (const auto& pod : pods) remove(api::Pod::kType, pod->metadata);
  }
  return true;
}

void GangsFeature::addRules(scheduler::Handle&, const std::string&, Model& model) {
  std::map<std::string, std::string> groups;
  for (const auto& [id, plan] : plans_) groups[id] = fmt::format("{}", fmt::join(groupOf(id), ","));
  model.sameGroup = [groups](const api::Pod& a, const api::Pod& b) {
    const auto one = groups.find(gangOf(a));
    const auto other = groups.find(gangOf(b));
    return one != groups.end() && other != groups.end() && one->second == other->second;
  };
}

bool GangsFeature::placesTogether(const api::Pod& pod) const {
  return !gangOf(pod).empty();
}

std::string GangsFeature::groupState(const api::Pod& pod) const {
  if (!placesTogether(pod)) return "";
  std::string state;
  for (const std::string& id : groupOf(gangOf(pod))) {
    state += fmt::format("{}gang {} of {}:", state.empty() ? "" : "; ", id,
                         plans_.contains(id) ? minimumOf(id) : -1);
    for (const auto& member : invariants_.sortedPods())
      if (gangOf(*member) == id && !api::isTerminal(*member))
        state += fmt::format(" {} ({}){}{}", member->metadata.name, member->metadata.uid,
                             member->spec.nodeName.empty() ? "" : " on " + member->spec.nodeName,
                             ready(*member) ? "" : " held");
  }
  return state;
}

// For the members of a gang of higher priority.
bool GangsFeature::mayEvict(const api::Pod& victim) const {
  return preempts_ && std::ranges::any_of(invariants_.pods.objects(), [&](const auto& pod) {
           return !gangOf(*pod).empty() &&
                  pod->spec.priority.value_or(0) > victim.spec.priority.value_or(0);
         });
}

std::vector<std::string> GangsFeature::groupOf(const std::string& id) const {
  const auto plan = plans_.find(id);
  if (plan == plans_.end() || plan->second.group.empty()) return {id};
  return plan->second.group;
}

int GangsFeature::minimumOf(const std::string& id) const {
  const Plan& plan = plans_.at(id);
  if (!plan.podGroup) return plan.minimum;
  const auto group = groups_.get({plan.namespace_, plan.name});
  return group ? group->spec.minMember : -1;
}

int GangsFeature::lowestMinimumSince(const std::string& id, SteadyTime time) const {
  const auto all = minimums_.find(id);
  if (all == minimums_.end()) return plans_.at(id).minimum;
  auto it = all->second.upper_bound(time);
  if (it != all->second.begin()) --it;
  int lowest = INT_MAX;
  for (; it != all->second.end(); ++it) lowest = std::min(lowest, it->second);
  return lowest;
}

std::string GangsFeature::groupIdOf(const api::Pod& pod) const {
  return fmt::format("{}", fmt::join(groupOf(gangOf(pod)), ","));
}

void GangsFeature::chosen(scheduler::Handle& handle, const api::Pod& pod, const Model&,
                          Choice& choice) {
  if (!placesTogether(pod)) return;
  std::vector<Standing> standings;
  bool satisfied = false;
  for (const std::string& id : groupOf(gangOf(pod))) {
    const Plan& plan = plans_.at(id);
    Standing standing{id, plan.minimum, plan.policy};
    if (plan.podGroup) {
      const auto object = handle.stores().of<api::PodGroup>().get({plan.namespace_, plan.name});
      standing.minimum = object ? object->spec.minMember : INT_MAX;
      // Its status may say that its members had nodes, or may have said so before, and the process
      // remembers it while there are members.
      satisfied |= hadNodes_.contains(id);
    }
    for (const auto& record : handle.cluster().pods()) {
      if (gangOf(*record.info->pod) != id) continue;
      ++(record.info->pod->spec.nodeName.empty() ? standing.waiting : standing.running);
    }
    satisfied |= standing.running > 0 || satisfied_.contains(groupIdOf(pod));
    // A process that has bound a member knows that its group was complete before the watch says so.
    for (const auto& member : invariants_.pods.objects())
      satisfied |= gangOf(*member) == id && !member->spec.nodeName.empty();
    standings.push_back(std::move(standing));
  }
  for (Standing& standing : standings) standing.satisfied = satisfied;
  past_[{choice.process, groupIdOf(pod)}][choice.time] = std::move(standings);
}

// When it was chosen, or at a moment since: waiting members keep their nodes.
void GangsFeature::bound(const api::Pod& pod, const Choice& choice) {
  if (!placesTogether(pod)) return;
  const Standing* lacking = nullptr;
  const auto& past = past_[{choice.process, groupIdOf(pod)}];
  for (auto it = past.lower_bound(choice.time); it != past.end(); ++it) {
    // A once-satisfied gang then lets its members be bound alone.
    const bool free = std::ranges::any_of(it->second, [&](const Standing& gang) {
      return gang.id == gangOf(pod) && gang.policy == "once-satisfied" && gang.satisfied;
    });
    if (free) return;
    // A minimum that was lowered since counts from when the process received it, also if it was
    // raised again while the member was being bound.
    const auto lack = std::ranges::find_if(it->second, [&](const Standing& gang) {
      const int minimum = std::min(gang.minimum, lowestMinimumSince(gang.id, it->first));
      return lacks(minimum, gang.policy, gang.waiting, gang.running, gang.satisfied) > 0;
    });
    if (lack == it->second.end()) return;
    if (!lacking) lacking = &*lack;
  }
  if (lacking)
    journal_.violated("gangs as a whole", "{} is bound with {} and {} of {} members of {}",
                      pod.metadata.name, lacking->waiting, lacking->running, lacking->minimum,
                      lacking->id);
}

std::string GangsFeature::differences(scheduler::Handle& handle, const Model&) {
  auto& gangs = scheduler::gangsOf(handle, {});
  for (const auto& [id, gang] : gangs.all())
    if (auto wrong = gangs.verify(id); !wrong.empty()) return wrong;
  for (const auto& group : groups_.objects()) {
    const std::string id = api::keyOf(group->metadata).toString();
    const auto& status = group->status;
    if (status.phase.empty() || status.phase == "Pending" || status.phase == "PreScheduling" ||
        status.phase == "Failed" || status.phase == "Finished")
      continue;
    int scheduled = 0, running = 0;
    for (const auto& pod : invariants_.pods.objects()) {
      if (gangOf(*pod) != id) continue;
      scheduled += !pod->spec.nodeName.empty();
      running += pod->status.phase == "Running";
    }
    if (status.scheduled != scheduled || status.running != running)
      return fmt::format("PodGroup {} shows {} scheduled and {} running, {} and {} are", id,
                         status.scheduled, status.running, scheduled, running);
  }
  return "";
}

std::string GangsFeature::whyVain(const Model& model, const std::vector<std::string>& group) const {
  struct Count {
    int ready = 0, running = 0;
  };
  std::map<std::string, Count> counts;
  std::vector<PodObject> waiting;
  bool satisfied = false;
  for (const auto& pod : invariants_.sortedPods()) {
    const std::string id = gangOf(*pod);
    if (std::ranges::find(group, id) == group.end() || api::isTerminal(*pod)) continue;
    counts[id].ready += ready(*pod);
    counts[id].running += !pod->spec.nodeName.empty();
    satisfied |= !pod->spec.nodeName.empty() || satisfied_.contains(groupIdOf(*pod));
    if (pod->spec.nodeName.empty() && ready(*pod)) waiting.push_back(pod);
  }
  // Which nodes members get decides how many get one.
  if (waiting.empty() || model.scoredByOthers) return "";
  for (const auto& pod : waiting)
    if (lacksNumaNodes(*pod)) return "";
  for (const auto& pod : waiting)
    for (const auto& [name, node] : model.nodes)
      if (model.isUndecided(*pod, *node)) return "";
  for (const std::string& id : group)
    if (!plans_.contains(id) || minimumOf(id) < 0 ||
        (counts[id].ready < minimumOf(id) &&
         !(satisfied && plans_.at(id).policy == "once-satisfied")))
      return "";
  // For each gang, as many members as it lacks come before further ones.
  std::map<std::string, int> left;
  for (const std::string& id : group)
    left[id] = lacks(minimumOf(id), plans_.at(id).policy, 0, counts[id].running, satisfied);
  const auto needed = left;
  std::vector<PodObject> order, beyond;
  for (const auto& pod : waiting) (left[gangOf(*pod)]-- > 0 ? order : beyond).push_back(pod);
  std::ranges::copy(beyond, std::back_inserter(order));
  for (const bool first : {true, false}) {
    auto placed = roomFor(model, order, first);
    if (placed.empty()) return "";
    for (const std::string& id : group)
      if (placed[id] < needed.at(id)) return "";
  }
  return fmt::format("{} of gang(s) {} wait, though there is room", waiting.size(),
                     fmt::join(group, ", "));
}

std::string GangsFeature::waitsInVain(const Model& model) {
  for (const auto& [id, plan] : plans_)
    if (auto why = whyVain(model, groupOf(id)); !why.empty()) return why;
  return "";
}

}  // namespace koord::simulation
