#pragma once

// Profile: the plugins that serve the pods of one schedulerName, by extension point and in order.

#include <memory>
#include <optional>
#include <string>
#include <vector>

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

struct PluginRegistration {
  std::string plugin;
  std::vector<EventRegistration> events;
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
  std::vector<const Signed*> signedPlugins;

  // Index of the plugin of that name in a list, or npos.
  template <class Point>
  static std::size_t indexOf(const Extensions<Point>& list, const std::string& name) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].name == name) return i;
    return npos;
  }
  static constexpr std::size_t npos = ~std::size_t{0};
};

// Fills the lists of one point from a plugin; false when it does not take part there.
template <class Point>
bool extend(Extensions<Point>& list, Plugin& plugin, std::int64_t weight = 1) {
  auto* point = dynamic_cast<Point*>(&plugin);
  if (!point) return false;
  list.push_back({point, dynamic_cast<const Signed*>(&plugin), std::string(plugin.name()), weight});
  return true;
}

}  // namespace koord::scheduler
