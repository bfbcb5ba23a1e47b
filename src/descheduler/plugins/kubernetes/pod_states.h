#pragma once

// The plugins that check the state of single pods: PodLifeTime (age, states, conditions, exit
// codes), RemoveFailedPods and RemovePodsHavingTooManyRestarts.

#include "descheduler/plugins/kubernetes/plugin_base.h"

namespace koord::descheduler {

class PodLifeTime final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "PodLifeTime";
  struct Condition {  // empty fields are not checked
    std::string type;
    std::string status;
    std::string reason;
    std::optional<std::int64_t> minSeconds;  // since the last transition
  };
  struct Args {
    PodScope scope;
    std::vector<std::string> includeKinds;  // of owners
    std::vector<std::string> excludeKinds;
    std::optional<std::int64_t> maxSeconds;
    std::vector<std::string> states;
    std::vector<Condition> conditions;
    std::vector<std::int64_t> exitCodes;
    bool initContainers = false;
    bool ephemeralContainers = false;
    json::object effective;
    static Args read(Fields& args);
  };
  PodLifeTime(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {
    if (!args_.conditions.empty()) handle.stores().keepPodConditions();
  }
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  bool matches(const NodePods::Entry& entry) const;
  bool inState(const Pod& pod) const;
  bool hasCondition(const Pod& pod) const;
  bool hasExitCode(const Pod& pod) const;
  Args args_;
};

class RemoveFailedPods final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "RemoveFailedPods";
  struct Args {
    PodScope scope;
    std::vector<std::string> excludeKinds;
    std::int64_t minSeconds = 3600;
    std::vector<std::string> reasons;
    std::vector<std::int64_t> exitCodes;
    bool initContainers = false;
    json::object effective;
    static Args read(Fields& args);
  };
  RemoveFailedPods(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  bool matches(const NodePods::Entry& entry) const;
  Args args_;
};

class TooManyRestarts final : public PluginBase, public DeschedulePlugin {
 public:
  static constexpr std::string_view kName = "RemovePodsHavingTooManyRestarts";
  struct Args {
    PodScope scope;
    std::int64_t threshold = 0;
    bool initContainers = false;
    std::vector<std::string> states;
    json::object effective;
    static Args read(Fields& args);
  };
  TooManyRestarts(Handle& handle, Args args) : PluginBase(kName, handle), args_(std::move(args)) {}
  Task<Result<>> deschedule(const Nodes& nodes) override;

 private:
  std::int64_t restarts(const PodFacts& facts) const {
    return facts.restarts + (args_.initContainers ? facts.initRestarts : 0);
  }
  bool inState(const Pod& pod) const;
  Args args_;
};

}  // namespace koord::descheduler
