#pragma once

// Profile: the plugins that serve the pods of one schedulerName, by extension point and in order.

#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/framework/group.h"
#include "scheduler/framework/plugin.h"

namespace koord::scheduler {

// A plugin at one extension point.
template <class Point>
struct Extension {
  Point* point = nullptr;
  const Signed* signedPlugin = nullptr;  // nullptr: its answers are never kept
  std::string name;
  std::int64_t weight = 1;  // Score only
};
template <class Point>
using Extensions = std::vector<Extension<Point>>;
// A set of positions in one of a profile's lists.
using PluginMask = std::uint64_t;
constexpr bool contains(PluginMask mask, std::size_t position) {
  return (mask >> position & 1) != 0;
}
// Of a mask that is not empty.
constexpr std::size_t firstIn(PluginMask mask) {
  return static_cast<std::size_t>(std::countr_zero(mask));
}
template <class F>
constexpr void forEachIn(PluginMask mask, F&& fn) {
  for (; mask != 0; mask &= mask - 1) fn(firstIn(mask));
}
// The positions in a list.
template <class Point>
PluginMask allOf(const Extensions<Point>& list) {
  return list.empty() ? 0 : ~PluginMask{0} >> (64 - list.size());
}

struct PluginRegistration {
  std::string plugin;
  std::vector<EventRegistration> events;
  // Set for a plugin with credits: its events also wake pods that may have credits, whichever
  // plugin rejected them.
  const ViewPlugin* view = nullptr;

  bool concerns(const QueuedPod& pod) const {
    return pod.rejectedBy(plugin) || (view && view->hasCredits(*pod.info));
  }
};

// Of each list, the positions of plugins that have nothing to do (Plugin::skippedPoints).
struct IdlePlugins {
  PluginMask preFilter = 0;
  PluginMask planners = 0;
  PluginMask reserve = 0;
  PluginMask permit = 0;
  PluginMask preBind = 0;
  PluginMask preEnqueue = 0;
};

struct Profile {
  std::string schedulerName;
  std::optional<std::int32_t> percentageOfNodesToScore;

  Extensions<PreEnqueuePlugin> preEnqueue;
  Extensions<QueueSortPlugin> queueSort;
  Extensions<PreFilterPlugin> preFilter;
  Extensions<FilterPlugin> filter;
  Extensions<PostFilterPlugin> postFilter;
  Extensions<PreScorePlugin> preScore;
  Extensions<ScorePlugin> score;
  Extensions<ReservePlugin> reserve;
  Extensions<PermitPlugin> permit;
  Extensions<PreBindPlugin> preBind;
  Extensions<BindPlugin> bind;
  Extensions<PostBindPlugin> postBind;
  std::vector<PluginRegistration> registrations;

  // Every plugin once; the extensions point into these.
  std::vector<std::unique_ptr<Plugin>> plugins;
  // Stand for plugins in `postFilter`.
  std::vector<std::unique_ptr<PostFilterPlugin>> quiet;
  std::vector<const Signed*> signedPlugins;
  std::vector<const Changing*> changing;  // of signedPlugins
  std::vector<const ViewPlugin*> views;
  std::vector<const AdmitPlugin*> admits;
  std::vector<AfterPostFilterPlugin*> afterPostFilter;
  GroupPlugin* groups = nullptr;  // nullptr: pods have no groups
  std::string groupsName;
  std::vector<PlanPlugin*> planners;

  // The enabled plugins that derive from Offer, in the order of the configuration. This is how
  // plugins work together (one gives NUMA hints, another merges them) without a dependency on each
  // other.
  template <class Offer>
  std::vector<Offer*> offers() const {
    std::vector<Offer*> found;
    for (const auto& plugin : plugins)
      if (auto* offer = dynamic_cast<Offer*>(plugin.get())) found.push_back(offer);
    return found;
  }

  // "" for a pod without a group.
  std::string groupOf(const PodInfo& pod) const {
    return groups ? groups->groupOf(pod) : std::string();
  }
  bool sameGroup(const PodInfo& a, const PodInfo& b) const {
    return groups && groups->sameGroup(a, b);
  }

  const IdlePlugins& idleFor(const PodInfo& pod) const;

  // The index of the plugin of that name in a list, or npos.
  template <class Point>
  static std::size_t indexOf(const Extensions<Point>& list, const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name) return i;
    return npos;
  }
  static constexpr std::size_t npos = ~std::size_t{0};

 private:
  mutable ByShape<IdlePlugins> idle_;
};

// Calls fn(name, list) with the plugins of every extension point, in the order of an attempt.
template <class SomeProfile, class F>
void forEachPoint(SomeProfile& profile, F&& fn) {
  fn("preEnqueue", profile.preEnqueue);
  fn("queueSort", profile.queueSort);
  fn("preFilter", profile.preFilter);
  fn("filter", profile.filter);
  fn("postFilter", profile.postFilter);
  fn("preScore", profile.preScore);
  fn("score", profile.score);
  fn("reserve", profile.reserve);
  fn("permit", profile.permit);
  fn("preBind", profile.preBind);
  fn("bind", profile.bind);
  fn("postBind", profile.postBind);
}

// Appends the plugin to the list of one point; false if it does not implement that point.
template <class Point>
bool extend(Extensions<Point>& list, Plugin& plugin, std::int64_t weight = 1) {
  auto* point = dynamic_cast<Point*>(&plugin);
  if (!point) return false;
  list.push_back({point, dynamic_cast<const Signed*>(&plugin), std::string(plugin.name()), weight});
  return true;
}

}  // namespace koord::scheduler
