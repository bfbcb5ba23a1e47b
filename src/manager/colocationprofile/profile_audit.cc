#include "manager/colocationprofile/profile_audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace koord::manager {

namespace {

using namespace std::chrono_literals;

constexpr Duration kDebounce = 1s;  // changes of profiles and namespaces come in groups
constexpr std::size_t kSlice = 500;
constexpr Duration kBetweenSlices = 10ms;

bool sameFor(const api::Pod& a, const api::Pod& b) {
  return a.metadata.labels == b.metadata.labels &&
         a.metadata.annotations == b.metadata.annotations && a.status.phase == b.status.phase &&
         a.metadata.deletionTimestamp == b.metadata.deletionTimestamp;
}

}  // namespace

ProfileAudit::ProfileAudit(kube::Api& api, Executor& executor, kube::Informer<api::Pod>& pods,
                           kube::EventRecorder& events, Metrics& metrics, Random random)
    : executor_(executor),
      pods_(pods),
      events_(events),
      metrics_(metrics),
      profiles_(api, executor, {}, random.fork()),
      namespaces_(api, executor, {}, random.fork()) {
  pods_.addHandler({[this](const PodPtr& pod) { podChanged(pod); },
                    [this](const PodPtr& before, const PodPtr& after) {
                      if (!sameFor(*before, *after)) podChanged(after);
                    },
                    [this](const PodPtr& last) { remember(*last, {}); }});
  profiles_.addHandler({[this](const auto&) { scheduleAudit(); },
                        [this](const auto&, const auto&) { scheduleAudit(); },
                        [this](const auto&) { scheduleAudit(); }});
  // Pods of a new namespace are checked as they arrive.
  namespaces_.addHandler({nullptr,
                          [this](const auto& before, const auto& after) {
                            if (before->metadata.labels != after->metadata.labels) scheduleAudit();
                          },
                          nullptr});
  pods_.onSynced([this] { scheduleAudit(); });
  namespaces_.onSynced([this] { scheduleAudit(); });
}

ProfileAudit::~ProfileAudit() {
  executor_.cancel(timer_);
}

void ProfileAudit::start() {
  profiles_.start();
  namespaces_.start();
}

void ProfileAudit::podChanged(const PodPtr& pod) {
  if (audited_) {
    judge(*pod);
  } else if (!waiting_.empty()) {
    waiting_.push_back(pod);  // the pod may be newer than waiting_
  }
}

void ProfileAudit::scheduleAudit() {
  if (!ready()) return;
  audited_ = false;
  waiting_.clear();
  executor_.cancel(timer_);
  timer_ = executor_.runAfter(kDebounce, [this] {
    readProfiles();
    waiting_.assign(pods_.objects().begin(), pods_.objects().end());
    auditSlice();
  });
}

void ProfileAudit::readProfiles() {
  std::map<std::string, std::string> broken;
  rules_ = MissedProfiles(
      {profiles_.objects().begin(), profiles_.objects().end()},
      [&](const api::ClusterColocationProfile& profile, const Error& error) {
        broken[profile.metadata.uid] = error.message;
        const auto told = broken_.find(profile.metadata.uid);
        if (told != broken_.end() && told->second == error.message) return;
        events_.record(kube::referenceTo(api::ClusterColocationProfile::kType, profile.metadata),
                       "Warning", "UnreadableSelector",
                       error.message + ": this profile is not applied to any pod");
      });
  broken_ = std::move(broken);
}

void ProfileAudit::auditSlice() {
  timer_ = 0;
  for (std::size_t i = 0; i < kSlice && !waiting_.empty(); ++i) {
    const api::ObjectKey key = api::keyOf(waiting_.back()->metadata);
    waiting_.pop_back();
    if (const auto now = pods_.get(key)) judge(*now);
  }
  audited_ = waiting_.empty();
  if (!audited_) timer_ = executor_.runAfter(kBetweenSlices, [this] { auditSlice(); });
}

void ProfileAudit::judge(const api::Pod& pod) {
  const auto ns = namespaces_.get({"", pod.metadata.namespace_});
  remember(pod, rules_.of(pod, ns ? ns->metadata.labels : api::StringMap(),
                          MissedProfiles::Older::DoNotCount));
}

void ProfileAudit::remember(const api::Pod& pod, std::vector<std::string> missed) {
  const auto known = missed_.find(pod.metadata.uid);
  if (known == missed_.end() && missed.empty()) return;
  if (known != missed_.end()) {
    if (known->second == missed) return;
    count(known->second, -1);
    missed_.erase(known);
  }
  if (missed.empty()) return;
  count(missed, 1);
  events_.record(
      kube::referenceTo(api::Pod::kType, pod.metadata), "Warning", "AdmittedWithoutProfile",
      fmt::format(
          "the pod lacks ClusterColocationProfile {}, which selects it: it was admitted while "
          "koord-manager's webhook did not respond, or before it matched; recreate the pod",
          fmt::join(missed, ", ")));
  missed_[pod.metadata.uid] = std::move(missed);
}

void ProfileAudit::count(const std::vector<std::string>& profiles, int change) {
  for (const auto& profile : profiles) {
    const int pods = counts_[profile] += change;
    metrics_.setPodsWithoutProfile(profile, pods);
    if (pods == 0) counts_.erase(profile);
  }
}

}  // namespace koord::manager
