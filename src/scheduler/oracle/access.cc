#include "scheduler/oracle/access.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "base/ascii.h"
#include "scheduler/oracle/existing.h"
#include "scheduler/oracle/expand.h"
#include "scheduler/oracle/kinds.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::size_t kMaxAskedNamespaces = 100;

// The plural of the kinds that are expanded; others are in the table of stored kinds.
std::string resourceOf(const QuestionObject& object) {
  if (const StoredKind* kind = storedKind(object.group, object.kind))
    return std::string(kind->type.plural);
  return lowered(object.kind) + "s";
}

bool isNamespaced(const QuestionObject& object) {
  if (const StoredKind* kind = storedKind(object.group, object.kind)) return kind->type.namespaced;
  return !(object.group.empty() && object.kind == "Node");
}

// The namespaces whose pods the caller may list.
class Readable {
 public:
  explicit Readable(const kube::Caller& caller) : caller_(caller) {}

  Task<Result<bool>> contains(std::string namespace_) {
    if (const auto known = known_.find(namespace_); known != known_.end()) co_return known->second;
    if (known_.size() >= kMaxAskedNamespaces) co_return false;
    kube::ResourceAccess access{.verb = "list", .resource = "pods", .namespace_ = namespace_};
    auto asking = caller_.may(std::move(access));
    const auto allowed = co_await asking;
    if (allowed) known_[namespace_] = *allowed;
    co_return allowed;
  }

 private:
  const kube::Caller& caller_;
  std::map<std::string, bool> known_;
};

// The entries of one list that the caller may see: pods of the question itself, which are named in
// `own`, and pods in namespaces whose pods it may list. A moved pod ("from") is not the caller's.
class Filter {
 public:
  Filter(const kube::Caller& caller, const json::object& status) : readable_(caller) {
    const json::value* pods = status.if_contains("pods");
    if (!pods || !pods->is_array()) return;
    for (const json::value& pod : pods->get_array())
      if (textAt(pod, "from").empty()) own_.insert(keyOf(pod));
  }

  // Removes the other entries, and counts them in `hidden`.
  Task<Result<>> apply(json::object& status, std::string list, std::string hidden) {
    json::value* entries = status.if_contains(list);
    if (!entries || !entries->is_array() || entries->get_array().empty()) co_return Result<>{};
    std::string everywhere;
    auto askingAll = readable_.contains(std::move(everywhere));
    const auto all = co_await askingAll;
    if (!all) co_return fail(Error(all.error()));
    if (*all) co_return Result<>{};
    json::array shown;
    std::int64_t count = 0;
    for (json::value& entry : entries->get_array()) {
      std::string key = keyOf(entry);
      auto asking = sees(std::move(key));
      const auto seen = co_await asking;
      if (!seen) co_return fail(Error(seen.error()));
      if (!*seen) {
        ++count;
        continue;
      }
      auto hiding = hidePreemptor(entry);
      const auto done = co_await hiding;
      if (!done) co_return fail(Error(done.error()));
      shown.push_back(std::move(entry));
    }
    *entries = std::move(shown);
    if (count > 0) status[hidden] = count;
    co_return Result<>{};
  }

 private:
  static std::string keyOf(const json::value& entry) {
    return fmt::format("{}/{}", textAt(entry, "namespace"), textAt(entry, "name"));
  }

  Task<Result<bool>> sees(std::string key) {
    if (own_.contains(key)) co_return true;
    auto asking = readable_.contains(key.substr(0, key.find('/')));
    const auto allowed = co_await asking;
    co_return allowed;
  }

  // The victim may be the caller's, and the pod that preempts it not.
  Task<Result<>> hidePreemptor(json::value& victim) {
    std::string preemptor(textAt(victim, "preemptor"));
    if (preemptor.empty()) co_return Result<>{};
    auto asking = sees(std::move(preemptor));
    const auto seen = co_await asking;
    if (!seen) co_return fail(Error(seen.error()));
    if (!*seen) victim.get_object().erase("preemptor");
    co_return Result<>{};
  }

  Readable readable_;
  std::set<std::string> own_;
};

// What is known of nodes: amounts, pools, and names of nodes that no pod of the question gets.
void hideNodes(json::object& status) {
  status.erase("nodes");
  if (json::value* fill = status.if_contains("fill"); fill && fill->is_object())
    fill->get_object().erase("pools");
  if (json::value* needed = status.if_contains("nodesFor"); needed && needed->is_object())
    needed->get_object().erase("resources");
  json::value* remedies = status.if_contains("remedies");
  if (!remedies || !remedies->is_array()) return;
  for (json::value& remedy : remedies->get_array()) {
    if (!remedy.is_object()) continue;
    for (const char* field : {"nearestMiss", "butForOne"}) remedy.get_object().erase(field);
    if (json::value* nodes = find(remedy, "nodes"); nodes && nodes->is_object())
      nodes->get_object().erase("like");
  }
}

// A gang may have no object: its pods say when it starts.
kube::ResourceAccess rightToAskAbout(const StartTarget& target) {
  switch (target.kind) {
    case StartTarget::Kind::Gang:
      return {.verb = "list", .resource = "pods", .namespace_ = target.namespace_};
    case StartTarget::Kind::Quota:
      return {.verb = "list", .group = "scheduling.sigs.k8s.io", .resource = "elasticquotas"};
    default:
      return {
          .verb = "get", .resource = "pods", .namespace_ = target.namespace_, .name = target.name};
  }
}

}  // namespace

std::vector<kube::ResourceAccess> rightsFor(const Question& question, const std::string& home) {
  std::vector<kube::ResourceAccess> rights;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  const auto create = [&](const std::string& group, std::string resource, std::string space) {
    if (!seen.emplace(group, resource, space).second) return;
    rights.push_back({.verb = "create",
                      .group = group,
                      .resource = std::move(resource),
                      .subresource = "",
                      .namespace_ = std::move(space),
                      .name = ""});
  };
  for (const QuestionObject& object : question.objects) {
    if (!isSimulated(object)) continue;
    create(object.group, resourceOf(object), isNamespaced(object) ? namespaceOf(object) : "");
  }
  if (!question.addNodes.empty() || question.nodesFor) create("", "nodes", "");
  const auto change = [&](const char* verb, const std::string& node) {
    rights.push_back({.verb = verb,
                      .group = "",
                      .resource = "nodes",
                      .subresource = "",
                      .namespace_ = "",
                      .name = node});
  };
  for (const std::string& node : question.drainNodes) change("patch", node);
  for (const std::string& node : question.loseNodes) change("delete", node);
  for (const StartTarget& target :
       question.when ? question.when->targets : std::vector<StartTarget>())
    rights.push_back(rightToAskAbout(target));
  if (!question.configuration.is_null())
    rights.push_back({.verb = "update",
                      .group = "",
                      .resource = "configmaps",
                      .subresource = "",
                      .namespace_ = home,
                      .name = ""});
  return rights;
}

std::vector<kube::ResourceAccess> rightsToChange(const Question& question, Scheduler& scheduler) {
  std::vector<kube::ResourceAccess> rights;
  const ExistingWorkloads workloads(question, scheduler);
  for (const QuestionObject& object : question.objects) {
    const bool isWorkload = workloadOf(object) != Workload::None;
    const StoredKind* kind = storedKind(object.group, object.kind);
    if (!kind && !isWorkload) continue;
    const std::string space = isNamespaced(object) ? namespaceOf(object) : "";
    const std::string name(textAt(object.document, "metadata", "name"));
    const bool exists =
        isWorkload ? workloads.contains(object) : kind->contains(scheduler.stores(), {space, name});
    if (exists)
      rights.push_back({.verb = "update",
                        .group = object.group,
                        .resource = resourceOf(object),
                        .subresource = "",
                        .namespace_ = space,
                        .name = name});
  }
  return rights;
}

kube::ResourceAccess rightToEvict(const std::string& namespace_) {
  return {.verb = "create",
          .group = "",
          .resource = "pods",
          .subresource = "eviction",
          .namespace_ = namespace_,
          .name = ""};
}

std::string describe(const kube::ResourceAccess& access) {
  std::string text = access.verb + " " + access.resource;
  if (!access.subresource.empty()) text += "/" + access.subresource;
  if (!access.group.empty()) text += "." + access.group;
  if (!access.name.empty()) text += " \"" + access.name + "\"";
  if (!access.namespace_.empty()) text += " in namespace \"" + access.namespace_ + "\"";
  return text;
}

Task<Result<json::value>> visiblePart(const kube::Caller& caller, json::value answer) {
  json::value* found = find(answer, "status");
  if (!found || !found->is_object()) co_return answer;
  json::object& status = found->get_object();
  Filter filter(caller, status);
  for (const auto& [list, hidden] : {std::pair{"victims", "hiddenVictims"},
                                     {"others", "hiddenOthers"},
                                     {"remedies", "hiddenRemedies"},
                                     {"pods", "hiddenPods"}}) {
    auto hiding = filter.apply(status, list, hidden);
    const auto done = co_await hiding;
    if (!done) co_return fail(Error(done.error()));
  }
  json::value* when = status.if_contains("when");
  json::value* estimates = when ? find(*when, "estimates") : nullptr;
  for (std::size_t i = 0; estimates && estimates->is_array() && i < estimates->get_array().size();
       ++i) {
    json::object* estimate = estimates->get_array()[i].if_object();
    for (const auto& [list, hidden] :
         {std::pair{"runs", "hiddenRuns"}, {"unknown", "hiddenUnknown"}}) {
      if (!estimate) continue;
      auto hiding = filter.apply(*estimate, list, hidden);
      const auto done = co_await hiding;
      if (!done) co_return fail(Error(done.error()));
    }
  }
  kube::ResourceAccess quotas{
      .verb = "list", .group = "scheduling.sigs.k8s.io", .resource = "elasticquotas"};
  auto askingQuotas = caller.may(std::move(quotas));
  const auto mayQuotas = co_await askingQuotas;
  if (!mayQuotas) co_return fail(Error(mayQuotas.error()));
  if (!*mayQuotas) status.erase("quotas");
  kube::ResourceAccess nodes{.verb = "list", .resource = "nodes"};
  auto askingNodes = caller.may(std::move(nodes));
  const auto mayNodes = co_await askingNodes;
  if (!mayNodes) co_return fail(Error(mayNodes.error()));
  if (!*mayNodes) hideNodes(status);
  co_return answer;
}

}  // namespace koord::scheduler::oracle
