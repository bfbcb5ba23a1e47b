#include "descheduler/migration/arbitration_order.h"

#include <algorithm>
#include <map>

#include "descheduler/rules/pod_order.h"

namespace koord::descheduler {

namespace {

std::string_view kubernetesJobOf(const WaitingJob& waiting) {
  if (!waiting.pod) return {};
  const api::OwnerReference* owner = api::controllerOf(waiting.pod->metadata);
  return owner && owner->kind == "Job" ? std::string_view(owner->uid) : std::string_view();
}

bool lessImportant(const WaitingJob& a, const WaitingJob& b) {
  if (!a.pod || !b.pod) return !a.pod && b.pod;
  const auto byImportance = compareImportance(a.pod->facts, b.pod->facts);
  if (byImportance != 0) return byImportance < 0;
  return compareAge(a.pod->facts, b.pod->facts) < 0;
}

bool newer(const WaitingJob& a, const WaitingJob& b) {
  const auto& first = a.job->metadata;
  const auto& second = b.job->metadata;
  if (first.creationTimestamp != second.creationTimestamp)
    return second.creationTimestamp < first.creationTimestamp;
  return first.name < second.name;
}

}  // namespace

void orderWaiting(std::vector<WaitingJob>& waiting) {
  std::ranges::sort(waiting, newer);
  std::ranges::stable_sort(waiting, lessImportant);
  // Moves each next to the first of the same Kubernetes Job.
  std::map<std::string_view, std::size_t> firsts;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of the first, own
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const std::string_view owner = kubernetesJobOf(waiting[i]);
    const std::size_t first = owner.empty() ? i : firsts.try_emplace(owner, i).first->second;
    places.emplace_back(first, i);
  }
  std::ranges::sort(places);
  std::vector<WaitingJob> ordered;
  ordered.reserve(waiting.size());
  for (const auto& [first, own] : places) ordered.push_back(waiting[own]);
  std::ranges::stable_sort(ordered, std::greater<>{}, &WaitingJob::movingOfJob);
  waiting = std::move(ordered);
}

}  // namespace koord::descheduler
