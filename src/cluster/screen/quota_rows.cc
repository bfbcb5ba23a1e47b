#include <algorithm>
#include <map>
#include <unordered_set>

#include "api/codec.h"
#include "cluster/screen/object_rows.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::cluster {

namespace {

using QuotaPtr = std::shared_ptr<const api::ElasticQuota>;

// An amount that koord-scheduler writes in an annotation; nullopt if there is none.
std::optional<Quantity> annotated(const api::ElasticQuota& quota, std::string_view annotation,
                                  std::string_view resource) {
  const auto* text = api::findIn(quota.metadata.annotations, annotation);
  if (!text) return std::nullopt;
  const auto document = parseJson(*text);
  if (!document) return std::nullopt;
  const auto amount = Quantity::parse(textAt(*document, resource));
  return amount ? std::optional(*amount) : std::nullopt;
}

std::optional<std::int64_t> milliOf(const std::optional<Quantity>& amount) {
  return amount ? std::optional(amount->milliValue()) : std::nullopt;
}

// "batch-cpu 500/4000, gpu 0/8": resources other than cpu and memory.
std::string othersOf(const api::ElasticQuota& quota) {
  std::string text;
  for (const auto& [name, most] : quota.spec.max) {
    if (name == model::kCpu || name == model::kMemory) continue;
    const std::string_view full = name;
    text += (text.empty() ? "" : ", ") + std::string(full.substr(full.find('/') + 1)) + " " +
            model::amountOf(quota.status.used, name).toString() + "/" + most.toString();
  }
  return text;
}

Row rowOf(const api::ElasticQuota& quota, int depth) {
  const auto& meta = quota.metadata;
  const auto cpu = model::amountOf(quota.status.used, model::kCpu).milliValue();
  const auto memory = model::amountOf(quota.status.used, model::kMemory).value();
  const auto most = model::amountOf(quota.spec.max, model::kCpu).milliValue();
  Row row{{Subject::Kind::Quota, meta.namespace_, meta.name},
          {},
          most > 0 && cpu >= most ? Style::Warning : Style::Normal};
  const auto tree = api::findIn(meta.labels, model::kLabelQuotaTree);
  row.values = {textValue(std::string(static_cast<std::size_t>(2 * depth), ' ') + meta.name),
                coresOfValue(cpu, most),
                bytesOfValue(memory, model::amountOf(quota.spec.max, model::kMemory).value()),
                sinceValue(meta.creationTimestamp),
                coresValue(model::amountOf(quota.spec.min, model::kCpu).milliValue()),
                coresValue(milliOf(annotated(quota, model::kAnnotationQuotaRuntime, model::kCpu))),
                coresValue(milliOf(annotated(quota, model::kAnnotationQuotaRequest, model::kCpu))),
                textValue(othersOf(quota)),
                textValue(tree ? *tree : std::string()),
                textValue(meta.namespace_)};
  return row;
}

class QuotaTrees {
 public:
  explicit QuotaTrees(const std::vector<QuotaPtr>& quotas) {
    for (const auto& quota : quotas) names_.insert(quota->metadata.name);
    for (const auto& quota : quotas) {
      const auto* parent = api::findIn(quota->metadata.labels, model::kLabelQuotaParent);
      const bool below = parent && *parent != quota->metadata.name && names_.contains(*parent);
      children_[below ? *parent : std::string()].push_back(quota);
    }
    for (auto& [parent, list] : children_)
      std::ranges::sort(list, {}, [](const QuotaPtr& quota) { return quota->metadata.name; });
  }

  std::vector<Row> rows() {
    add("", 0);
    // Quotas that name each other as parents.
    while (!children_.empty()) add(children_.begin()->first, 0);
    return std::move(rows_);
  }

 private:
  void add(const std::string& parent, int depth) {
    auto found = children_.extract(parent);
    if (found.empty()) return;
    for (const auto& quota : found.mapped()) {
      rows_.push_back(rowOf(*quota, depth));
      if (depth < kDeepest) add(quota->metadata.name, depth + 1);
    }
  }

  static constexpr int kDeepest = 20;  // of a tree; deeper quotas follow at the end
  std::unordered_set<std::string> names_;
  std::map<std::string, std::vector<QuotaPtr>> children_;
  std::vector<Row> rows_;
};

}  // namespace

const std::vector<Column>& quotaColumns() {
  using Kind = Column::Kind;
  static const std::vector<Column> columns = {{"QUOTA"},
                                              {"CPU/MAX", Kind::Amount, 9},
                                              {"MEMORY/MAX", Kind::Amount, 13},
                                              {"AGE", Kind::Age, 4},
                                              {"MIN-CPU", Kind::Amount, 7},
                                              {"RUNTIME", Kind::Amount, 7},
                                              {"REQUEST", Kind::Amount, 7},
                                              {"OTHERS"},
                                              {"TREE"},
                                              {"NAMESPACE"}};
  return columns;
}

std::vector<Row> quotaRows(const Objects& objects) {
  return QuotaTrees(objects.quotas).rows();
}

}  // namespace koord::cluster
