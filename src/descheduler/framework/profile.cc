#include "descheduler/framework/profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace koord::descheduler {

namespace {

// For so long pods do not move again for a pod that was helped: the moves and its scheduling take
// time.
constexpr Duration kHelpLasts = std::chrono::minutes(10);

}  // namespace

Profile::Profile(Shared& shared, const PreparedProfile& prepared, const Registry& registry)
    : shared_(shared),
      name_(prepared.config.name),
      selector_(prepared.nodes),
      events_(shared.api, shared.executor, name_, shared.random.fork()) {
  const auto pluginAt = [&](const PluginRef& ref) { return make(ref.name, registry, prepared); };
  // The configuration was checked: the named plugins exist and serve the point.
  for (const PluginRef& ref : prepared.config.filter)
    filters_.push_back(dynamic_cast<FilterPlugin*>(pluginAt(ref).get()));
  for (const PluginRef& ref : prepared.config.evict)
    evictPlugin_ = dynamic_cast<EvictPlugin*>(pluginAt(ref).get());
  for (const PluginRef& ref : prepared.config.deschedule)
    deschedulePlugins_.push_back({ref.name, dynamic_cast<DeschedulePlugin*>(pluginAt(ref).get())});
  for (const PluginRef& ref : prepared.config.balance)
    balancePlugins_.push_back({ref.name, dynamic_cast<BalancePlugin*>(pluginAt(ref).get())});
}

std::shared_ptr<Plugin> Profile::make(const std::string& name, const Registry& registry,
                                      const PreparedProfile& prepared) {
  const bool shared = registry.find(name)->second.shared;
  auto& known = shared ? shared_.plugins : byName_;
  if (const auto found = known.find(name); found != known.end()) return found->second;
  auto plugin = prepared.plugins.find(name)->second.make(*this);
  known.emplace(name, plugin);
  plugins_.push_back(plugin);
  return plugin;
}

Nodes Profile::nodes() const {
  Nodes nodes;
  for (const NodePtr& node : shared_.stores.nodes().objects()) {
    const api::StringMap& labels = node->metadata.labels;
    if (!isReady(*node) || !shared_.prepared.nodes.matches(labels) || !selector_.matches(labels))
      continue;
    nodes.push_back({node, shared_.stores.podsOn(node->metadata.name)});
  }
  std::ranges::sort(nodes, {}, &NodeView::name);
  return nodes;
}

namespace {

Result<> summary(const std::vector<std::string>& failures) {
  if (failures.empty()) return {};
  return fail(ErrorCode::Internal, fmt::format("{}", fmt::join(failures, "; ")));
}

}  // namespace

Task<Result<>> Profile::deschedule() {
  std::vector<std::string> failures;
  const Nodes nodes = this->nodes();
  for (const auto& [name, plugin] : deschedulePlugins_) {
    running_ = name;
    auto task = plugin->deschedule(nodes);
    const auto done = co_await task;
    if (!done) failures.push_back(fmt::format("{}: {}", name, done.error().message));
  }
  running_.clear();
  co_return summary(failures);
}

Task<Result<>> Profile::balance() {
  std::vector<std::string> failures;
  const Nodes nodes = this->nodes();
  for (const auto& [name, plugin] : balancePlugins_) {
    running_ = name;
    auto task = plugin->balance(nodes);
    const auto done = co_await task;
    if (!done) failures.push_back(fmt::format("{}: {}", name, done.error().message));
  }
  running_.clear();
  co_return summary(failures);
}

bool Profile::filter(const Pod& pod) {
  return std::ranges::all_of(filters_, [&](FilterPlugin* plugin) { return plugin->filter(pod); });
}

bool Profile::preEvictionFilter(const Pod& pod) {
  return std::ranges::all_of(filters_,
                             [&](FilterPlugin* plugin) { return plugin->preEvictionFilter(pod); });
}

bool Profile::nodeExhausted(std::string_view node) const {
  return shared_.limiter.exhausted() || shared_.limiter.nodeExhausted(node);
}

void Profile::count(const Pod& pod) {
  shared_.limiter.count(pod.spec.nodeName, pod.metadata.namespace_);
  shared_.evicted.insert(pod.metadata.uid);
}

// The pod in its present state; nullptr if it must stay. Plugins see the pods as of the start of
// the cycle, which may take minutes.
PodPtr Profile::presentPod(const PodPtr& pod, const EvictOptions& options) {
  const PodPtr now = shared_.stores.pod(api::keyOf(pod->metadata));
  if (!now || now->metadata.uid != pod->metadata.uid || now->facts.is(PodFacts::Terminating) ||
      shared_.evicted.contains(pod->metadata.uid))
    return nullptr;
  if (now != pod && !filter(*now)) {
    note(*now, options, "a filter rejects it now", {});
    return nullptr;
  }
  return now;
}

// Returns true if the limits of the cycle allow the evictions of all of these pods.
bool Profile::limitsAllow(const std::vector<PodPtr>& pods, const EvictOptions& options) {
  EvictionLimiter limiter = shared_.limiter;
  for (const PodPtr& pod : pods) {
    if (const std::string_view limit = limiter.denies(*pod); !limit.empty()) {
      shared_.metrics.limited(limit);
      log::v(4, "pod {} is not evicted: the limit per {} of this cycle is reached",
             api::keyOf(pod->metadata).toString(), limit == "total" ? "cycle" : limit);
      note(*pod, options, fmt::format("limit reached: {}", limit), {});
      return false;
    }
    limiter.count(pod->spec.nodeName, pod->metadata.namespace_);
  }
  return true;
}

// Returns false if the pod does not wait for a node, or other pods already move for it. A pod on
// a node stands for a further one like it.
bool Profile::mayHelp(const Pod& beneficiary) const {
  const PodPtr now = shared_.stores.pod(api::keyOf(beneficiary.metadata));
  return now && now->metadata.uid == beneficiary.metadata.uid &&
         !now->facts.is(PodFacts::Terminating) &&
         (!beneficiary.spec.nodeName.empty() || now->spec.nodeName.empty()) && !helped(*now);
}

Task<bool> Profile::evict(PodPtr pod, EvictOptions options) {
  if (options.plugin.empty()) options.plugin = running_;
  if (options.beneficiary && !mayHelp(*options.beneficiary)) {
    note(*pod, options, "the pod for which it would move does not wait or is helped already", {});
    co_return false;
  }
  std::vector<PodPtr> pods = std::move(options.together);
  pods.insert(pods.begin(), pod);
  for (PodPtr& each : pods) {
    each = presentPod(each, options);
    if (!each) co_return false;
  }
  if (!limitsAllow(pods, options)) co_return false;
  const PodPtr now = pods.front();
  options.together.assign(pods.begin() + 1, pods.end());
  options.dryRun = options.dryRun || dryRun();
  auto task = evictPlugin_->evict(now, options);
  const auto evicted = co_await task;
  if (!evicted) {
    log::v(2, "pod {} was not evicted: {}", api::keyOf(pod->metadata).toString(),
           evicted.error().message);
    note(*pod, options, evicted.error().message, {});
    co_return false;
  }
  // A dry run helps a pod once in a cycle.
  if (options.beneficiary && options.beneficiary->spec.nodeName.empty())
    shared_.helped[options.beneficiary->metadata.uid] =
        shared_.executor.steadyNow() + (options.dryRun ? Duration{} : kHelpLasts);
  count(*pod);
  for (const PodPtr& other : evicted->together) count(*other);
  log::v(1, "{} pod={} node={} plugin={} reason=\"{}\"",
         options.dryRun ? "Evicted pod in dry run mode" : "Evicted pod",
         api::keyOf(pod->metadata).toString(), pod->spec.nodeName, options.plugin, options.reason);
  note(*pod, options, options.dryRun ? "planned" : "evicted", *evicted);
  co_return true;
}

void Profile::note(const Pod& pod, const EvictOptions& options, std::string outcome,
                   const Evicted& evicted) {
  shared_.journal.add({.at = shared_.executor.wallNow(),
                       .cycle = shared_.cycle,
                       .namespace_ = pod.metadata.namespace_,
                       .pod = pod.metadata.name,
                       .node = pod.spec.nodeName,
                       .landing = evicted.node,
                       .profile = name_,
                       .plugin = options.plugin,
                       .reason = options.reason.empty() ? options.plugin : options.reason,
                       .outcome = std::move(outcome),
                       .job = evicted.job});
}

}  // namespace koord::descheduler
