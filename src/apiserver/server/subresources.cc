#include <fmt/format.h>

#include "api/codec.h"
#include "api/patch/json_patch.h"
#include "api/patch/merge_patch.h"
#include "api/selector.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr const char* kBudgets = "poddisruptionbudgets.policy";

void setCondition(json::object& status, json::object condition) {
  auto& list = status["conditions"];
  if (!list.is_array()) list = json::array{};
  for (auto& item : list.get_array())
    if (textAt(item, "type") == std::string_view(condition.at("type").get_string())) {
      item = std::move(condition);
      return;
    }
  list.get_array().push_back(std::move(condition));
}

json::value* atPath(json::value& object, std::string_view path, bool make) {
  json::value* value = &object;
  while (value && !path.empty()) {
    if (path.front() == '.') path.remove_prefix(1);
    const auto dot = path.find('.');
    const auto name = path.substr(0, dot);
    if (make && value->is_object()) {
      auto& member = value->get_object()[name];
      if (member.is_null() && dot != std::string_view::npos) member = json::object{};
      value = &member;
    } else {
      value = find(*value, name);
    }
    path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot);
  }
  return value;
}

// The status.selector of a Scale: text of a selector that the object holds as text or object.
std::string selectorText(json::value& object, const ScalePaths& paths) {
  const json::value* selector =
      atPath(object, paths.labelSelector.empty() ? ".spec.selector" : paths.labelSelector, false);
  if (!selector) return "";
  if (selector->is_string()) return std::string(selector->get_string());
  auto decoded = api::decode<api::LabelSelector>(*selector);
  if (!decoded) return "";
  auto compiled = api::Selector::compile(*decoded);
  return compiled ? compiled->toString() : "";
}

json::value scaleOf(json::value& object, const ScalePaths& paths) {
  const auto number = [&](const std::string& path) -> json::value {
    const auto* value = atPath(object, path, false);
    return value && value->is_int64() ? *value : json::value(0);
  };
  json::object metadata;
  for (const auto* name : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"})
    if (const auto* member = at(object, "metadata", name)) metadata[name] = *member;
  json::object status{{"replicas", number(paths.statusReplicas)}};
  if (auto text = selectorText(object, paths); !text.empty()) status["selector"] = text;
  return json::object{{"kind", "Scale"},
                      {"apiVersion", "autoscaling/v1"},
                      {"metadata", std::move(metadata)},
                      {"spec", {{"replicas", number(paths.specReplicas)}}},
                      {"status", std::move(status)}};
}

Result<json::value> applyScalePatch(const json::value& scale, const json::value& patch) {
  return patch.is_array() ? api::applyJsonPatch(scale, patch) : api::applyMergePatch(scale, patch);
}

}  // namespace

Task<Outcome<Written>> WriteCall::bind() {
  const auto& request = call_.request;
  auto body = parseJson(request.body);
  if (!body) co_return refuse(std::move(body.error()).within("error decoding the binding"));
  const std::string pod =
      request.name.empty() ? std::string(textAt(*body, "metadata", "name")) : request.name;
  const std::string node(textAt(*body, "target", "name"));
  if (const auto kind = textAt(*body, "target", "kind"); !kind.empty() && kind != "Node")
    co_return refuse(ErrorCode::Invalid,
                     fmt::format("Binding \"{}\" is invalid: target.kind: Unsupported value: "
                                 "\"{}\": supported values: \"Node\"",
                                 pod, kind));
  if (node.empty())
    co_return refuse(ErrorCode::Invalid,
                     fmt::format("Binding \"{}\" is invalid: target.name: Required value", pod));
  const auto key = makeKey(request.namespace_, pod);

  auto a = attributes("CREATE", &*body, nullptr);
  a.name = pod;
  a.objectKind = "Binding";
  a.objectVersion = "v1";
  if (server_.webhooks_.wantsValidating(a)) {
    a.object = *body;
    auto asking = server_.webhooks_.validate(std::move(a), warnings_);
    if (auto good = co_await asking; !good) co_return std::unexpected(std::move(good.error()));
  }

  const auto entry = target_.table->find(key);
  if (!entry) co_return refuse(notFound(*target_.resource, pod));
  auto old = readOld(*entry);
  if (!old) co_return std::unexpected(std::move(old.error()));
  const auto refused = [&](std::string_view why) {
    return refuse(
        ErrorCode::Conflict,
        fmt::format("Operation cannot be fulfilled on pods/binding \"{}\": {}", pod, why));
  };
  const auto uid = textAt(*old, "metadata", "uid");
  if (const auto wanted = textAt(*body, "metadata", "uid"); !wanted.empty() && wanted != uid)
    co_return refused(fmt::format(
        "Precondition failed: UID in precondition: {}, UID in object meta: {}", wanted, uid));
  if (!textAt(*old, "metadata", "deletionTimestamp").empty())
    co_return refused(fmt::format("pod {} is being deleted, cannot be assigned to a host", pod));
  if (const auto bound = textAt(*old, "spec", "nodeName"); !bound.empty())
    co_return refused(fmt::format("pod {} is already assigned to node \"{}\"", pod, bound));
  if (const auto* gates = at(*old, "spec", "schedulingGates");
      gates && gates->is_array() && !gates->get_array().empty())
    co_return refused(fmt::format("pod {} has non-empty .spec.schedulingGates", pod));

  json::value next = *old;
  auto& members = next.get_object();
  objectAt(members, "spec")["nodeName"] = node;
  for (const auto* name : {"annotations", "labels"})
    if (const auto* extra = at(*body, "metadata", name); extra && extra->is_object())
      for (const auto& member : extra->get_object())
        objectAt(objectAt(members, "metadata"), name)[member.key()] = member.value();
  setCondition(objectAt(members, "status"),
               json::object{{"type", "PodScheduled"},
                            {"status", "True"},
                            {"lastProbeTime", nullptr},
                            {"lastTransitionTime", formatTime(server_.executor_.wallNow())}});
  managed_ = entry->managedFields();  // binding owns nothing
  if (!dryRun_) put(next);
  co_return Written{bytesOf(successText(request, "", "")), 201};
}

Outcome<> WriteCall::checkDisruptionBudgets(const json::value& pod) {
  api::StringMap labels;
  if (const auto* own = at(pod, "metadata", "labels"); own && own->is_object())
    for (const auto& label : own->get_object())
      if (label.value().is_string())
        labels.emplace(std::string(label.key()), std::string(label.value().get_string()));
  auto& table = server_.store_.table(kBudgets);
  std::vector<std::pair<EntryPtr, json::value>> budgets;
  const auto [begin, end] = table.range(textAt(pod, "metadata", "namespace"));
  for (auto it = begin; it != end; ++it) {
    auto budget = parseJson(it->second->text);
    const auto* json = budget ? at(*budget, "spec", "selector") : nullptr;
    if (!json) continue;
    auto selector = api::decode<api::LabelSelector>(*json);
    auto compiled = selector ? api::Selector::compile(*selector) : fail(selector.error());
    if (compiled && compiled->matches(labels)) budgets.emplace_back(it->second, *std::move(budget));
  }
  if (budgets.empty()) return {};
  if (budgets.size() > 1)
    return refuse(ErrorCode::Internal,
                  "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                  "does not support.");
  auto& [entry, budget] = budgets.front();
  const std::string name(entry->name());

  bool ready = false;
  if (const auto* conditions = at(pod, "status", "conditions");
      conditions && conditions->is_array())
    for (const auto& condition : conditions->get_array())
      ready =
          ready || (textAt(condition, "type") == "Ready" && textAt(condition, "status") == "True");
  const auto healthy = integerAt(budget, 0, "status", "currentHealthy");
  const auto desired = integerAt(budget, 0, "status", "desiredHealthy");
  if (!ready) {
    const auto policy = textAt(budget, "spec", "unhealthyPodEvictionPolicy");
    if (policy == "AlwaysAllow" || (healthy >= desired && desired > 0)) return {};
  }
  const auto denied = [&](std::string message, int retrySeconds) {
    Failure failure(ErrorCode::TooManyRequests,
                    "Cannot evict pod as it would violate the pod's disruption budget.");
    failure.error.retryAfter = std::chrono::seconds(retrySeconds);
    failure.causes.push_back({"DisruptionBudget", std::move(message), ""});
    return refuse(std::move(failure));
  };
  if (integerAt(budget, 0, "status", "observedGeneration") <
      integerAt(budget, 0, "metadata", "generation"))
    return denied(
        fmt::format("The disruption budget {} is still being processed by the server.", name), 10);
  const auto allowed = integerAt(budget, 0, "status", "disruptionsAllowed");
  if (allowed <= 0)
    return denied(fmt::format("The disruption budget {} needs {} healthy pods and has {} currently",
                              name, desired, healthy),
                  0);
  if (dryRun_) return {};
  auto& status = objectAt(budget.get_object(), "status");
  status["disruptionsAllowed"] = allowed - 1;
  objectAt(status, "disruptedPods")[textAt(pod, "metadata", "name")] =
      formatTime(server_.executor_.wallNow());
  server_.store_.put(table, draftOf(budget, *server_.registry_.findByTable(kBudgets)), budget);
  return {};
}

Task<Outcome<Written>> WriteCall::evict() {
  const auto& request = call_.request;
  auto body = request.body.empty() ? Result<json::value>(json::object{}) : parseJson(request.body);
  if (!body) co_return refuse(std::move(body.error()).within("error decoding the eviction"));
  const auto entry = target_.table->find(makeKey(request.namespace_, request.name));
  if (!entry) co_return refuse(notFound(*target_.resource, request.name));
  auto pod = readOld(*entry);
  if (!pod) co_return std::unexpected(std::move(pod.error()));
  const auto* given = find(*body, "deleteOptions");
  json::value options = given && given->is_object() ? *given : json::value(json::object{});
  if (const auto* dryRun = find(options, "dryRun");
      dryRun && dryRun->is_array() && !dryRun->get_array().empty())
    dryRun_ = true;

  auto a = attributes("CREATE", &*pod, nullptr);
  a.objectKind = "Eviction";
  a.objectVersion = "policy/v1";
  if (server_.webhooks_.wantsValidating(a)) {
    a.object = *body;
    auto asking = server_.webhooks_.validate(std::move(a), warnings_);
    if (auto good = co_await asking; !good) co_return std::unexpected(std::move(good.error()));
  }
  // Pods that do no work, or go anyway, cost no budget.
  const auto phase = textAt(*pod, "status", "phase");
  const bool free = phase == "Pending" || phase == "Succeeded" || phase == "Failed" ||
                    !textAt(*pod, "metadata", "deletionTimestamp").empty();
  if (!free)
    if (auto good = checkDisruptionBudgets(*pod); !good)
      co_return std::unexpected(std::move(good.error()));
  auto removing = removeOne(entry, std::move(options));
  auto removed = co_await removing;
  if (!removed) co_return removed;
  co_return Written{bytesOf(successText(request, "", "")), 201};
}

Task<Outcome<Written>> WriteCall::scale() {
  const auto& request = call_.request;
  const auto paths = *target_.version->scale;
  const auto entry = target_.table->find(makeKey(request.namespace_, request.name));
  if (!entry) co_return refuse(notFound(*target_.resource, request.name));
  auto current = readOld(*entry);
  if (!current) co_return std::unexpected(std::move(current.error()));
  if (request.verb == kube::Verb::Get)
    co_return Written{bytesOf(toJson(scaleOf(*current, paths))), 200};

  auto body = parseJson(request.body);
  if (!body) co_return refuse(std::move(body.error()).within("error decoding the scale"));
  json::value wanted = *std::move(body);
  if (request.verb == kube::Verb::Patch) {
    auto patched = applyScalePatch(scaleOf(*current, paths), wanted);
    if (!patched) co_return refuse(std::move(patched.error()));
    wanted = *std::move(patched);
  } else if (request.verb != kube::Verb::Update) {
    co_return refuse(ErrorCode::MethodNotAllowed,
                     "the server does not allow this method on the requested resource");
  }
  const auto replicas = integerAt(wanted, 0, "spec", "replicas");
  const std::string version(textAt(wanted, "metadata", "resourceVersion"));
  if (replicas < 0)
    co_return refuse(ErrorCode::Invalid,
                     fmt::format("Scale.autoscaling \"{}\" is invalid: spec.replicas: Invalid "
                                 "value: {}: must be greater than or equal to 0",
                                 request.name, replicas));
  auto changing = modify(
      [replicas, version, paths](const json::value& old, WriteCall&) -> Outcome<json::value> {
        json::value next = old;
        if (auto* place = atPath(next, paths.specReplicas, true)) *place = replicas;
        if (!version.empty()) objectAt(next.get_object(), "metadata")["resourceVersion"] = version;
        return next;
      });
  auto changed = co_await changing;
  if (!changed) co_return changed;
  const auto now = target_.table->find(makeKey(request.namespace_, request.name));
  if (!now) co_return refuse(notFound(*target_.resource, request.name));
  auto object = readOld(*now);
  if (!object) co_return std::unexpected(std::move(object.error()));
  co_return Written{bytesOf(toJson(scaleOf(*object, paths))), 200};
}

}  // namespace koord::apiserver
