#include "runtimeproxy/docker/docker_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/split.h"
#include "net/url.h"

namespace koord::runtimeproxy {
namespace {

constexpr std::string_view kSlice = ".slice";
constexpr std::string_view kAnnotation = "annotation.";
constexpr std::size_t kNameParts = 6;

// "v1.39"
bool isVersion(std::string_view text) {
  return text.size() > 3 && text[0] == 'v' && text.find('.') != text.npos &&
         text.find_first_not_of("0123456789.", 1) == text.npos;
}

std::int64_t numberAt(const json::value& object, std::string_view key) {
  return wholeNumber(memberOf(object, key)).value_or(0);
}

struct Amount {
  std::string_view name;
  std::int64_t (Resources::*get)() const;
  void (Resources::*set)(std::int64_t);
  bool updated;  // also part of an update
};
constexpr std::array kAmounts = {
    Amount{"CpuPeriod", &Resources::cpu_period, &Resources::set_cpu_period, true},
    Amount{"CpuQuota", &Resources::cpu_quota, &Resources::set_cpu_quota, true},
    Amount{"CpuShares", &Resources::cpu_shares, &Resources::set_cpu_shares, true},
    Amount{"Memory", &Resources::memory_limit_in_bytes, &Resources::set_memory_limit_in_bytes,
           true},
    Amount{"MemorySwap", &Resources::memory_swap_limit_in_bytes,
           &Resources::set_memory_swap_limit_in_bytes, true},
    Amount{"OomScoreAdj", &Resources::oom_score_adj, &Resources::set_oom_score_adj, false},
};

void splitLabels(const json::value& config, google::protobuf::Map<std::string, std::string>* labels,
                 google::protobuf::Map<std::string, std::string>& annotations) {
  const auto* all = find(config, "Labels");
  if (!all || !all->is_object()) return;
  for (const auto& entry : all->get_object()) {
    if (!entry.value().is_string()) continue;
    const std::string_view key = entry.key();
    const std::string value(entry.value().get_string());
    if (key.starts_with(kAnnotation))
      annotations[std::string(key.substr(kAnnotation.size()))] = value;
    else if (labels)
      (*labels)[std::string(key)] = value;
  }
}

}  // namespace

std::string_view nameOf(DockerMethod method) {
  constexpr std::array<std::string_view, 5> kNames = {
      "ContainerCreate", "ContainerStart", "ContainerStop", "ContainerUpdate", "ContainerRemove"};
  return kNames[static_cast<std::size_t>(method)];
}

std::optional<DockerTarget> dockerTargetOf(std::string_view method, std::string_view target) {
  const auto parsed = net::parseTarget(target);
  if (!parsed || !parsed->path.starts_with('/')) return std::nullopt;
  auto parts = splitAll(std::string_view(parsed->path).substr(1), '/');
  if (isVersion(parts.front())) parts.erase(parts.begin());
  if (parts.size() < 2 || parts[0] != "containers") return std::nullopt;
  if (method == "DELETE" && parts.size() == 2)
    return DockerTarget{DockerMethod::Remove, std::string(parts[1]), {}};
  if (method != "POST") return std::nullopt;
  if (parts.size() == 2 && parts[1] == "create")
    return DockerTarget{DockerMethod::Create, {}, std::string(parsed->param("name"))};
  if (parts.size() != 3) return std::nullopt;
  const std::string id(parts[1]);
  if (parts[2] == "start") return DockerTarget{DockerMethod::Start, id, {}};
  if (parts[2] == "stop") return DockerTarget{DockerMethod::Stop, id, {}};
  if (parts[2] == "update") return DockerTarget{DockerMethod::Update, id, {}};
  return std::nullopt;
}

std::optional<KubernetesName> kubernetesNameOf(std::string_view name) {
  if (name.starts_with('/')) name.remove_prefix(1);
  const auto parts = splitAll(name, '_');
  if (parts.size() != kNameParts || parts[0] != "k8s") return std::nullopt;
  KubernetesName known{std::string(parts[1]), std::string(parts[2]), std::string(parts[3]),
                       std::string(parts[4]), 0};
  std::from_chars(parts[5].data(), parts[5].data() + parts[5].size(), known.attempt);
  return known;
}

bool isSandbox(const json::value& labels) {
  return textAt(labels, "io.kubernetes.docker.type") == "podsandbox";
}

std::string_view sandboxOf(const json::value& labels) {
  return textAt(labels, "io.kubernetes.sandbox.id");
}

Resources dockerResources(const json::value& hostConfig) {
  Resources resources;
  for (const auto& amount : kAmounts) (resources.*amount.set)(numberAt(hostConfig, amount.name));
  resources.set_cpuset_cpus(std::string(textAt(hostConfig, "CpusetCpus")));
  resources.set_cpuset_mems(std::string(textAt(hostConfig, "CpusetMems")));
  return resources;
}

void writeResources(const Resources& before, const Resources& now, json::object& hostConfig) {
  for (const auto& amount : kAmounts)
    if ((now.*amount.get)() != (before.*amount.get)())
      hostConfig[amount.name] = (now.*amount.get)();
  if (now.cpuset_cpus() != before.cpuset_cpus()) hostConfig["CpusetCpus"] = now.cpuset_cpus();
  if (now.cpuset_mems() != before.cpuset_mems()) hostConfig["CpusetMems"] = now.cpuset_mems();
}

void writeUpdate(const Resources& now, json::object& update) {
  for (const auto& amount : kAmounts)
    if (amount.updated) update[amount.name] = (now.*amount.get)();
  update["CpusetCpus"] = now.cpuset_cpus();
  update["CpusetMems"] = now.cpuset_mems();
}

void writeEnvironment(const google::protobuf::Map<std::string, std::string>& variables,
                      json::object& config) {
  std::map<std::string, std::string> wanted(variables.begin(), variables.end());
  json::array list;
  if (const auto* known = config.if_contains("Env"); known && known->is_array())
    for (const auto& entry : known->get_array()) {
      if (!entry.is_string()) continue;
      const std::string_view text = entry.get_string();
      const auto equals = text.find('=');
      if (equals == text.npos)  // a name alone removes the variable of the image
        list.emplace_back(entry);
      else if (auto node = wanted.extract(std::string(text.substr(0, equals))); !node.empty())
        list.emplace_back(node.key() + "=" + node.mapped());
    }
  for (const auto& [key, value] : wanted) list.emplace_back(key + "=" + value);
  config["Env"] = std::move(list);
}

runtimehook::PodSandboxHookRequest dockerPod(const KubernetesName& name, const json::value& config,
                                             const json::value& hostConfig, bool systemd) {
  runtimehook::PodSandboxHookRequest pod;
  pod.mutable_pod_meta()->set_name(name.pod);
  pod.mutable_pod_meta()->set_namespace_(name.namespace_);
  pod.mutable_pod_meta()->set_uid(name.uid);
  pod.mutable_pod_meta()->set_attempt(name.attempt);
  splitLabels(config, pod.mutable_labels(), *pod.mutable_annotations());
  pod.set_cgroup_parent(hookCgroupParent(textAt(hostConfig, "CgroupParent"), systemd));
  *pod.mutable_resources() = dockerResources(hostConfig);
  pod.set_runtime_handler("docker");
  return pod;
}

runtimehook::ContainerResourceHookRequest dockerContainer(const KubernetesName& name,
                                                          const json::value& config,
                                                          const json::value& hostConfig) {
  runtimehook::ContainerResourceHookRequest container;
  container.mutable_container_meta()->set_name(name.container);
  container.mutable_container_meta()->set_attempt(name.attempt);
  splitLabels(config, nullptr, *container.mutable_container_annotations());
  *container.mutable_container_resources() = dockerResources(hostConfig);
  if (const auto* env = find(config, "Env"); env && env->is_array())
    for (const auto& entry : env->get_array()) {
      if (!entry.is_string()) continue;
      const std::string_view text = entry.get_string();
      if (const auto equals = text.find('='); equals != text.npos)
        (*container.mutable_container_envs())[std::string(text.substr(0, equals))] =
            std::string(text.substr(equals + 1));
    }
  return container;
}

std::string hookCgroupParent(std::string_view docker, bool systemd) {
  if (!systemd || !docker.ends_with(kSlice) || docker.find('/') != docker.npos)
    return std::string(docker);
  const std::string_view stem = docker.substr(0, docker.size() - kSlice.size());
  std::string path;
  for (auto end = stem.find('-');; end = stem.find('-', end + 1)) {
    path += "/" + std::string(stem.substr(0, end)) + std::string(kSlice);
    if (end == stem.npos) return path;
  }
}

std::string dockerCgroupParent(std::string_view hook, bool systemd) {
  if (!systemd) return std::string(hook);
  while (hook.ends_with('/')) hook.remove_suffix(1);
  return std::string(hook.substr(hook.rfind('/') + 1));
}

}  // namespace koord::runtimeproxy
