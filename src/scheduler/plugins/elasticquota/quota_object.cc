#include "scheduler/plugins/elasticquota/quota_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "api/codec.h"
#include "api/quantity_json.h"
#include "model/well_known.h"
#include "scheduler/framework/transforms.h"

namespace koord::scheduler {

namespace {

// A ResourceList in an annotation; nullopt if it is missing or invalid.
std::optional<api::ResourceList> amountsIn(const api::ElasticQuota& quota, std::string_view key,
                                           std::vector<std::string>& problems) {
  const auto* text = api::findIn(quota.metadata.annotations, key);
  if (!text || text->empty()) return std::nullopt;
  const auto wrong = [&](std::string_view why) {
    problems.push_back(fmt::format("metadata.annotations[{}]: {}", key, why));
    return std::nullopt;
  };
  const auto document = parseJson(*text);
  if (!document) return wrong(document.error().message);
  if (document->is_null()) return std::nullopt;
  const auto* object = document->if_object();
  if (!object) return wrong("expected an object of quantities");
  api::ResourceList list;
  for (const auto& member : *object) {
    const auto amount = api::readQuantity(member.value());
    if (!amount)
      return wrong(fmt::format("{}: {}", std::string(member.key()), amount.error().message));
    if (amount->sign() < 0)
      return wrong(fmt::format("{}: must not be negative", std::string(member.key())));
    list[std::string(member.key())] = *amount;
  }
  return list;
}

std::vector<std::string> namespacesOf(const api::ElasticQuota& quota,
                                      std::vector<std::string>& problems) {
  std::vector<std::string> namespaces;
  const auto* text = api::findIn(quota.metadata.annotations, model::kAnnotationQuotaNamespaces);
  if (!text || text->empty()) return namespaces;
  const auto document = parseJson(*text);
  const auto* list = document ? document->if_array() : nullptr;
  if (document && document->is_null()) return namespaces;
  if (!list || !std::ranges::all_of(*list, [](const auto& item) { return item.is_string(); })) {
    problems.push_back(fmt::format("metadata.annotations[{}]: expected a list of namespaces",
                                   model::kAnnotationQuotaNamespaces));
    return namespaces;
  }
  for (const auto& item : *list) namespaces.emplace_back(item.get_string());
  return namespaces;
}

// Each becomes an event.
void shorten(std::vector<std::string>& problems) {
  constexpr std::size_t kMaxReported = 20;
  if (problems.size() <= kMaxReported) return;
  const std::size_t more = problems.size() - (kMaxReported - 1);
  problems.resize(kMaxReported - 1);
  problems.push_back(fmt::format("{} more problems of this kind", more));
}

// Amounts of the spec, under the current names; negative ones count as 0.
quota::Amounts checked(api::ResourceList list, std::string_view field, ResourceNames& names,
                       std::vector<std::string>& problems) {
  renameBatchResources(list);
  for (const auto& [name, quantity] : list)
    if (quantity.sign() < 0)
      problems.push_back(
          fmt::format("{}[{}]: {} is negative; it counts as 0", field, name, quantity.toString()));
  return amountsOf(list, names);
}

}  // namespace

std::int64_t amountOf(std::string_view resource, const Quantity& quantity) {
  return resource == model::kCpu ? quantity.milliValue() : quantity.value();
}

Quantity quantityOf(std::string_view resource, std::int64_t amount) {
  if (resource == model::kCpu) return Quantity::ofMilli(amount);
  return Quantity::of(amount, resource == model::kMemory ? Quantity::Format::BinarySI
                                                         : Quantity::Format::DecimalSI);
}

quota::Amounts amountsOf(const api::ResourceList& list, ResourceNames& names) {
  quota::Amounts amounts;
  for (const auto& [name, quantity] : list)
    amounts.emplace_back(names.intern(name), std::max<std::int64_t>(amountOf(name, quantity), 0));
  return amounts;
}

quota::Amounts withoutLimit(quota::Amounts amounts) {
  for (auto& [resource, amount] : amounts)
    if (amount >= kNoLimit / 5) amount = kNoLimit;
  return amounts;
}

bool isFixed(const api::StringMap& podLabels) {
  const auto* label = api::findIn(podLabels, model::kLabelPreemptible);
  return label && *label == "false";
}

QuotaObject readQuota(const api::ElasticQuota& quota, ResourceNames& names) {
  QuotaObject read;
  const api::StringMap& labels = quota.metadata.labels;
  quota::Spec& spec = read.spec;
  spec.parent = api::textIn(labels, model::kLabelQuotaParent);
  if (spec.parent == model::kRootQuota) spec.parent.clear();
  spec.lends = api::textIn(labels, model::kLabelQuotaLends) != "false";
  spec.isParent = api::textIn(labels, model::kLabelQuotaIsParent) == "true";
  spec.apart =
      quota.metadata.name == model::kDefaultQuota || quota.metadata.name == model::kSystemQuota;
  spec.max = checked(quota.spec.max, "spec.max", names, read.problems);
  if (spec.apart) spec.max = withoutLimit(std::move(spec.max));
  spec.min = checked(quota.spec.min, "spec.min", names, read.problems);
  const std::unordered_map<quota::ResourceKey, std::int64_t> maxOf(spec.max.begin(),
                                                                   spec.max.end());
  for (auto& [resource, min] : spec.min) {
    const auto max = maxOf.find(resource);
    const std::string& name = names.name(resource);
    if (max == maxOf.end()) {
      read.problems.push_back(
          fmt::format("spec.min[{}]: spec.max does not name {}, which is not counted in this quota",
                      name, name));
      continue;
    }
    if (min <= max->second) continue;
    read.problems.push_back(fmt::format(
        "spec.min[{}]: {} is more than spec.max[{}], {}, which counts", name,
        quantityOf(name, min).toString(), name, quantityOf(name, max->second).toString()));
    min = max->second;
  }
  const auto weights = amountsIn(quota, model::kAnnotationSharedWeight, read.problems);
  const bool weighted = weights && std::ranges::any_of(*weights, [](const auto& weight) {
                          return !weight.second.isZero();
                        });
  spec.weight = weighted ? amountsOf(*weights, names) : spec.max;
  read.namespaces = namespacesOf(quota, read.problems);
  read.tree = api::textIn(labels, model::kLabelQuotaTree);
  read.treeRoot = api::textIn(labels, model::kLabelQuotaIsRoot) == "true";
  read.ignoresDefaultTree = api::textIn(labels, model::kLabelQuotaIgnoreDefaultTree) == "true";
  if (const auto total = amountsIn(quota, model::kAnnotationQuotaTotal, read.problems))
    read.treeTotal = amountsOf(*total, names);
  if (auto amounts = amountsIn(quota, model::kAnnotationQuotaUnschedulable, read.problems))
    read.unschedulable = *std::move(amounts);
  shorten(read.problems);
  return read;
}

}  // namespace koord::scheduler
