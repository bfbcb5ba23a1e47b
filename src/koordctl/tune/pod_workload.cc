#include "koordctl/tune/pod_workload.h"

#include <algorithm>
#include <string_view>

namespace koord::koordctl {

namespace {

constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kSuffix = 5, kLongestHash = 10;

// The name before the last "-"; "" if what follows has other letters or another length.
std::string_view before(std::string_view name, std::string_view letters, std::size_t least,
                        std::size_t most) {
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos) return {};
  const std::string_view last = name.substr(dash + 1);
  const bool fits =
      last.size() >= least && last.size() <= most && last.find_first_not_of(letters) == last.npos;
  return fits ? name.substr(0, dash) : std::string_view();
}

}  // namespace

std::vector<PodWorkload> possibleWorkloads(const api::ObjectKey& pod) {
  using enum PodWorkload::Naming;
  std::vector<PodWorkload> found;
  const auto add = [&](std::string_view name, PodWorkload::Naming naming) {
    if (!name.empty()) found.push_back({{pod.namespace_, std::string(name)}, naming});
  };
  const std::string_view owner = before(pod.name, kLetters, kSuffix, kSuffix);
  add(owner, Suffix);
  add(before(pod.name, kDigits, 1, 9), Ordinal);
  add(before(owner, kLetters, 1, kLongestHash), Template);
  return found;
}

std::optional<PodWorkload> workloadOf(const api::Pod& pod) {
  using enum PodWorkload::Naming;
  const api::OwnerReference* const owner = api::controllerOf(pod.metadata);
  if (!owner) return std::nullopt;
  const auto* hash = api::findIn(pod.metadata.labels, "pod-template-hash");
  const bool ofDeployment =
      owner->kind == "ReplicaSet" && hash && owner->name.ends_with("-" + *hash);
  const std::string name =
      ofDeployment ? owner->name.substr(0, owner->name.size() - hash->size() - 1) : owner->name;
  for (PodWorkload& each : possibleWorkloads({pod.metadata.namespace_, pod.metadata.name}))
    if (each.key.name == name && (each.naming == Template) == ofDeployment) return std::move(each);
  return std::nullopt;
}

}  // namespace koord::koordctl
