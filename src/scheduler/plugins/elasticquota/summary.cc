#include "scheduler/plugins/elasticquota/summary.h"

#include "api/quantity_json.h"
#include "model/well_known.h"

namespace koord::scheduler {

using quota::Cell;
using quota::Change;
using quota::Column;
using quota::Columns;
using quota::QuotaTree;

QuotaSummary summaryOf(const Quotas& quotas, const Place& place) {
  const QuotaTree& tree = place.quotas();
  const Columns& max = tree.maxColumns(place.quota);
  const Columns none;
  QuotaSummary summary;
  const auto put = [&](api::ResourceList& list, Column column, quota::Sum amount,
                       const Columns& shown) {
    if (amount == 0 && !shown.contains(column)) return;
    const std::string& name = quotas.resources().name(tree.resource(column));
    list[name] = quantityOf(name, quota::clamped(amount));
  };
  // For the root, also the totals of resources that no pod requests.
  const bool root = place.quota == QuotaTree::kRoot;
  const Columns columns = root ? tree.columns() : tree.cellColumns(place.quota);
  quota::forEachColumn(columns, [&](Column column) {
    const Cell& cell = tree.cell(place.quota, column);
    const bool counted = max.contains(column);
    if (counted) put(summary.max, column, cell.max, max);
    put(summary.min, column, cell.min, tree.minColumns(place.quota));
    put(summary.autoScaleMin, column, cell.scaledMin, tree.minColumns(place.quota));
    put(summary.sharedWeight, column, cell.weight, none);
    if (root) {
      put(summary.runtime, column, tree.available(place.quota, column), none);
    } else if (counted && !tree.spec(place.quota).apart) {
      put(summary.runtime, column, cell.limit, max);
    }
    put(summary.request, column, cell.request, max);
    put(summary.childRequest, column, cell.childRequest, max);
    put(summary.used, column, cell.used, max);
    put(summary.allocated, column, cell.allocated, none);
    put(summary.guaranteed, column, cell.guaranteed, none);
    put(summary.nonPreemptibleRequest, column, cell.fixedRequest, none);
    put(summary.nonPreemptibleUsed, column, cell.fixedUsed, none);
    const Change self = counted ? cell.self : Change();
    put(summary.selfRequest, column, self.request, none);
    put(summary.selfUsed, column, self.used, none);
    put(summary.selfNonPreemptibleRequest, column, self.fixedRequest, none);
    put(summary.selfNonPreemptibleUsed, column, self.fixedUsed, none);
  });
  // Counted as no limit; shown as configured.
  if (place.quota != QuotaTree::kRoot && tree.spec(place.quota).apart)
    summary.max = summary.sharedWeight = quotas.builtInMax(place.name());
  return summary;
}

std::vector<std::pair<std::string_view, const api::ResourceList*>> annotationsOf(
    const QuotaSummary& summary) {
  return {{model::kAnnotationQuotaRuntime, &summary.runtime},
          {model::kAnnotationQuotaRequest, &summary.request},
          {model::kAnnotationQuotaChildRequest, &summary.childRequest},
          {model::kAnnotationQuotaGuaranteed, &summary.guaranteed},
          {model::kAnnotationQuotaAllocated, &summary.allocated},
          {model::kAnnotationNonPreemptibleRequest, &summary.nonPreemptibleRequest},
          {model::kAnnotationNonPreemptibleUsed, &summary.nonPreemptibleUsed}};
}

json::object listJson(const api::ResourceList& list) {
  json::object object;
  for (const auto& [name, amount] : list) object.emplace(name, amount.toString());
  return object;
}

bool sameAmounts(const api::ResourceList& a, const api::ResourceList& b) {
  const auto within = [](const api::ResourceList& some, const api::ResourceList& other) {
    for (const auto& [name, amount] : some) {
      const auto it = other.find(name);
      if (it == other.end() ? !amount.isZero() : amount != it->second) return false;
    }
    return true;
  };
  return within(a, b) && within(b, a);
}

namespace {

// The content of an annotation; nullopt if it is invalid.
std::optional<api::ResourceList> writtenIn(const api::ElasticQuota& object, std::string_view key) {
  api::ResourceList list;
  const auto* text = api::findIn(object.metadata.annotations, key);
  if (!text || text->empty()) return list;
  const auto document = parseJson(*text);
  if (!document) return std::nullopt;
  if (document->is_null()) return list;
  if (!document->is_object()) return std::nullopt;
  for (const auto& member : document->get_object()) {
    const auto amount = api::readQuantity(member.value());
    if (!amount) return std::nullopt;
    list[std::string(member.key())] = *amount;
  }
  return list;
}

}  // namespace

json::value statusPatch(const api::ElasticQuota& object, const QuotaSummary& summary) {
  json::object annotations;
  for (const auto& [key, list] : annotationsOf(summary)) {
    const auto written = writtenIn(object, key);
    if (written && sameAmounts(*written, *list)) continue;
    annotations.emplace(json::string_view(key.data(), key.size()), toJson(listJson(*list)));
  }
  json::object patch;
  if (!annotations.empty())
    patch.emplace("metadata", json::object{{"annotations", std::move(annotations)}});
  if (!sameAmounts(object.status.used, summary.used)) {
    json::object used = listJson(summary.used);
    for (const auto& [name, amount] : object.status.used)
      if (!used.contains(name)) used.emplace(name, nullptr);
    patch.emplace("status", json::object{{"used", std::move(used)}});
  }
  return patch.empty() ? json::value(nullptr) : json::value(std::move(patch));
}

}  // namespace koord::scheduler
