#include "cel/eval/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cel/eval/call.h"
#include "cel/eval/chain.h"
#include "cel/eval/fold.h"
#include "cel/eval/literals.h"
#include "cel/eval/logic.h"

namespace koord::cel {

namespace {

// An expression that always fails.
class FailureNode final : public Node {
 public:
  explicit FailureNode(std::string message) : error_(Value::error(std::move(message))) {}
  Value evaluate(Frame& frame) const override {
    frame.charge(1);
    return error_;
  }

 private:
  Value error_;
};

struct Local {
  std::string name;
  std::size_t slot = 0;
  const Node* lazyInit = nullptr;
};

class Planner {
 public:
  explicit Planner(const EnvironmentState& environment) : environment_(environment) {
    if (const CostModel* model = environment.options.costModel) {
      foldsConstants_ = model->foldsConstants();
      presenceTestHasCost_ = model->presenceTestHasCost();
    }
  }

  Result<Plan> run(const Expr& expr) {
    NodePtr root = plan(expr);
    if (!failure_.empty()) return fail(ErrorCode::Invalid, failure_);
    return Plan{std::move(root), most_};
  }

 private:
  NodePtr plan(const Expr& expr) {
    switch (expr.kind) {
      case ExprKind::Literal:
        return std::make_unique<ConstantNode>(expr.literal);
      case ExprKind::Ident:
      case ExprKind::Select:
        return planRead(expr);
      case ExprKind::Call:
        return planCall(expr);
      case ExprKind::List:
        return planList(expr);
      case ExprKind::Map:
        return planMap(expr);
      case ExprKind::Struct:
        return planStruct(expr);
      case ExprKind::Comprehension:
        return planFold(expr);
    }
    return nullptr;
  }

  // ---- reads

  const Local* findLocal(std::string_view name) const {
    const auto found = std::find_if(locals_.rbegin(), locals_.rend(),
                                    [&](const Local& local) { return local.name == name; });
    return found == locals_.rend() ? nullptr : &*found;
  }

  NodePtr chainOf(ChainNode::Start start) const {
    return std::make_unique<ChainNode>(std::move(start), presenceTestHasCost_);
  }
  NodePtr readLocal(const Local& local) const {
    ChainNode::Start start;
    start.base = local.lazyInit ? ChainNode::Base::Lazy : ChainNode::Base::Local;
    start.slot = local.slot;
    start.init = local.lazyInit;
    return chainOf(std::move(start));
  }

  // The variable or constant with this full name; nullptr if there is none.
  NodePtr readGlobal(std::string_view fullName) const {
    const auto variable = environment_.variables.find(fullName);
    if (variable != environment_.variables.end()) {
      ChainNode::Start start;
      start.base = ChainNode::Base::Variable;
      start.slot = variable->second;
      start.name = fullName;
      return chainOf(std::move(start));
    }
    if (const Constant* constant = environment_.constant(fullName))
      return std::make_unique<ConstantNode>(constant->value);
    if (const ObjectType* type = environment_.type(fullName))
      return std::make_unique<ConstantNode>(Value::type(Type::object(*type)));
    return nullptr;
  }

  NodePtr planResolved(const Expr& expr) const {
    if (expr.constant) return std::make_unique<ConstantNode>(*expr.constant);
    if (!expr.rooted)
      if (const Local* local = findLocal(expr.name)) return readLocal(*local);
    if (NodePtr read = readGlobal(expr.name)) return read;
    return std::make_unique<FailureNode>("no such attribute(s): " + expr.name);
  }

  // A name that the checker has not seen: "a.b.c" may be a variable, or a field of the variable a.b
  // or a.
  NodePtr planName(const Expr& expr, const std::string& name) {
    const std::string_view first = std::string_view(name).substr(0, name.find('.', 1));
    if (const Local* local = findLocal(first))
      return expr.kind == ExprKind::Ident ? readLocal(*local) : planSelect(expr);
    for (const std::string& candidate : environment_.candidates(name))
      if (NodePtr read = readGlobal(candidate)) return read;
    if (expr.kind == ExprKind::Select) return planSelect(expr);
    return std::make_unique<FailureNode>("undeclared reference to '" + name + "'");
  }

  NodePtr planRead(const Expr& expr) {
    if (expr.resolved) return planResolved(expr);
    if (!expr.type) {
      if (const auto name = qualifiedName(expr)) return planName(expr, *name);
    }
    return planSelect(expr);
  }

  NodePtr planSelect(const Expr& expr) {
    Qualifier qualifier;
    qualifier.key = Value::string(expr.name);
    qualifier.testOnly = expr.testOnly;
    resolveField(*expr.target, expr.name, qualifier);
    return extend(*expr.target, plan(*expr.target), std::move(qualifier));
  }

  static void resolveField(const Expr& operand, std::string_view name, Qualifier& qualifier) {
    if (!operand.type) return;
    const Type& type = operand.type->isOptional() ? operand.type->parameters()[0] : *operand.type;
    const ObjectType* object = type.objectType();
    const auto field = object ? object->field(name) : std::nullopt;
    if (!field) return;
    qualifier.object = object;
    qualifier.field = field->number;
  }

  // Appends to the chain that the operand is, or begins one.
  NodePtr extend(const Expr& operand, NodePtr node, Qualifier qualifier) {
    auto* chain = dynamic_cast<ChainNode*>(node.get());
    if (!chain || chain->isTest()) {
      ChainNode::Start start;
      start.expression = std::move(node);
      start.ofConditional = operand.kind == ExprKind::Call && operand.name == op::kConditional;
      node = chainOf(std::move(start));
      chain = static_cast<ChainNode*>(node.get());
    }
    chain->add(std::move(qualifier));
    return node;
  }

  NodePtr planIndex(const Expr& expr, bool optional) {
    Qualifier qualifier;
    qualifier.optional = optional;
    if (expr.name == op::kOptionalSelect)
      resolveField(*expr.arguments[0], expr.arguments[1]->literal.text(), qualifier);
    NodePtr operand = plan(*expr.arguments[0]);
    NodePtr index = plan(*expr.arguments[1]);
    index->dropReadCost();
    const Value* constant = index->constant();
    if (constant && index->constantCost() == 0) {
      qualifier.key = *constant;
    } else {
      qualifier.index = std::move(index);
    }
    return extend(*expr.arguments[0], std::move(operand), std::move(qualifier));
  }

  // ---- calls

  NodePtr planCall(const Expr& expr) {
    const std::string_view name = expr.name;
    if (expr.target == nullptr && !expr.arguments.empty()) {
      if (name == op::kAnd || name == op::kOr)
        return std::make_unique<LogicNode>(name == op::kOr, planAll(expr.arguments));
      if (name == op::kConditional) {
        auto parts = planAll(expr.arguments);
        return std::make_unique<ConditionalNode>(std::move(parts[0]), std::move(parts[1]),
                                                 std::move(parts[2]));
      }
      if (name == op::kEquals || name == op::kNotEquals) {
        auto parts = planAll(expr.arguments);
        const CostModel* model = environment_.options.costModel;
        return std::make_unique<EqualityNode>(
            name == op::kEquals, std::move(parts[0]), std::move(parts[1]),
            model ? model->trackerOf(name, name == op::kEquals ? "equals" : "not_equals")
                  : nullptr);
      }
      if (name == op::kIndex) return planIndex(expr, false);
      if (name == op::kOptionalIndex || name == op::kOptionalSelect) return planIndex(expr, true);
      if (name == op::kAdd)
        if (NodePtr append = planAppend(expr)) return append;
    }
    return planFunction(expr);
  }

  std::vector<NodePtr> planAll(const std::vector<ExprPtr>& all) {
    std::vector<NodePtr> nodes;
    for (const ExprPtr& each : all) nodes.push_back(plan(*each));
    return nodes;
  }

  // @result + [element]
  NodePtr planAppend(const Expr& expr) {
    const Expr &left = *expr.arguments[0], &right = *expr.arguments[1];
    if (left.kind != ExprKind::Ident || left.name != op::kAccumulator ||
        right.kind != ExprKind::List || right.arguments.size() != 1 || !right.optionalItems.empty())
      return nullptr;
    const Local* local = findLocal(left.name);
    if (!local || local->lazyInit) return nullptr;
    const std::size_t slot = local->slot;  // planning the element moves the locals
    NodePtr element = plan(*right.arguments[0]);
    if (foldsConstants_ && element->constant() && element->constantCost() == 0) return nullptr;
    return std::make_unique<AppendNode>(slot, std::move(element));
  }

  // The overloads of an unchecked call, and whether its target is part of the function's name.
  std::vector<const Overload*> candidates(const Expr& expr, std::string& name, bool& namespaced) {
    const auto withArity = [&](const FunctionEntry& entry, bool member, std::size_t count) {
      std::vector<const Overload*> result;
      for (const Overload* overload : entry.overloads)
        if (overload->member == member && overload->parameters.size() == count)
          result.push_back(overload);
      return result;
    };
    const std::size_t count = expr.arguments.size();
    if (expr.target) {
      if (const auto prefix = qualifiedName(*expr.target)) {
        if (const FunctionEntry* entry = environment_.function(*prefix + "." + expr.name)) {
          namespaced = true;
          name = entry->name;
          return withArity(*entry, false, count);
        }
      }
    }
    const FunctionEntry* entry = environment_.function(expr.name);
    if (!entry) return {};
    name = entry->name;
    return expr.target ? withArity(*entry, true, count + 1) : withArity(*entry, false, count);
  }

  NodePtr planFunction(const Expr& expr) {
    std::vector<const Overload*> overloads = expr.overloads;
    std::string name = expr.name;
    bool namespaced = false;
    if (overloads.empty()) overloads = candidates(expr, name, namespaced);
    if (overloads.empty()) {
      return std::make_unique<FailureNode>("no such overload: " + name);
    }
    std::vector<NodePtr> arguments;
    if (expr.target && !namespaced) arguments.push_back(plan(*expr.target));
    for (const ExprPtr& argument : expr.arguments) arguments.push_back(plan(*argument));
    const std::string_view id = overloads.size() == 1 ? std::string_view(overloads[0]->id) : "";
    const bool known = !expr.overloads.empty() && !id.empty();
    if (foldsConstants_ && known && id == "in_list")
      if (NodePtr membership = planMembership(arguments)) return membership;
    if (foldsConstants_ && known) validate(*overloads[0], arguments);
    if (name == "cel.@mapInsert")
      if (NodePtr insert = planInsert(expr, arguments)) return insert;
    CallTracker tracker = trackerOf(name, known ? id : "", overloads);
    const bool written = arguments.size() == 1 && arguments[0]->constantCost() == 0;
    auto call = std::make_unique<CallNode>(name, std::move(overloads), std::move(arguments),
                                           std::move(tracker), known);
    return foldCall(expr, std::move(call), written);
  }

  // Constants that can never be right, such as an invalid regular expression, are issues.
  void validate(const Overload& overload, const std::vector<NodePtr>& arguments) {
    if (!overload.validate || !failure_.empty()) return;
    std::vector<const Value*> constants;
    for (const NodePtr& argument : arguments) constants.push_back(argument->constant());
    failure_ = overload.validate(constants);
  }

  // @result with an entry or with the entries of a map.
  NodePtr planInsert(const Expr& expr, std::vector<NodePtr>& arguments) const {
    const Expr& target = *expr.arguments[0];
    const Local* local = target.kind == ExprKind::Ident && target.name == op::kAccumulator
                             ? findLocal(target.name)
                             : nullptr;
    if (!local || local->lazyInit) return nullptr;
    const bool entry = arguments.size() == 3;
    return std::make_unique<InsertNode>(local->slot, std::move(arguments[1]),
                                        entry ? std::move(arguments[2]) : nullptr);
  }

  CallTracker trackerOf(std::string_view name, std::string_view id,
                        const std::vector<const Overload*>& overloads) const {
    const CallTracker own = id.empty() ? nullptr : overloads[0]->track;
    const CostModel* model = environment_.options.costModel;
    const CallTracker general = model ? model->trackerOf(name, id) : nullptr;
    if (!own || !general) return own ? own : general;
    return [own, general](Arguments arguments, const Value& result) {
      const auto cost = own(arguments, result);
      return cost ? cost : general(arguments, result);
    };
  }

  // Where cel-go folds constants, `x in [constants]` costs nothing itself.
  class MembershipNode final : public Node {
   public:
    MembershipNode(NodePtr element, NodePtr list)
        : element_(std::move(element)), list_(std::move(list)) {}
    Value evaluate(Frame& frame) const override {
      const Value element = element_->evaluate(frame);
      if (element.isError()) return element;
      const Value& list = *list_->constant();
      for (std::size_t i = 0; i < list.listSize(); ++i)
        if (list.listAt(i).equals(element)) return Value::boolean(true);
      return Value::boolean(false);
    }

   private:
    NodePtr element_, list_;
  };

  static NodePtr planMembership(std::vector<NodePtr>& arguments) {
    const Value* list = arguments[1]->constant();
    if (!list || !list->is(Kind::List) || arguments[1]->constantCost() != 0) return nullptr;
    if (list->listSize() == 0) return std::make_unique<ConstantNode>(Value::boolean(false));
    for (std::size_t i = 0; i < list->listSize(); ++i) {
      const Value element = list->listAt(i);
      if (!element.is(Kind::String) && !element.is(Kind::Bool) && !element.isNumber())
        return nullptr;
    }
    return std::make_unique<MembershipNode>(std::move(arguments[0]), std::move(arguments[1]));
  }

  static bool isConversion(std::string_view name) {
    static constexpr std::array<std::string_view, 10> kConversions = {
        "bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"};
    return std::ranges::find(kConversions, name) != kConversions.end();
  }

  // Evaluates a call of constants once. It costs in each evaluation what it costs here, except for
  // conversions where cel-go folds them: of one argument that is `written`, not computed.
  NodePtr foldCall(const Expr& expr, std::unique_ptr<CallNode> call, bool written) {
    if (!call->foldable()) return call;
    Frame frame{{}, {}, 0, std::numeric_limits<std::uint64_t>::max(), false};
    Value value = call->evaluate(frame);
    const bool free = foldsConstants_ && written && isConversion(expr.name);
    if (value.isError()) {
      if (free && failure_.empty()) failure_ = value.errorMessage();
      return call;
    }
    return std::make_unique<ConstantNode>(std::move(value), free ? 0 : frame.cost, std::move(call));
  }

  // ---- literals

  template <class T>
  NodePtr foldLiteral(std::unique_ptr<T> literal, std::uint64_t ownCost) {
    if (!literal->allConstant()) return literal;
    Frame frame{{}, {}, 0, std::numeric_limits<std::uint64_t>::max(), false};
    Value value = literal->evaluate(frame);
    if (value.isError()) return literal;
    // cel-go takes a literal for a constant if its elements were written, not if they were
    // computed.
    const bool free = foldsConstants_ && frame.cost == ownCost;
    return std::make_unique<ConstantNode>(std::move(value), free ? 0 : frame.cost,
                                          std::move(literal));
  }

  NodePtr planList(const Expr& expr) {
    return foldLiteral(std::make_unique<ListNode>(planAll(expr.arguments), expr.optionalItems),
                       kListCost);
  }

  NodePtr planMap(const Expr& expr) {
    std::vector<MapNode::Item> items;
    for (const Entry& entry : expr.entries)
      items.push_back({plan(*entry.key), plan(*entry.value), entry.optional});
    return foldLiteral(std::make_unique<MapNode>(std::move(items)), kMapCost);
  }

  NodePtr planStruct(const Expr& expr) {
    const ObjectType* type = nullptr;
    for (const std::string& candidate : environment_.candidates(expr.name))
      if (!type) type = environment_.type(candidate);
    if (!type) {
      if (failure_.empty()) failure_ = "unknown type: " + expr.name;
      return std::make_unique<FailureNode>("unknown type: " + expr.name);
    }
    std::vector<StructNode::Field> fields;
    for (const Entry& entry : expr.entries)
      fields.push_back({entry.field, plan(*entry.value), entry.optional});
    return std::make_unique<StructNode>(*type, std::move(fields));
  }

  // ---- comprehensions

  std::size_t push(std::string name, const Node* lazyInit = nullptr) {
    // No slot is used twice: the value of a lazy local may be computed in the middle of other
    // comprehensions.
    const std::size_t slot = most_++;
    locals_.push_back({std::move(name), slot, lazyInit});
    return slot;
  }

  static bool isBind(const Comprehension& fold) {
    return fold.range->kind == ExprKind::List && fold.range->arguments.empty() &&
           fold.condition->kind == ExprKind::Literal && fold.condition->literal.is(Kind::Bool) &&
           !fold.condition->literal.asBool();
  }

  NodePtr planFold(const Expr& expr) {
    const Comprehension& fold = *expr.comprehension;
    NodePtr init = plan(*fold.init);
    if (isBind(fold)) {
      const Node* lazy = init.get();
      const std::size_t slot = push(fold.accumulator, lazy);
      NodePtr result = plan(*fold.result);
      locals_.pop_back();
      return std::make_unique<BindNode>(slot, std::move(init), std::move(result),
                                        foldsConstants_ ? 0 : kListCost);
    }
    FoldNode::Parts parts;
    parts.init = std::move(init);
    parts.range = plan(*fold.range);
    parts.accumulator = push(fold.accumulator);
    parts.variable = push(fold.variable);
    parts.twoVariables = !fold.variable2.empty();
    if (parts.twoVariables) parts.variable2 = push(fold.variable2);
    parts.condition = plan(*fold.condition);
    parts.step = plan(*fold.step);
    if (parts.twoVariables) locals_.pop_back();
    locals_.pop_back();
    parts.result = plan(*fold.result);
    locals_.pop_back();
    return std::make_unique<FoldNode>(std::move(parts));
  }

  const EnvironmentState& environment_;
  bool foldsConstants_ = false;
  bool presenceTestHasCost_ = true;
  std::vector<Local> locals_;
  std::size_t most_ = 0;
  std::string failure_;
};

}  // namespace

Result<Plan> plan(const Expr& expr, const EnvironmentState& environment) {
  return Planner(environment).run(expr);
}

}  // namespace koord::cel
