#pragma once

// Selectors, compiled once and matched cheaply: label selectors (text and object form), field
// selectors, and the node selector terms of node affinity. What they accept and select equals
// Kubernetes.

#include <string>
#include <string_view>
#include <vector>

#include "api/meta.h"
#include "api/pod.h"
#include "base/result.h"

namespace koord::api {

// Selects objects by their labels; all requirements must hold. Default constructed it selects
// everything.
class Selector {
 public:
  enum class Op {
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan
  };
  struct Requirement {
    std::string key;
    Op op = Op::Exists;
    std::vector<std::string> values;
    std::int64_t bound = 0;  // of GreaterThan and LessThan

    bool matches(const StringMap& labels) const;
    std::string toString() const;
  };

  static Selector nothing();
  // Selects exactly these labels; does not check the text of keys and values.
  static Selector ofLabels(const StringMap& labels);
  // "app=web,tier in (a,b),!old,n>3"
  static Result<Selector> parse(std::string_view text);
  static Result<Selector> compile(const LabelSelector& selector);
  // An absent selector selects nothing, an empty one everything.
  static Result<Selector> compile(const std::optional<LabelSelector>& selector);
  // Checks key and values as the API does.
  static Result<Requirement> requirement(std::string key, Op op, std::vector<std::string> values);
  static Result<Selector> of(std::vector<Requirement> requirements);

  bool matches(const StringMap& labels) const {
    if (nothing_) return false;
    for (const auto& requirement : requirements_)
      if (!requirement.matches(labels)) return false;
    return true;
  }
  bool empty() const { return requirements_.empty() && !nothing_; }
  std::string toString() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  void sort();

  std::vector<Requirement> requirements_;  // by key
  bool nothing_ = false;
};

// Selects objects by the values of some fields ("spec.nodeName=n1,status.phase!=Running"); a field
// that an object does not have reads as "".
class FieldSelector {
 public:
  struct Requirement {
    std::string field;
    bool equal = true;
    std::string value;
  };

  static Result<FieldSelector> parse(std::string_view text);

  // valueOf(field) returns something comparable with a std::string.
  template <class ValueOf>
  bool matches(ValueOf&& valueOf) const {
    for (const auto& requirement : requirements_)
      if ((valueOf(requirement.field) == requirement.value) != requirement.equal) return false;
    return true;
  }
  bool empty() const { return requirements_.empty(); }
  std::string toString() const;
  const std::vector<Requirement>& requirements() const { return requirements_; }

 private:
  std::vector<Requirement> requirements_;
};

// One node selector term: label requirements and requirements on metadata.name, all of which must
// hold.
class NodeTerm {
 public:
  static Result<NodeTerm> compile(const NodeSelectorTerm& term);
  bool matches(const StringMap& labels, std::string_view nodeName) const;

  const Selector& labels() const { return labels_; }
  const std::vector<FieldSelector::Requirement>& fields() const { return fields_; }

 private:
  Selector labels_;
  std::vector<FieldSelector::Requirement> fields_;
};

// A node selector: any of its terms must hold; empty terms hold nowhere.
class NodeSelectorMatcher {
 public:
  // Compiles the valid terms: an invalid term selects nothing, and matches() and error() report it.
  static NodeSelectorMatcher compileLazily(const NodeSelector& selector);
  // Fails if any term is invalid.
  static Result<NodeSelectorMatcher> compile(const NodeSelector& selector);

  // An error if no term matches and a term is invalid.
  Result<bool> matches(const StringMap& labels, std::string_view nodeName) const;
  const std::vector<NodeTerm>& terms() const { return terms_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::vector<NodeTerm> terms_;
  std::optional<Error> error_;
};

// What a pod requires of its node: spec.nodeSelector and the required part of its node affinity.
class RequiredNodeAffinity {
 public:
  explicit RequiredNodeAffinity(const PodSpec& spec);
  Result<bool> matches(const StringMap& labels, std::string_view nodeName) const;

  const Selector& nodeSelector() const { return labels_; }
  const std::optional<NodeSelectorMatcher>& affinity() const { return affinity_; }

 private:
  Selector labels_;
  std::optional<NodeSelectorMatcher> affinity_;
};

// The preferred part of a node affinity; a node's score is the sum of the weights of the terms it
// meets.
class PreferredNodeTerms {
 public:
  struct Weighted {
    NodeTerm term;
    std::int64_t weight = 0;
  };
  static Result<PreferredNodeTerms> compile(const List<PreferredSchedulingTerm>& terms);
  std::int64_t score(const StringMap& labels, std::string_view nodeName) const;
  const std::vector<Weighted>& terms() const { return terms_; }

 private:
  std::vector<Weighted> terms_;
};

}  // namespace koord::api
