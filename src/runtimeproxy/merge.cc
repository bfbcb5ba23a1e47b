#include "runtimeproxy/merge.h"

#include <map>
#include <optional>
#include <set>

namespace koord::runtimeproxy {
namespace {

constexpr std::int64_t kMinOomScore = -1000, kMaxOomScore = 1000;

// Returns true if the answer lacks an amount that the request had.
bool isPartial(const Resources& answer, const Resources& known) {
  const auto lost = [](std::int64_t before, std::int64_t now) { return before != 0 && now == 0; };
  return lost(known.cpu_period(), answer.cpu_period()) ||
         lost(known.cpu_quota(), answer.cpu_quota()) ||
         lost(known.cpu_shares(), answer.cpu_shares()) ||
         lost(known.memory_limit_in_bytes(), answer.memory_limit_in_bytes());
}

// Merges the amounts that are set, for both kinds of merge.
void mergeAmounts(const Resources& from, Resources& to) {
  if (from.cpu_period() > 0) to.set_cpu_period(from.cpu_period());
  if (from.cpu_quota() != 0) to.set_cpu_quota(from.cpu_quota());  // -1 = unlimited
  if (from.cpu_shares() > 0) to.set_cpu_shares(from.cpu_shares());
  if (from.memory_limit_in_bytes() > 0) to.set_memory_limit_in_bytes(from.memory_limit_in_bytes());
  if (from.memory_swap_limit_in_bytes() > 0)
    to.set_memory_swap_limit_in_bytes(from.memory_swap_limit_in_bytes());
  for (const auto& [name, value] : from.unified()) (*to.mutable_unified())[name] = value;
}

void mergeCpusets(const Resources& from, Resources& to) {
  if (!from.cpuset_cpus().empty()) to.set_cpuset_cpus(from.cpuset_cpus());
  if (!from.cpuset_mems().empty()) to.set_cpuset_mems(from.cpuset_mems());
}

template <class Map>
void mergeMap(const Map& from, Map& to) {
  for (const auto& [key, value] : from) to[key] = value;
}

template <class Map>
void mergeMapChanges(const Map& before, const Map& after, Map& known) {
  const auto valueIn = [](const Map& map, const auto& key) {
    const auto it = map.find(key);
    return it == map.end() ? std::optional<std::string>() : std::optional<std::string>(it->second);
  };
  std::set<std::string> keys;
  for (const auto& [key, value] : before) keys.insert(key);
  for (const auto& [key, value] : after) keys.insert(key);
  for (const auto& key : keys) {
    const auto is = valueIn(after, key);
    if (valueIn(before, key) == is) continue;
    if (is) {
      known[key] = *is;
    } else {
      known.erase(key);
    }
  }
}

void mergeResourceChanges(const Resources& before, const Resources& after, Resources& known) {
#define KOORD_FIELD(name) \
  if (before.name() != after.name()) known.set_##name(after.name())
  KOORD_FIELD(cpu_period);
  KOORD_FIELD(cpu_quota);
  KOORD_FIELD(cpu_shares);
  KOORD_FIELD(memory_limit_in_bytes);
  KOORD_FIELD(memory_swap_limit_in_bytes);
  KOORD_FIELD(oom_score_adj);
  KOORD_FIELD(cpuset_cpus);
  KOORD_FIELD(cpuset_mems);
#undef KOORD_FIELD
  mergeMapChanges(before.unified(), after.unified(), *known.mutable_unified());
}

}  // namespace

void mergeChanges(const runtimehook::ContainerResourceHookRequest& before,
                  const runtimehook::ContainerResourceHookRequest& after,
                  runtimehook::ContainerResourceHookRequest& known) {
  mergeMapChanges(before.container_annotations(), after.container_annotations(),
                  *known.mutable_container_annotations());
  mergeMapChanges(before.container_envs(), after.container_envs(), *known.mutable_container_envs());
  mergeResourceChanges(before.container_resources(), after.container_resources(),
                       *known.mutable_container_resources());
  if (before.pod_cgroup_parent() != after.pod_cgroup_parent())
    known.set_pod_cgroup_parent(after.pod_cgroup_parent());
}

void mergeAnswer(const Resources& answer, Resources& known) {
  const bool partial = isPartial(answer, known);
  mergeAmounts(answer, known);
  const std::int64_t score = answer.oom_score_adj();
  if (score >= kMinOomScore && score <= kMaxOomScore && (score != 0 || !partial))
    known.set_oom_score_adj(score);
  if (partial) return mergeCpusets(answer, known);
  known.set_cpuset_cpus(answer.cpuset_cpus());
  known.set_cpuset_mems(answer.cpuset_mems());
}

void mergeUpdate(const Resources& update, Resources& known) {
  mergeAmounts(update, known);
  mergeCpusets(update, known);
}

void merge(const runtimehook::PodSandboxHookResponse& answer,
           runtimehook::PodSandboxHookRequest& known) {
  mergeMap(answer.annotations(), *known.mutable_annotations());
  mergeMap(answer.labels(), *known.mutable_labels());
  if (!answer.cgroup_parent().empty()) known.set_cgroup_parent(answer.cgroup_parent());
}

void merge(const runtimehook::ContainerResourceHookResponse& answer,
           runtimehook::ContainerResourceHookRequest& known) {
  mergeMap(answer.container_annotations(), *known.mutable_container_annotations());
  if (answer.has_container_resources() && known.has_container_resources())
    mergeAnswer(answer.container_resources(), *known.mutable_container_resources());
  if (!answer.pod_cgroup_parent().empty()) known.set_pod_cgroup_parent(answer.pod_cgroup_parent());
  if (!answer.container_envs().empty()) *known.mutable_container_envs() = answer.container_envs();
}

void apply(const runtimehook::PodSandboxHookRequest& known, cri::RunPodSandboxRequest& request) {
  auto& config = *request.mutable_config();
  *config.mutable_annotations() = known.annotations();
  *config.mutable_labels() = known.labels();
  if (!known.cgroup_parent().empty())
    config.mutable_linux()->set_cgroup_parent(known.cgroup_parent());
}

void apply(const runtimehook::ContainerResourceHookRequest& known, bool withEnvironment,
           cri::CreateContainerRequest& request) {
  auto& config = *request.mutable_config();
  *config.mutable_annotations() = known.container_annotations();
  if (known.has_container_resources())
    *config.mutable_linux()->mutable_resources() = known.container_resources();
  if (!known.pod_cgroup_parent().empty() && request.has_sandbox_config())
    request.mutable_sandbox_config()->mutable_linux()->set_cgroup_parent(known.pod_cgroup_parent());
  if (!withEnvironment) return;
  std::map<std::string, std::string> wanted(known.container_envs().begin(),
                                            known.container_envs().end());
  google::protobuf::RepeatedPtrField<cri::KeyValue> variables;
  const auto add = [&](const std::string& key, const std::string& value) {
    auto* variable = variables.Add();
    variable->set_key(key);
    variable->set_value(value);
  };
  for (const auto& variable : config.envs())
    if (auto node = wanted.extract(variable.key()); !node.empty()) add(node.key(), node.mapped());
  for (const auto& [key, value] : wanted) add(key, value);
  config.mutable_envs()->Swap(&variables);
}

runtimehook::PodSandboxHookRequest podOf(const cri::PodSandboxConfig& config,
                                         const std::string& runtimeHandler) {
  runtimehook::PodSandboxHookRequest pod;
  auto& meta = *pod.mutable_pod_meta();
  meta.set_name(config.metadata().name());
  meta.set_uid(config.metadata().uid());
  meta.set_namespace_(config.metadata().namespace_());
  meta.set_attempt(config.metadata().attempt());
  pod.set_runtime_handler(runtimeHandler);
  *pod.mutable_labels() = config.labels();
  *pod.mutable_annotations() = config.annotations();
  pod.set_cgroup_parent(config.linux().cgroup_parent());
  if (config.linux().has_overhead()) *pod.mutable_overhead() = config.linux().overhead();
  if (config.linux().has_resources()) *pod.mutable_resources() = config.linux().resources();
  return pod;
}

runtimehook::ContainerResourceHookRequest containerOf(const cri::CreateContainerRequest& request) {
  const auto& config = request.config();
  runtimehook::ContainerResourceHookRequest container;
  container.mutable_container_meta()->set_name(config.metadata().name());
  container.mutable_container_meta()->set_attempt(config.metadata().attempt());
  *container.mutable_container_annotations() = config.annotations();
  // Upstream omits them if kubelet does, and then loses a hook server's answer.
  *container.mutable_container_resources() = config.linux().resources();
  container.set_pod_cgroup_parent(request.sandbox_config().linux().cgroup_parent());
  for (const auto& variable : config.envs())
    (*container.mutable_container_envs())[variable.key()] = variable.value();
  return container;
}

}  // namespace koord::runtimeproxy
