#include "scheduler/oracle/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/ascii.h"
#include "scheduler/oracle/kinds.h"

namespace koord::scheduler::oracle {

namespace {

constexpr const char* kSystemNamespace = "koordinator-system";
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

// Removes entries of the list in other namespaces, and counts them in `hidden`.
Task<Result<>> hideEntries(Readable& readable, json::object& status, std::string list,
                           std::string hidden) {
  json::value* entries = status.if_contains(list);
  if (!entries || !entries->is_array() || entries->get_array().empty()) co_return Result<>{};
  std::string everywhere;
  auto askingAll = readable.contains(everywhere);
  const auto all = co_await askingAll;
  if (!all) co_return fail(Error(all.error()));
  if (*all) co_return Result<>{};
  json::array shown;
  std::int64_t count = 0;
  for (const json::value& entry : entries->get_array()) {
    std::string namespace_(textAt(entry, "namespace"));
    auto asking = readable.contains(std::move(namespace_));
    const auto allowed = co_await asking;
    if (!allowed) co_return fail(Error(allowed.error()));
    if (*allowed) {
      shown.push_back(entry);
    } else {
      ++count;
    }
  }
  *entries = std::move(shown);
  if (count > 0) status[hidden] = count;
  co_return Result<>{};
}

void hideAmounts(json::object& status) {
  json::value* remedies = status.if_contains("remedies");
  if (!remedies || !remedies->is_array()) return;
  for (json::value& remedy : remedies->get_array())
    if (remedy.is_object())
      for (const char* field : {"nearestMiss", "butForOne"}) remedy.get_object().erase(field);
}

}  // namespace

std::vector<kube::ResourceAccess> rightsFor(const Question& question) {
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
    const std::string space = object.namespace_.empty() ? "default" : object.namespace_;
    create(object.group, resourceOf(object), isNamespaced(object) ? space : "");
  }
  if (!question.addNodes.empty()) create("", "nodes", "");
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
  if (!question.configuration.is_null())
    rights.push_back({.verb = "update",
                      .group = "",
                      .resource = "configmaps",
                      .subresource = "",
                      .namespace_ = kSystemNamespace,
                      .name = ""});
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
  Readable readable(caller);
  for (const auto& [list, hidden] :
       {std::pair{"victims", "hiddenVictims"}, {"others", "hiddenOthers"}}) {
    auto hiding = hideEntries(readable, status, list, hidden);
    const auto done = co_await hiding;
    if (!done) co_return fail(Error(done.error()));
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
  if (!*mayNodes) hideAmounts(status);
  co_return answer;
}

}  // namespace koord::scheduler::oracle
