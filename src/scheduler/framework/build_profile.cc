#include "scheduler/framework/build_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "scheduler/framework/extender_verdicts.h"

namespace koord::scheduler {

namespace {

const std::string kClaimsPlugin = "DynamicResources";

// PostFilter of a plugin that the configuration does not name: its reasons are not part of messages
// unless it acts.
class QuietPostFilter final : public PostFilterPlugin {
 public:
  explicit QuietPostFilter(PostFilterPlugin& plugin) : plugin_(plugin) {}
  PostFilterResult postFilter(CycleState& state, const PodPtr& pod,
                              const Diagnosis& diagnosis) override {
    PostFilterResult result = plugin_.postFilter(state, pod, diagnosis);
    if (!result.later && result.status.rejected()) result.status = Status(result.status.code);
    return result;
  }

 private:
  PostFilterPlugin& plugin_;
};

using Instances = std::map<std::string, Plugin*>;

const PluginSet& setOf(const ProfileConfig& config, std::string_view point) {
  static const PluginSet kEmpty;
  const auto it = config.plugins.find(point);
  return it == config.plugins.end() ? kEmpty : it->second;
}

bool has(const std::vector<PluginRef>& list, const std::string& name) {
  return std::ranges::find(list, name, &PluginRef::name) != list.end();
}

// The final order of one extension point: plugins that override a multiPoint entry, then
// multiPoint, then the rest.
template <class Point>
void expand(const ProfileConfig& config, std::string_view point,
            const std::vector<PluginRef>& multiPoint, const Instances& instances,
            Extensions<Point>& out, std::vector<std::string>& errors) {
  const PluginSet& set = setOf(config, point);
  const std::vector<PluginRef> specific = mergePlugins({}, set);
  const std::string path = fmt::format("{}.plugins.{}", config.path, point);
  std::set<std::string> seen;
  for (const PluginRef& plugin : specific) {
    if (!seen.insert(plugin.name).second)
      errors.push_back(
          fmt::format("{}: plugin \"{}\" already registered as \"{}\"", path, plugin.name, point));
    const auto it = instances.find(plugin.name);
    if (it == instances.end()) {
      errors.push_back(fmt::format("{}: {} \"{}\" does not exist", path, point, plugin.name));
    } else if (!dynamic_cast<const Point*>(it->second)) {
      errors.push_back(
          fmt::format("{}: plugin \"{}\" does not extend {} plugin", path, plugin.name, point));
    }
  }
  // A plugin that is listed without a weight has weight 1, even if multiPoint gives it another.
  const auto add = [&](const PluginRef& plugin) {
    const auto it = instances.find(plugin.name);
    if (it != instances.end()) extend(out, *it->second, plugin.weight != 0 ? plugin.weight : 1);
  };
  const bool noneOfMulti = std::ranges::find(set.disabled, "*") != set.disabled.end();
  for (const PluginRef& plugin : specific)
    if (!noneOfMulti && has(multiPoint, plugin.name)) add(plugin);
  if (!noneOfMulti) {
    for (const PluginRef& plugin : multiPoint) {
      if (has(specific, plugin.name)) continue;
      if (std::ranges::find(set.disabled, plugin.name) != set.disabled.end()) continue;
      add(plugin);
    }
  }
  for (const PluginRef& plugin : specific)
    if (noneOfMulti || !has(multiPoint, plugin.name)) add(plugin);
}

// All plugins that a list or an argument names, in the order of their creation.
std::vector<std::string> wantedPlugins(const ProfileConfig& config, const Registry& registry,
                                       const std::vector<PluginRef>& multiPoint,
                                       std::vector<std::string>& errors) {
  std::vector<std::string> wanted;
  const auto want = [&](const std::string& name) {
    if (std::ranges::find(wanted, name) == wanted.end()) wanted.push_back(name);
  };
  std::set<std::string> seen;
  for (const PluginRef& plugin : multiPoint) {
    if (!seen.insert(plugin.name).second) {
      errors.push_back(fmt::format("{}.plugins.multiPoint: plugin \"{}\" already registered",
                                   config.path, plugin.name));
    }
    if (!registry.contains(plugin.name)) {
      errors.push_back(fmt::format("{}.plugins.multiPoint: multiPoint \"{}\" does not exist",
                                   config.path, plugin.name));
    }
    want(plugin.name);
  }
  for (const std::string_view point : kExtensionPoints)
    for (const PluginRef& plugin : setOf(config, point).enabled) want(plugin.name);
  // Arguments of disabled plugins are checked, too. Arguments of unknown plugins are ignored; a
  // list that names an unknown plugin is an error of its own.
  for (const PluginArgs& args : config.pluginConfig)
    if (registry.contains(args.name)) want(args.name);
  return wanted;
}

Instances makePlugins(Profile& profile, const ProfileConfig& config, const Registry& registry,
                      Handle& handle, const std::vector<std::string>& wanted,
                      std::vector<std::string>& errors) {
  Instances instances;
  for (const auto& name : wanted) {
    const auto factory = registry.find(name);
    if (factory == registry.end()) continue;
    const auto given = std::ranges::find(config.pluginConfig, name, &PluginArgs::name);
    const bool has = given != config.pluginConfig.end();
    Fields args(has ? &given->args : nullptr, has ? given->path : config.path + "." + name, errors);
    auto plugin = factory->second(args, handle);
    instances.emplace(name, plugin.get());
    profile.plugins.push_back(std::move(plugin));
  }
  return instances;
}

void checkPoints(const Profile& profile, const ProfileConfig& config,
                 std::vector<std::string>& errors) {
  std::int64_t most = 0;
  for (const auto& plugin : profile.score) {
    if (__builtin_mul_overflow(plugin.weight, std::int64_t{100}, &most) || most > INT64_MAX / 64)
      errors.push_back(config.path + ".plugins.score: total score of Score plugins could overflow");
  }
  if (profile.queueSort.size() != 1) {
    errors.push_back(
        fmt::format("{}: only one queue sort plugin required for profile with scheduler name "
                    "\"{}\", but got {}",
                    config.path, config.schedulerName, profile.queueSort.size()));
  }
  if (profile.bind.empty()) {
    errors.push_back(
        fmt::format("{}: at least one bind plugin is needed for profile with scheduler name \"{}\"",
                    config.path, config.schedulerName));
  }
}

// Removes plugins that no list names.
void dropUnused(Profile& profile, const std::vector<PluginRef>& multiPoint) {
  // A plugin is enabled if a list names it. The others were created only to check their arguments.
  std::set<std::string> active;
  forEachPoint(profile, [&](std::string_view, const auto& list) {
    for (const auto& extension : list) active.insert(extension.name);
  });
  // A plugin may only offer interfaces to other plugins.
  for (const PluginRef& plugin : multiPoint) active.insert(plugin.name);
  std::erase_if(profile.plugins,
                [&](const auto& plugin) { return !active.contains(std::string(plugin->name())); });
}

// Returns true if the plugin can reject pods or make them wait.
bool rejects(const Profile& profile, const Plugin& plugin) {
  const std::string name(plugin.name());
  return dynamic_cast<const GroupPlugin*>(&plugin) ||
         Profile::indexOf(profile.filter, name) != Profile::npos ||
         Profile::indexOf(profile.preFilter, name) != Profile::npos ||
         Profile::indexOf(profile.preEnqueue, name) != Profile::npos ||
         Profile::indexOf(profile.reserve, name) != Profile::npos ||
         Profile::indexOf(profile.permit, name) != Profile::npos;
}

// The interfaces of plugins that are not extension points.
void collectRoles(Profile& profile, const ProfileConfig& config, std::vector<std::string>& errors) {
  for (const auto& plugin : profile.plugins) {
    const std::string name(plugin->name());
    if (const auto* part = dynamic_cast<const Signed*>(plugin.get()))
      profile.signedPlugins.push_back(part);
    if (const auto* changing = dynamic_cast<const Changing*>(plugin.get()))
      profile.changing.push_back(changing);
    if (const auto* view = dynamic_cast<const ViewPlugin*>(plugin.get())) {
      if (!dynamic_cast<const Signed*>(plugin.get()))
        errors.push_back(fmt::format("{}: plugin \"{}\" has a view of nodes but no signature",
                                     config.path, name));
      profile.views.push_back(view);
    }
    if (const auto* extension = dynamic_cast<const EnqueueExtensions*>(plugin.get())) {
      profile.registrations.push_back(
          {name, extension->eventsToRegister(), dynamic_cast<const ViewPlugin*>(plugin.get())});
      continue;
    }
    // Asked on every event, like upstream's plugins without the extension.
    if (rejects(profile, *plugin))
      profile.registrations.push_back({name, {{EventResource::Wildcard, action::kAll, "", {}}}});
  }
  profile.admits = profile.offers<const AdmitPlugin>();
  profile.afterPostFilter = profile.offers<AfterPostFilterPlugin>();
  const auto sole = [&]<class Offer>(Offer*& slot, std::string_view what) {
    const auto offers = profile.offers<Offer>();
    if (!offers.empty()) slot = offers.front();
    if (offers.size() > 1)
      errors.push_back(fmt::format("{}: more than one plugin {}", config.path, what));
  };
  sole(profile.groups, "forms groups of pods");
  profile.planners = profile.offers<PlanPlugin>();
  if (const auto* plugin = dynamic_cast<const Plugin*>(profile.groups))
    profile.groupsName = plugin->name();
}

// A claim that is of no use to its pod must be released, or the pod waits indefinitely. So
// DynamicResources runs at PostFilter if the profile has it, unless the configuration disables it
// there by name. If the configuration does not list it, it says nothing about pods for which it
// does nothing.
void releaseClaims(Profile& profile, const ProfileConfig& config, const Instances& instances,
                   bool added) {
  const auto it = instances.find(kClaimsPlugin);
  if (it == instances.end()) return;
  auto& plugins = profile.postFilter;
  const auto isClaims = [](const auto& plugin) { return plugin.name == kClaimsPlugin; };
  if (std::ranges::any_of(plugins, isClaims)) {
    if (!added) return;
    std::erase_if(plugins, isClaims);
  }
  const auto& disabled = setOf(config, "postFilter").disabled;
  if (std::ranges::find(disabled, kClaimsPlugin) != disabled.end()) return;
  Extensions<PostFilterPlugin> own;
  extend(own, *it->second, 0);
  if (own.empty()) return;
  profile.quiet.push_back(std::make_unique<QuietPostFilter>(*own.front().point));
  own.front().point = profile.quiet.back().get();
  plugins.insert(plugins.begin(), own.front());
}

}  // namespace

std::unique_ptr<Profile> buildProfile(const ProfileConfig& config, const Registry& registry,
                                      Handle& handle, std::vector<std::string>& errors) {
  auto profile = std::make_unique<Profile>();
  profile->schedulerName = config.schedulerName;
  profile->percentageOfNodesToScore = config.percentageOfNodesToScore;
  std::vector<PluginRef> multiPoint = mergePlugins(defaultPlugins(), setOf(config, "multiPoint"));
  // Without it, a pod would be bound although its claims are not allocated.
  const bool added = registry.contains(kClaimsPlugin) && !has(multiPoint, kClaimsPlugin);
  if (added) multiPoint.push_back({kClaimsPlugin, 0});
  const auto wanted = wantedPlugins(config, registry, multiPoint, errors);
  const Instances instances = makePlugins(*profile, config, registry, handle, wanted, errors);
  forEachPoint(*profile, [&](std::string_view point, auto& list) {
    expand(config, point, multiPoint, instances, list, errors);
  });
  const auto isClaims = [](const auto& plugin) { return plugin.name == kClaimsPlugin; };
  if (added) {  // It does not prefer nodes.
    std::erase_if(profile->preScore, isClaims);
    std::erase_if(profile->score, isClaims);
  }
  releaseClaims(*profile, config, instances, added);
  checkPoints(*profile, config, errors);
  dropUnused(*profile, multiPoint);
  collectRoles(*profile, config, errors);
  // Extenders do not register events.
  if (handle.extenders()) {
    profile->registrations.push_back(
        {std::string(kExtenderName), {{EventResource::Wildcard, action::kAll, "", {}}}});
  }
  return profile;
}

namespace {

template <class Point>
bool isIdle(const Point& point, const PodInfo& pod, PluginPoints where) {
  const auto* plugin = dynamic_cast<const Plugin*>(&point);
  return plugin && (plugin->skippedPoints(pod) & where) != 0;
}

template <class Point>
PluginMask idleIn(const Extensions<Point>& list, const PodInfo& pod, PluginPoints where) {
  PluginMask mask = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (isIdle(*list[i].point, pod, where)) mask |= PluginMask{1} << i;
  return mask;
}

}  // namespace

const IdlePlugins& Profile::idleFor(const PodInfo& pod) const {
  static const IdlePlugins kNone;
  if (pod.shape == 0) return kNone;
  return idle_.of(pod, [&] {
    IdlePlugins idle{.preFilter = idleIn(preFilter, pod, when::kPreFilter),
                     .reserve = idleIn(reserve, pod, when::kReserve),
                     .permit = idleIn(permit, pod, when::kPermit),
                     .preBind = idleIn(preBind, pod, when::kPreBind),
                     .preEnqueue = idleIn(preEnqueue, pod, when::kPreEnqueue)};
    for (std::size_t i = 0; i < planners.size(); ++i)
      if (isIdle(*planners[i], pod, when::kPlan)) idle.planners |= PluginMask{1} << i;
    return idle;
  });
}

std::string describePlugins(const Profile& profile) {
  std::string text;
  forEachPoint(profile, [&](std::string_view point, const auto& list) {
    if (list.empty()) return;
    text += fmt::format("{}:", point);
    for (const auto& extension : list) {
      text += " " + extension.name;
      if (point == "score") text += fmt::format("({})", extension.weight);
    }
    text += '\n';
  });
  return text;
}

}  // namespace koord::scheduler
