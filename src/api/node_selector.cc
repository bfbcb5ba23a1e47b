#include <fmt/format.h>

#include "api/selector.h"

namespace koord::api {
namespace {

bool isEmpty(const NodeSelectorTerm& term) {
  return term.matchExpressions.empty() && term.matchFields.empty();
}

// The error of a field below `path`, as one path: "matchExpressions[0].key: Invalid value: ...".
std::unexpected<Error> below(std::string path, Error error) {
  error.message = std::move(path) + "." + error.message;
  return std::unexpected(std::move(error));
}

Result<Selector::Requirement> labelRequirement(const NodeSelectorRequirement& in) {
  using Op = Selector::Op;
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"In", Op::In},          {"NotIn", Op::NotIn},
      {"Exists", Op::Exists},  {"DoesNotExist", Op::DoesNotExist},
      {"Gt", Op::GreaterThan}, {"Lt", Op::LessThan}};
  for (const auto& [name, op] : kOps)
    if (name == in.operator_)
      return Selector::requirement(in.key, op, {in.values.begin(), in.values.end()});
  return fail(ErrorCode::BadRequest,
              fmt::format("operator: Unsupported value: \"{}\"", in.operator_));
}

Result<FieldSelector::Requirement> fieldRequirement(const NodeSelectorRequirement& in) {
  if (in.operator_ != "In" && in.operator_ != "NotIn")
    return fail(ErrorCode::BadRequest,
                fmt::format("operator: Unsupported value: \"{}\"", in.operator_));
  if (in.values.size() != 1)
    return fail(ErrorCode::BadRequest, "values: Invalid value: must have one element");
  return FieldSelector::Requirement{in.key, in.operator_ == "In", in.values[0]};
}

}  // namespace

Result<NodeTerm> NodeTerm::compile(const NodeSelectorTerm& term) {
  NodeTerm out;
  std::vector<Selector::Requirement> requirements;
  for (std::size_t i = 0; i < term.matchExpressions.size(); ++i) {
    auto requirement = labelRequirement(term.matchExpressions[i]);
    if (!requirement)
      return below(fmt::format("matchExpressions[{}]", i), std::move(requirement.error()));
    requirements.push_back(*std::move(requirement));
  }
  for (std::size_t i = 0; i < term.matchFields.size(); ++i) {
    auto requirement = fieldRequirement(term.matchFields[i]);
    if (!requirement)
      return below(fmt::format("matchFields[{}]", i), std::move(requirement.error()));
    out.fields_.push_back(*std::move(requirement));
  }
  out.labels_ = *Selector::of(std::move(requirements));
  return out;
}

bool NodeTerm::matches(const StringMap& labels, std::string_view nodeName) const {
  if (!labels_.matches(labels)) return false;
  if (nodeName.empty()) return true;  // a node without a name has no fields to compare
  for (const auto& field : fields_) {
    const std::string_view value = field.field == "metadata.name" ? nodeName : std::string_view{};
    if ((value == field.value) != field.equal) return false;
  }
  return true;
}

NodeSelectorMatcher NodeSelectorMatcher::compileLazily(const NodeSelector& selector) {
  NodeSelectorMatcher out;
  for (std::size_t i = 0; i < selector.nodeSelectorTerms.size(); ++i) {
    const auto& term = selector.nodeSelectorTerms[i];
    if (isEmpty(term)) continue;
    auto compiled = NodeTerm::compile(term);
    if (compiled) {
      out.terms_.push_back(*std::move(compiled));
    } else if (!out.error_) {
      out.error_ =
          below(fmt::format("nodeSelectorTerms[{}]", i), std::move(compiled.error())).error();
    }
  }
  return out;
}

Result<NodeSelectorMatcher> NodeSelectorMatcher::compile(const NodeSelector& selector) {
  auto out = compileLazily(selector);
  if (out.error_) return fail(*std::move(out.error_));
  return out;
}

Result<bool> NodeSelectorMatcher::matches(const StringMap& labels,
                                          std::string_view nodeName) const {
  for (const auto& term : terms_)
    if (term.matches(labels, nodeName)) return true;
  if (error_) return fail(*error_);
  return false;
}

RequiredNodeAffinity::RequiredNodeAffinity(const PodSpec& spec)
    : labels_(Selector::ofLabels(spec.nodeSelector)) {
  if (spec.affinity && spec.affinity->nodeAffinity) {
    const auto& required =
        spec.affinity->nodeAffinity->requiredDuringSchedulingIgnoredDuringExecution;
    if (required) affinity_ = NodeSelectorMatcher::compileLazily(*required);
  }
}

Result<bool> RequiredNodeAffinity::matches(const StringMap& labels,
                                           std::string_view nodeName) const {
  if (!labels_.matches(labels)) return false;
  if (!affinity_) return true;
  return affinity_->matches(labels, nodeName);
}

Result<PreferredNodeTerms> PreferredNodeTerms::compile(const List<PreferredSchedulingTerm>& terms) {
  PreferredNodeTerms out;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].weight == 0 || isEmpty(terms[i].preference)) continue;
    auto term = NodeTerm::compile(terms[i].preference);
    if (!term) return below(fmt::format("[{}]", i), std::move(term.error()));
    out.terms_.push_back({*std::move(term), terms[i].weight});
  }
  return out;
}

std::int64_t PreferredNodeTerms::score(const StringMap& labels, std::string_view nodeName) const {
  std::int64_t sum = 0;
  for (const auto& [term, weight] : terms_)
    if (term.matches(labels, nodeName)) sum += weight;
  return sum;
}

}  // namespace koord::api
