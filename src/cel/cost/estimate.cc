#include "cel/cost/estimate.h"

#include <algorithm>
#include <unordered_map>

#include "cel/cost/standard_estimate.h"
#include "cel/library.h"
#include "cel/utf8_text.h"

namespace koord::cel {

namespace {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// The sizes of the keys and values of a list (whose keys are its indexes) or of a map.
struct EntrySize {
  bool isList = false;
  SizeEstimate key;
  SizeEstimate value;
};
using Path = std::vector<std::string>;

class Estimator {
 public:
  explicit Estimator(const EnvironmentState& environment) {
    static const CostModel kDefault;
    model_ = environment.options.costModel ? environment.options.costModel : &kDefault;
  }

  CostEstimate cost(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Literal:
        return {};
      case ExprKind::Ident:
        return costOfIdent(expr);
      case ExprKind::Select:
        return costOfSelect(expr);
      case ExprKind::Call:
        return costOfCall(expr);
      case ExprKind::List:
        return costOfList(expr);
      case ExprKind::Map:
        return costOfMap(expr);
      case ExprKind::Struct: {
        CostEstimate sum = fixedCost(kStructCost);
        for (const Entry& entry : expr.entries) sum = sum + cost(*entry.value);
        return sum;
      }
      case ExprKind::Comprehension:
        return isBind(*expr.comprehension) ? costOfBind(expr) : costOfFold(expr);
    }
    return {};
  }

 private:
  struct Local {
    std::string name;
    Path path;
    std::optional<SizeEstimate> size;
    std::optional<EntrySize> entrySize;
  };

  // ---- paths and sizes

  const Local* findLocal(std::string_view name) const {
    const auto found = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [&](const Local& local) { return local.name == name; });
    return found == locals_.rend() ? nullptr : &*found;
  }
  const Local* localOf(const Expr& expr) const {
    return expr.kind == ExprKind::Ident && !expr.rooted ? findLocal(expr.name) : nullptr;
  }
  Path pathOf(const Expr& expr) const {
    if (const Local* local = localOf(expr)) return local->path;
    const auto found = paths_.find(&expr);
    return found == paths_.end() ? Path{} : found->second;
  }
  static Path extended(Path path, std::string_view part) {
    path.emplace_back(part);
    return path;
  }

  static std::optional<SizeEstimate> sizeOfLiteral(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Literal:
        return SizeEstimate::fixed(sizeForCost(expr.literal));
      case ExprKind::List:
        return SizeEstimate::fixed(expr.arguments.size());
      case ExprKind::Map:
        return SizeEstimate::fixed(expr.entries.size());
      default:
        return std::nullopt;
    }
  }

  static bool isScalar(const Type& type) {
    switch (type.kind()) {
      case TypeKind::Bool:
      case TypeKind::Int:
      case TypeKind::Uint:
      case TypeKind::Double:
      case TypeKind::Duration:
      case TypeKind::Timestamp:
        return true;
      case TypeKind::Wrapper:
        return isScalar(type.parameters()[0]);
      case TypeKind::Opaque:
        return type.isOptional() && isScalar(type.parameters()[0]);
      default:
        return false;
    }
  }

  std::optional<SizeEstimate> sizeOf(const Expr& expr) {
    const auto known = sizes_.find(&expr);
    if (known != sizes_.end()) return known->second;
    if (const auto size = sizeOfLiteral(expr)) return size;
    if (const auto size = model_->estimateSize({pathOf(expr), *expr.type, &expr, std::nullopt})) {
      sizes_[&expr] = *size;
      return size;
    }
    if (isScalar(*expr.type)) return SizeEstimate::fixed(1);
    const Local* local = localOf(expr);
    return local ? local->size : std::nullopt;
  }
  SizeEstimate sizeOrUnknown(const Expr& expr) { return sizeOf(expr).value_or(SizeEstimate{}); }
  void setSize(const Expr& expr, const std::optional<SizeEstimate>& size) {
    if (size) sizes_[&expr] = *size;
  }
  std::optional<EntrySize> entrySizeOf(const Expr& expr) const {
    const auto known = entrySizes_.find(&expr);
    if (known != entrySizes_.end()) return known->second;
    const Local* local = localOf(expr);
    return local ? local->entrySize : std::nullopt;
  }
  void setEntrySize(const Expr& expr, const std::optional<EntrySize>& size) {
    if (size) entrySizes_[&expr] = *size;
  }
  static std::optional<EntrySize> unionOf(const std::optional<EntrySize>& a,
                                          const std::optional<EntrySize>& b) {
    if (!a || !b) return std::nullopt;
    return EntrySize{a->isList, a->key.unionWith(b->key), a->value.unionWith(b->value)};
  }
  CostNode nodeOf(const Expr& expr) {
    Path path = pathOf(expr);
    if (!path.empty() && path[0] == op::kAccumulator) path.clear();
    return {std::move(path), *expr.type, &expr, sizeOf(expr)};
  }

  // ---- expressions

  CostEstimate costOfIdent(const Expr& expr) {
    const Local* local = localOf(expr);
    paths_[&expr] = local ? local->path : Path{expr.name};
    return fixedCost(kSelectCost);
  }

  CostEstimate costOfSelect(const Expr& expr) {
    CostEstimate sum = cost(*expr.target);
    if (expr.testOnly) return sum + fixedCost(model_->presenceTestHasCost() ? 1 : 0);
    const TypeKind kind = expr.target->type->kind();
    if (kind == TypeKind::Map || kind == TypeKind::Object || kind == TypeKind::Parameter)
      sum = sum + fixedCost(kSelectCost);
    paths_[&expr] = extended(pathOf(*expr.target), expr.name);
    return sum;
  }

  CostEstimate costOfCall(const Expr& expr) {
    if (expr.name == "dyn" && expr.arguments.size() == 1) {
      const CostEstimate sum = fixedCost(1) + cost(*expr.arguments[0]);
      copySizes(expr, *expr.arguments[0]);
      return sum;
    }
    std::vector<CostEstimate> costs;
    std::vector<CostNode> nodes;
    for (const ExprPtr& argument : expr.arguments) {
      costs.push_back(cost(*argument));
      nodes.push_back(nodeOf(*argument));
    }
    if (expr.overloads.empty()) return {};
    CostEstimate sum;
    std::optional<CostNode> target;
    if (expr.target) {
      sum = cost(*expr.target);
      target = nodeOf(*expr.target);
    }
    CostEstimate range{kNoLimit, 0};
    std::optional<SizeEstimate> size;
    for (const Overload* overload : expr.overloads) {
      const CallEstimate call =
          costOfOverload(expr, *overload, target ? &*target : nullptr, nodes, costs);
      range = {std::min(range.min, call.cost.min), std::max(range.max, call.cost.max)};
      if (call.size) size = size ? size->unionWith(*call.size) : *call.size;
      indexed(expr, overload->id, size);
      if (!size) size = sizeOf(expr);
    }
    setSize(expr, size);
    return sum + range;
  }

  void indexed(const Expr& expr, std::string_view overload, std::optional<SizeEstimate>& size) {
    const bool list = overload == "index_list";
    if (!list && overload != "index_map") return;
    const auto entries = entrySizeOf(*expr.arguments[0]);
    size = entries ? std::optional(entries->value) : std::nullopt;
    paths_[&expr] = extended(pathOf(*expr.arguments[0]), list ? "@items" : "@values");
  }

  void copySizes(const Expr& to, const Expr& from) {
    setSize(to, sizeOf(from));
    setEntrySize(to, entrySizeOf(from));
  }

  CallEstimate costOfOverload(const Expr& expr, const Overload& overload, const CostNode* target,
                              const std::vector<CostNode>& nodes,
                              const std::vector<CostEstimate>& costs) {
    CostEstimate sum;
    for (const CostEstimate& each : costs) sum = sum + each;
    std::optional<CallEstimate> own;
    if (overload.estimate) own = overload.estimate(*model_, target, nodes);
    if (!own) own = model_->estimateCall(expr.name, overload.id, target, nodes);
    if (own) return {own->cost + sum, own->size};
    if (overload.id == "logical_or" || overload.id == "logical_and")
      return {{costs[0].min, sum.max}, std::nullopt};
    if (overload.id == "conditional") return costOfConditional(expr, costs);
    if (overload.id == "add_list" || overload.id == "add_string" || overload.id == "add_bytes")
      setEntrySize(expr, unionOf(entrySizeOf(*expr.arguments[0]), entrySizeOf(*expr.arguments[1])));
    CallEstimate result = standardEstimate(overload.id, target, nodes);
    result.cost = result.cost + sum;
    return result;
  }

  CallEstimate costOfConditional(const Expr& expr, const std::vector<CostEstimate>& costs) {
    const Expr &yes = *expr.arguments[1], &no = *expr.arguments[2];
    setEntrySize(expr, unionOf(entrySizeOf(yes), entrySizeOf(no)));
    const CostEstimate branches{std::min(costs[1].min, costs[2].min),
                                std::max(costs[1].max, costs[2].max)};
    return {costs[0] + branches, sizeOrUnknown(yes).unionWith(sizeOrUnknown(no))};
  }

  CostEstimate costOfList(const Expr& expr) {
    CostEstimate sum = fixedCost(kListCost);
    SizeEstimate item{expr.arguments.empty() ? 0 : kNoLimit, 0};
    for (const ExprPtr& element : expr.arguments) {
      sum = sum + cost(*element);
      item = item.unionWith(sizeOrUnknown(*element));
    }
    setEntrySize(expr, EntrySize{true, SizeEstimate::fixed(1), item});
    return sum;
  }

  CostEstimate costOfMap(const Expr& expr) {
    CostEstimate sum = fixedCost(kMapCost);
    SizeEstimate key{expr.entries.empty() ? 0 : kNoLimit, 0}, value = key;
    for (const Entry& entry : expr.entries) {
      sum = sum + cost(*entry.key) + cost(*entry.value);
      key = key.unionWith(sizeOrUnknown(*entry.key));
      value = value.unionWith(sizeOrUnknown(*entry.value));
    }
    setEntrySize(expr, EntrySize{false, key, value});
    return sum;
  }

  // ---- comprehensions

  static bool isBind(const Comprehension& fold) {
    return fold.range->kind == ExprKind::List && fold.range->arguments.empty() &&
           fold.condition->kind == ExprKind::Literal && fold.condition->literal.is(Kind::Bool) &&
           !fold.condition->literal.asBool() && fold.accumulator != op::kAccumulator;
  }

  void pushInit(const Comprehension& fold) {
    locals_.push_back(
        {fold.accumulator, pathOf(*fold.init), sizeOf(*fold.init), entrySizeOf(*fold.init)});
  }

  enum class Part { Key, Value, Single };
  void pushElement(const std::string& name, const Expr& range, Part part) {
    const auto entries = entrySizeOf(range);
    const bool list = entries ? entries->isList : range.type->kind() == TypeKind::List;
    const bool value = part == Part::Value || (part == Part::Single && list);
    std::optional<SizeEstimate> size;
    if (entries) size = value ? entries->value : entries->key;
    const std::string_view step = value  ? (list ? "@items" : "@values")
                                  : list ? "@indices"
                                         : "@keys";
    locals_.push_back({name, extended(pathOf(range), step), size, std::nullopt});
  }

  CostEstimate costOfFold(const Expr& expr) {
    const Comprehension& fold = *expr.comprehension;
    CostEstimate sum = cost(*fold.range);
    sum = sum + cost(*fold.init);
    pushInit(fold);
    const bool two = !fold.variable2.empty();
    pushElement(fold.variable, *fold.range, two ? Part::Key : Part::Single);
    if (two) pushElement(fold.variable2, *fold.range, Part::Value);
    const CostEstimate condition = cost(*fold.condition);
    const CostEstimate step = cost(*fold.step);
    locals_.resize(locals_.size() - (two ? 2 : 1));
    sum = sum + cost(*fold.result);
    locals_.pop_back();
    const SizeEstimate count = sizeOrUnknown(*fold.range);
    sum = sum + count.times(step + condition);
    if (fold.init->kind == ExprKind::Literal) {
      setSize(expr, sizeOf(*fold.init));
    } else if (fold.init->kind == ExprKind::List || fold.init->kind == ExprKind::Map) {
      setSize(expr, count);
      setEntrySize(expr, entrySizeOf(*fold.step));
    }
    return sum;
  }

  CostEstimate costOfBind(const Expr& expr) {
    const Comprehension& fold = *expr.comprehension;
    CostEstimate sum = cost(*fold.range);
    sum = sum + cost(*fold.init);
    pushInit(fold);
    sum = sum + cost(*fold.result);
    locals_.pop_back();
    copySizes(expr, *fold.result);
    return sum;
  }

  const CostModel* model_;
  std::vector<Local> locals_;
  std::unordered_map<const Expr*, Path> paths_;
  std::unordered_map<const Expr*, SizeEstimate> sizes_;
  std::unordered_map<const Expr*, EntrySize> entrySizes_;
};

}  // namespace

CostEstimate estimate(const Expr& expr, const EnvironmentState& environment) {
  return Estimator(environment).cost(expr);
}

}  // namespace koord::cel
