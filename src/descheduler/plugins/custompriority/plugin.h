#pragma once

// CustomPriority (balance): moves pods from expensive classes of nodes to cheaper ones.
//
// evictionOrder names the classes, the most expensive first; a node is in the first class whose
// selector it matches. Pods of every class but the last may move to nodes of any later class, small
// pods first. Mode BestEffort: pods that fit on a target node, until five in a row do not fit. Mode
// DrainNode: all pods of a node or none; with autoCordon the node is cordoned for the drain, and
// uncordoned if that fails. Moved pods are counted against the free resources of their target.

#include <set>
#include <string>

#include "api/selector.h"
#include "descheduler/framework/plugin_kind.h"
#include "descheduler/rules/arguments.h"
#include "descheduler/rules/node_fit.h"

namespace koord::descheduler {

class CustomPriority final : public Plugin, public BalancePlugin {
 public:
  static constexpr std::string_view kName = "CustomPriority";
  static PluginKind kind();

  struct Level {
    std::string name;
    api::Selector nodes;
  };
  struct Args {
    bool paused = false;
    bool dryRun = false;
    EvictionScope scope;
    bool nodeFit = true;
    bool drain = false;  // mode DrainNode
    bool autoCordon = false;
    std::vector<Level> levels;
    json::object effective;
    static Args read(Fields& args);
  };
  CustomPriority(Handle& handle, Args args) : handle_(handle), args_(std::move(args)) {}

  std::string_view name() const override { return kName; }
  Task<Result<>> balance(const Nodes& nodes) override;

 private:
  struct Target {
    const NodeView* node = nullptr;
    Arrivals arrivals;
  };
  using Targets = std::vector<Target*>;

  std::vector<PodPtr> movable(const NodeView& source);
  Target* targetFor(const Pod& pod, const Targets& targets) const;
  Task<void> relieve(const NodeView& source, const Level& level, const Targets& targets);
  Task<void> drain(const NodeView& source, const Level& level, const Targets& targets);
  Task<bool> evict(PodPtr pod, std::string reason);
  // The state of a node's drain. During the drain the node has an annotation: if the process dies
  // in the middle, the next process uncordons only nodes that this plugin cordoned.
  enum class Drain { Begins, Abandoned, Done };
  Task<Result<>> mark(const NodeView& node, Drain state);

  Handle& handle_;
  Args args_;
  std::set<std::string> suspended_;  // nodes whose drain dryRun suspends: logged once
};

}  // namespace koord::descheduler
