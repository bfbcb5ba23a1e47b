#include "apiserver/admission/limit_ranger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/codec.h"
#include "api/pod.h"
#include "apiserver/admission/amounts.h"
#include "apiserver/objects/edit.h"
#include "model/pod_requests.h"

namespace koord::apiserver {
namespace {

constexpr const char* kLimitRanges = "limitranges";
constexpr const char* kAnnotation = "kubernetes.io/limit-ranger";

// One entry of a LimitRange.
struct Limit {
  std::string type;  // Container, Pod, PersistentVolumeClaim
  api::ResourceList min, max, ratio, defaults, defaultRequests;
};

std::vector<Limit> limitsOf(std::string_view namespace_, Store& store) {
  std::vector<Limit> out;
  const auto [begin, end] = store.table(kLimitRanges).range(namespace_);
  for (auto it = begin; it != end; ++it) {
    auto range = parseJson(it->second->text);
    const auto* spec = range ? find(*range, "spec") : nullptr;
    const auto* items = spec ? arrayAt(*spec, "limits") : nullptr;
    if (!items) continue;
    for (const auto& item : *items)
      out.push_back({std::string(textAt(item, "type")), amountsOf(find(item, "min")),
                     amountsOf(find(item, "max")), amountsOf(find(item, "maxLimitRequestRatio")),
                     amountsOf(find(item, "default")), amountsOf(find(item, "defaultRequest"))});
  }
  return out;
}

// Sets the missing values of a container and returns a description: "cpu, memory request for
// container main".
void complete(json::object& container, const char* part, const char* what, const char* kind,
              const api::ResourceList& defaults, std::vector<std::string>& notes) {
  if (defaults.empty()) return;
  auto& amounts = objectAt(objectAt(container, "resources"), part);
  std::vector<std::string> set;
  for (const auto& [name, amount] : defaults) {
    if (amounts.contains(name)) continue;
    amounts[name] = amount.toString();
    set.push_back(name);
  }
  if (amounts.empty()) eraseMember(objectAt(container, "resources"), part);
  if (set.empty()) return;
  std::ranges::sort(set);
  const auto* name = container.if_contains("name");
  notes.push_back(
      fmt::format("{} {} for {} {}", fmt::join(set, ", "), what, kind,
                  name && name->is_string() ? std::string_view(name->get_string()) : ""));
}

const Quantity* amountIn(const api::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? nullptr : &it->second;
}

// Compares requests and limits with the bounds of one entry.
class Bounds {
 public:
  Bounds(const Limit& limit, std::vector<std::string>& problems)
      : limit_(limit), problems_(problems) {}

  void check(const api::ResourceList& requests, const api::ResourceList& limits) {
    for (const auto& [name, least] : limit_.min)
      below(name, least, amountIn(requests, name), amountIn(limits, name));
    for (const auto& [name, most] : limit_.max)
      above(name, most, amountIn(requests, name), amountIn(limits, name));
    for (const auto& [name, most] : limit_.ratio)
      ratio(name, most, amountIn(requests, name), amountIn(limits, name));
  }

  // Claims have no limits; minimum and maximum both bound their requests.
  void checkClaim(const api::ResourceList& requests) {
    for (const auto& [name, least] : limit_.min)
      below(name, least, amountIn(requests, name), nullptr);
    for (const auto& [name, most] : limit_.max) {
      const auto* request = amountIn(requests, name);
      const auto head = heading("maximum", name, most);
      if (!request)
        problems_.push_back(head + ". No request is specified");
      else if (*request > most)
        problems_.push_back(fmt::format("{}, but request is {}", head, request->toString()));
    }
  }

 private:
  std::string heading(const char* bound, const std::string& name, const Quantity& amount) const {
    return fmt::format("{} {} usage per {} is {}", bound, name, limit_.type, amount.toString());
  }

  void below(const std::string& name, const Quantity& least, const Quantity* request,
             const Quantity* limit) {
    const auto head = heading("minimum", name, least);
    if (!request)
      problems_.push_back(head + ". No request is specified");
    else if (*request < least)
      problems_.push_back(fmt::format("{}, but request is {}", head, request->toString()));
    else if (limit && *limit < least)
      problems_.push_back(fmt::format("{}, but limit is {}", head, limit->toString()));
  }

  void above(const std::string& name, const Quantity& most, const Quantity* request,
             const Quantity* limit) {
    const auto head = heading("maximum", name, most);
    if (!limit)
      problems_.push_back(head + ". No limit is specified");
    else if (*limit > most)
      problems_.push_back(fmt::format("{}, but limit is {}", head, limit->toString()));
    else if (request && *request > most)
      problems_.push_back(fmt::format("{}, but request is {}", head, request->toString()));
  }

  void ratio(const std::string& name, const Quantity& most, const Quantity* request,
             const Quantity* limit) {
    const auto head = fmt::format("{} max limit to request ratio per {} is {}", name, limit_.type,
                                  most.toString());
    if (!request || request->isZero()) {
      problems_.push_back(head + ", but no request is specified or request is 0");
    } else if (!limit || limit->isZero()) {
      problems_.push_back(head + ", but no limit is specified or limit is 0");
    } else if (const double actual = limit->toDouble() / request->toDouble();
               actual > most.toDouble()) {
      problems_.push_back(fmt::format("{}, but provided ratio is {:f}", head, actual));
    }
  }

  const Limit& limit_;
  std::vector<std::string>& problems_;
};

void checkContainers(const json::value& pod, const Limit& limit,
                     std::vector<std::string>& problems) {
  const auto* spec = find(pod, "spec");
  for (const auto* list : {"containers", "initContainers"})
    if (const auto* containers = spec ? arrayAt(*spec, list) : nullptr)
      for (const auto& container : *containers)
        Bounds(limit, problems)
            .check(amountsOf(at(container, "resources", "requests")),
                   amountsOf(at(container, "resources", "limits")));
}

Outcome<> verdict(std::vector<std::string> problems, const Resource& resource,
                  std::string_view name) {
  if (problems.empty()) return {};
  std::vector<std::string> distinct;
  for (auto& problem : problems)
    if (std::ranges::find(distinct, problem) == distinct.end())
      distinct.push_back(std::move(problem));
  auto text = distinct.size() == 1 ? distinct[0] : fmt::format("[{}]", fmt::join(distinct, ", "));
  return refuse(ErrorCode::Forbidden,
                fmt::format("{} \"{}\" is forbidden: {}", resource.qualified(), name, text));
}

}  // namespace

void applyLimitDefaults(json::value& pod, std::string_view namespace_, Store& store) {
  // Of several LimitRanges the first with an entry for a resource applies.
  api::ResourceList requests, limits;
  for (auto& limit : limitsOf(namespace_, store)) {
    if (limit.type != "Container") continue;
    requests.insert(limit.defaultRequests.begin(), limit.defaultRequests.end());
    limits.insert(limit.defaults.begin(), limit.defaults.end());
  }
  if (requests.empty() && limits.empty()) return;
  auto& members = pod.get_object();
  auto& spec = objectAt(members, "spec");
  std::vector<std::string> notes;
  for (const auto& [list, kind] :
       {std::pair{"containers", "container"}, std::pair{"initContainers", "init container"}}) {
    auto* containers = arrayAt(spec, list);
    if (!containers) continue;
    for (auto& container : *containers) {
      if (!container.is_object()) continue;
      complete(container.get_object(), "requests", "request", kind, requests, notes);
      complete(container.get_object(), "limits", "limit", kind, limits, notes);
    }
  }
  if (!notes.empty())
    objectAt(objectAt(members, "metadata"), "annotations")[kAnnotation] =
        fmt::format("LimitRanger plugin set: {}", fmt::join(notes, "; "));
}

Outcome<> checkLimits(const json::value& object, const json::value* old, const Resource& resource,
                      Store& store) {
  const bool pod = resource.isCore("pods");
  if (!pod && !resource.isCore("persistentvolumeclaims")) return {};
  if (pod && old) return {};
  if (!textAt(object, "metadata", "deletionTimestamp").empty()) return {};
  std::vector<std::string> problems;
  for (const auto& limit : limitsOf(textAt(object, "metadata", "namespace"), store)) {
    if (!pod) {
      if (limit.type == "PersistentVolumeClaim")
        Bounds(limit, problems).checkClaim(amountsOf(at(object, "spec", "resources", "requests")));
    } else if (limit.type == "Container") {
      checkContainers(object, limit, problems);
    } else if (limit.type == "Pod") {
      const auto decoded = api::decode<api::Pod>(object);
      if (!decoded) return refuse(decoded.error());
      const model::PodRequestOptions options{.excludeOverhead = true};
      Bounds(limit, problems)
          .check(model::podRequests(*decoded, options), model::podLimits(*decoded, options));
    }
  }
  return verdict(std::move(problems), resource, textAt(object, "metadata", "name"));
}

}  // namespace koord::apiserver
