#include "scheduler/testing/world.h"

namespace koord::scheduler::testing {

World::World() {
  nominator_.onChange = [this](const std::string& node) {
    const auto id = cluster_.findNode(node);
    if (!id) return;
    cluster_.touch(*id);
    (void)cluster_.changesSince(cluster_.changeEnd());
  };
}

World::~World() = default;

NodeId World::node(const NodeBuilder& node) {
  return cluster_.setNode(node.build());
}

PodPtr World::bound(const PodBuilder& builder) {
  PodPtr info = pod(builder);
  cluster_.observePod(info, info->pod->spec.nodeName);
  return info;
}

void World::Units::added(const Object& unit, UnitKind& kind) {
  if (unit->spec.nodeName.empty()) return;
  Cluster& cluster = world_.cluster();
  cluster.observePod(makePodInfo(cluster, unit, &kind), unit->spec.nodeName);
}

std::vector<std::string> World::configure(const Registry& registry, const std::string& yaml,
                                          std::uint64_t seed) {
  std::vector<std::string> errors;
  SchedulerConfiguration configuration = defaultConfiguration();
  if (!yaml.empty()) {
    auto parsed = parseConfiguration(yaml);
    if (!parsed) return {parsed.error().message};
    configuration = *std::move(parsed);
  }
  profile_ = buildProfile(configuration.profiles.front(), registry, *this, errors);
  const std::int32_t percentage =
      profile_->percentageOfNodesToScore.value_or(configuration.percentageOfNodesToScore);
  search_ = std::make_unique<NodeSearch>(cluster_, nominator_, *profile_, Random(seed), percentage);
  return errors;
}

Plugin& World::only(std::unique_ptr<Plugin> plugin, std::uint64_t seed) {
  profile_ = std::make_unique<Profile>();
  profile_->schedulerName = "default-scheduler";
  extend(profile_->preFilter, *plugin);
  extend(profile_->filter, *plugin);
  extend(profile_->postFilter, *plugin);
  extend(profile_->preScore, *plugin);
  extend(profile_->score, *plugin);
  if (const auto* part = dynamic_cast<const Signed*>(plugin.get()))
    profile_->signedPlugins.push_back(part);
  if (const auto* changing = dynamic_cast<const Changing*>(plugin.get()))
    profile_->changing.push_back(changing);
  if (auto* planner = dynamic_cast<PlanPlugin*>(plugin.get()))
    profile_->planners.push_back(planner);
  profile_->plugins.push_back(std::move(plugin));
  search_ = std::make_unique<NodeSearch>(cluster_, nominator_, *profile_, Random(seed), 0);
  return *profile_->plugins.back();
}

std::map<std::string, std::string> World::filter(const PodPtr& pod) {
  std::map<std::string, std::string> answers;
  CycleState state;
  const SearchResult prepared = search_->prepare(state, pod);
  cluster_.live().forEach([&](NodeId node) {
    const Status status =
        prepared.status.ok() ? search_->filterNode(state, pod, node) : prepared.status;
    answers[cluster_.node(node).name] =
        status.ok() ? "" : std::string(nameOf(status.code)) + ": " + status.message();
  });
  return answers;
}

std::map<std::string, std::int64_t> World::scores(const PodPtr& pod,
                                                  std::vector<std::string> names) {
  std::vector<NodeId> nodes;
  if (names.empty()) {
    cluster_.live().copyTo(nodes);
  } else {
    for (const auto& name : names) nodes.push_back(*cluster_.findNode(name));
    std::ranges::sort(nodes);
  }
  CycleState state;
  search_->prepare(state, pod);
  const auto table = search_->scoreNodes(state, pod, nodes);
  std::map<std::string, std::int64_t> result;
  if (!table) return {{table.error().message, -1}};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    result[cluster_.node(nodes[n]).name] = table->totals[n];
  return result;
}

std::string World::place(const PodPtr& pod) {
  CycleState state;
  const SearchResult result = search_->find(state, pod);
  if (result.status.ok()) return cluster_.node(result.node).name;
  return result.status.rejected() && cluster_.liveCount() > 0 ? result.diagnosis.message()
                                                              : result.status.message();
}

}  // namespace koord::scheduler::testing
