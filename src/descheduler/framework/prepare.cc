#include "descheduler/framework/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/codec.h"

namespace koord::descheduler {

namespace {

// Upstream's names of the extension points, as in its messages.
std::string_view pointName(std::string_view point) {
  return point == "deschedule" ? "DeschedulePlugin"
         : point == "balance"  ? "BalancePlugin"
         : point == "evict"    ? "EvictPlugin"
                               : "FilterPlugin";
}

bool serves(const PluginKind& kind, std::string_view point) {
  return point == "deschedule" ? kind.deschedule
         : point == "balance"  ? kind.balance
         : point == "evict"    ? kind.evict
                               : kind.filter;
}

class Preparer {
 public:
  Preparer(const Registry& registry, std::vector<std::string>& errors)
      : registry_(registry), errors_(errors) {}

  PreparedProfile profile(ProfileConfig config, std::vector<std::string>& notes) {
    PreparedProfile out;
    out.nodes = readSelector(config.nodeSelector, config.path + ".nodeSelector", errors_);
    std::set<std::string> enabled;
    for (const std::string_view point : kExtensionPoints) checkPoint(config, point, enabled);
    checkEvict(config);
    for (PluginArgs& args : config.pluginConfig) readArgs(args, enabled, out, notes);
    for (const std::string& name : enabled) {
      if (out.plugins.contains(name) || !registry_.contains(name)) continue;
      const bool given = std::ranges::any_of(
          config.pluginConfig, [&](const PluginArgs& args) { return args.name == name; });
      if (given) continue;  // and was invalid
      PluginArgs args{name, nullptr, fmt::format("{}.pluginConfig[{}]", config.path, name)};
      readArgs(args, enabled, out, notes);
      if (registry_.find(name)->second.native) config.pluginConfig.push_back(std::move(args));
    }
    out.config = std::move(config);
    return out;
  }

  // One object for all profiles can only have one set of arguments.
  void checkShared(const std::vector<PreparedProfile>& profiles) {
    std::map<std::string, std::pair<const PreparedProfile*, const PreparedPlugin*>> first;
    for (const PreparedProfile& profile : profiles) {
      for (const auto& [name, plugin] : profile.plugins) {
        if (!registry_.find(name)->second.shared) continue;
        const auto [at, fresh] = first.try_emplace(name, &profile, &plugin);
        if (fresh || at->second.second->effective == plugin.effective) continue;
        errors_.push_back(
            fmt::format("{}.pluginConfig: args of {} differ from those in {}.pluginConfig; the "
                        "profiles share it",
                        profile.config.path, name, at->second.first->config.path));
      }
    }
  }

 private:
  void checkPoint(const ProfileConfig& config, std::string_view point,
                  std::set<std::string>& enabled) {
    std::set<std::string> here;
    for (const PluginRef& ref : config.at(point)) {
      const std::string path =
          ref.path.empty() ? fmt::format("{}.plugins.{}", config.path, point) : ref.path + ".name";
      const auto kind = registry_.find(ref.name);
      if (kind == registry_.end()) {
        errors_.push_back(
            fmt::format("{}: {} \"{}\" does not exist", path, pointName(point), ref.name));
      } else if (!serves(kind->second, point)) {
        errors_.push_back(fmt::format("{}: plugin \"{}\" does not extend {} plugin", path, ref.name,
                                      pointName(point)));
      } else if (!here.insert(ref.name).second) {
        errors_.push_back(fmt::format("{}: plugin \"{}\" already registered as \"{}\"", path,
                                      ref.name, pointName(point)));
      } else {
        enabled.insert(ref.name);
      }
    }
  }

  void checkEvict(const ProfileConfig& config) {
    if (config.evict.empty()) {
      errors_.push_back(fmt::format("{}.plugins.evict: no evict plugin is enabled", config.path));
    } else if (config.evict.size() > 1) {
      errors_.push_back(fmt::format(
          "{}.plugins.evict: only one evict plugin can be enabled, not {} and {}; disable one of "
          "them",
          config.path, config.evict[0].name, config.evict[1].name));
    }
  }

  void readArgs(PluginArgs& args, const std::set<std::string>& enabled, PreparedProfile& out,
                std::vector<std::string>& notes) {
    const auto kind = registry_.find(args.name);
    if (kind == registry_.end()) {
      errors_.push_back(fmt::format("{}: plugin \"{}\" does not exist", args.path, args.name));
      return;
    }
    const std::size_t before = errors_.size();
    Fields fields(args.args.is_null() ? nullptr : &args.args, args.path, errors_);
    PreparedPlugin prepared = kind->second.prepare(fields);
    fields.refuseUnknown();
    if (errors_.size() != before) return;
    args.args = prepared.effective;
    notes.insert(notes.end(), prepared.notes.begin(), prepared.notes.end());
    if (enabled.contains(args.name)) {
      out.plugins.insert_or_assign(args.name, std::move(prepared));
    } else {
      notes.push_back(fmt::format("{}: {} is not enabled in the profile", args.path, args.name));
    }
  }

  const Registry& registry_;
  std::vector<std::string>& errors_;
};

}  // namespace

api::Selector readSelector(const json::value& document, std::string_view path,
                           std::vector<std::string>& errors) {
  if (document.is_null()) return {};
  const auto selector = api::decode<api::LabelSelector>(document, api::Reading::Strict);
  if (!selector) {
    errors.push_back(fmt::format("{}: {}", path, selector.error().message));
    return {};
  }
  auto compiled = api::Selector::compile(*selector);
  if (compiled) return *std::move(compiled);
  errors.push_back(fmt::format("{}: {}", path, compiled.error().message));
  return {};
}

PreparedConfiguration prepare(DeschedulerConfiguration configuration, const Registry& registry,
                              std::vector<std::string>& errors) {
  PreparedConfiguration out;
  out.nodes = readSelector(configuration.nodeSelector, "nodeSelector", errors);
  Preparer preparer(registry, errors);
  for (ProfileConfig& profile : configuration.profiles) {
    out.profiles.push_back(preparer.profile(std::move(profile), out.notes));
    profile = out.profiles.back().config;
  }
  preparer.checkShared(out.profiles);
  out.configuration = std::move(configuration);
  return out;
}

}  // namespace koord::descheduler
