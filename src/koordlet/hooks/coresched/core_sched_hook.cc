#include "koordlet/hooks/coresched/core_sched_hook.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/split.h"
#include "koordlet/system/small_file.h"
#include "model/well_known.h"

// Cookies belong to processes and live in the kernel. koordlet keeps no copy that could differ:
// each pass reads the cookies of the pods' processes. A group's cookie is the cookie that most of
// its known members have. Members without it get it from a process that has it; a group without a
// cookie gets a new cookie. A restarted koordlet therefore finds its groups again. Children inherit
// the cookie of their parent, so the steady state costs one call per process and pass.
//
// When the policy is switched off, koordlet clears the cookies, including those that a former
// koordlet process set. Other programs may use cookies on nodes where koordlet never did, so a
// marker file records that koordlet did.
//
// Group identity and core scheduling exclude each other in kernels that have both.

namespace koord::koordlet {
namespace {

// One pass is enough, unless a pod is temporarily not listed.
constexpr int kPassesToReset = 10;

CoreSchedRule::Class classOf(const std::optional<api::ResourceQOS>& qos, bool policy) {
  if (!policy || !qos || !qos->cpuQOS || !qos->cpuQOS->enable.value_or(false)) return {};
  const api::CPUQOS& cpu = *qos->cpuQOS;
  return {true, cpu.coreExpeller.value_or(false), cpu.schedIdle.value_or(0) == 1};
}

// Writes the value if the file has another one. Does nothing on kernels without the file.
Result<> set(const std::string& path, std::string_view value) {
  const auto current = readSmallFile(path);
  if (!current || trim(*current) == value) return {};
  return writeSmallFile(path, value);
}

}  // namespace

CoreSchedRule coreSchedRule(const api::ResourceQOSStrategy& strategy) {
  const bool policy = strategy.policies && strategy.policies->cpuPolicy.value_or("") == "coreSched";
  return {classOf(strategy.lsrClass, policy), classOf(strategy.lsClass, policy),
          classOf(strategy.beClass, policy)};
}

const CoreSchedRule::Class& CoreSchedRule::of(KubeQos directory) const {
  if (directory == KubeQos::BestEffort) return be;
  return directory == KubeQos::Guaranteed && lsr.enabled ? lsr : ls;
}

const CoreSchedRule::Class& CoreSchedRule::of(const PodView& pod) const {
  switch (pod.qos) {
    case model::Qos::LSE:
    case model::Qos::LSR:
      return lsr;
    case model::Qos::LS:
      return ls;
    case model::Qos::BE:
      return be;
    default:
      return of(pod.kubeQos);
  }
}

std::optional<std::string> coreSchedGroup(const PodView& pod, const CoreSchedRule& rule) {
  const CoreSchedRule::Class& own = rule.of(pod);
  if (!own.enabled || pod.qos == model::Qos::System) return std::nullopt;
  const auto& labels = pod.pod->metadata.labels;
  const auto* policy = api::findIn(labels, model::kLabelCoreSchedPolicy);
  if (policy && *policy == "none") return std::nullopt;
  const auto* id = api::findIn(labels, model::kLabelCoreSchedGroup);
  std::string group = policy && *policy == "exclusive" ? pod.uid() : id ? *id : std::string();
  if (own.expeller) group += "-expeller";
  return group;
}

CoreSchedHook::CoreSchedHook(const Host& host, std::unique_ptr<CoreSched> kernel, Observer observer,
                             std::string marker)
    : host_(host),
      kernel_(std::move(kernel)),
      marker_(std::move(marker)),
      marked_(pathExists(marker_)),
      used_(marked_),
      observer_(std::move(observer)) {}

void CoreSchedHook::mark() {
  if (marked_ || marker_.empty()) return;
  const auto written = replaceFile(marker_, "the node assigns cookies\n");
  marked_ = written.has_value();
  if (!written) logProblem(written.error());
}

bool CoreSchedHook::inUse(const States& states) {
  if (rule_.enabled()) {
    passesSince_ = 0;
    used_ = true;
    mark();
  } else if (used_ && !states.pods().empty() && ++passesSince_ > kPassesToReset) {
    used_ = marked_ = false;
    if (!marker_.empty()) ::unlink(marker_.c_str());
  }
  return used_;
}

bool CoreSchedHook::reportAttempt(const std::string& group, const Result<>& attempt) {
  if (!attempt) logProblem(attempt.error());
  if (observer_.managed) observer_.managed(group, attempt.has_value());
  return attempt.has_value();
}

void CoreSchedHook::logProblem(const Error& error) {
  if (error.message != problem_) log::warn("core scheduling: {}", error.message);
  problem_ = error.message;
}

bool CoreSchedHook::switchOn() {
  const std::string sysctls = host_.dirs.procRoot + "sys/kernel/";
  if (auto done = set(sysctls + "sched_group_identity_enabled", "0"); !done) {
    logProblem(done.error());
    return false;
  }
  if (auto done = set(sysctls + "sched_core", "1"); !done) {
    logProblem(done.error());
    return false;
  }
  const auto works = kernel_->cookieOf(0);
  if (!works) logProblem(works.error());
  return works.has_value();
}

void CoreSchedHook::addIdle(HookUpdates& updates) const {
  for (const KubeQos qos : kKubeQosClasses)
    updates.qos.push_back({CgroupFile::CpuIdle, qosDir(host_.driver, qos),
                           rule_.of(qos).idle ? "1" : "0", "CoreSched"});
}

void CoreSchedHook::prepare(const States& states, HookUpdates& updates) {
  active_ = false;
  groups_.clear();
  if (observer_.begin) observer_.begin();
  if (!states.slo()) return;
  rule_ = coreSchedRule(states.slo()->qos);
  if (!inUse(states)) return;
  active_ = !rule_.enabled() || switchOn();
  if (!active_) return;
  addIdle(updates);
  // The members of each group by cookie; the most frequent cookie is the group's.
  std::map<std::string, std::map<std::uint64_t, std::vector<int>>> members;
  for (const auto& pod : states.pods()) {
    const auto group = pod.active() ? coreSchedGroup(pod, rule_) : std::nullopt;
    if (!group) continue;
    for (const int pid : processesOf(pod))
      if (const auto cookie = kernel_->cookieOf(pid); cookie && *cookie != 0)
        members[*group][*cookie].push_back(pid);
  }
  for (const auto& [group, cookies] : members) {
    const auto most = std::ranges::max_element(
        cookies, {}, [](const auto& entry) { return entry.second.size(); });
    groups_[group] = {most->second.front(), most->first};
  }
}

std::vector<int> CoreSchedHook::processesOf(const PodView& pod) const {
  std::vector<int> pids;
  for (const auto& name : listDirs(host_.layout.dir(Subsystem::Cpu, pod.dir))) {
    const auto path = cgroupFilePath(host_.layout, CgroupFile::Procs, joinPath(pod.dir, name));
    const auto text = path ? readSmallFile(*path) : fail(path.error());
    if (!text) continue;
    forEachLine(*text, [&](std::string_view line) {
      // Processes of other PID namespaces read as 0.
      if (const auto pid = parseInt(line); pid && *pid > 0 && *pid <= INT32_MAX)
        pids.push_back(static_cast<int>(*pid));
    });
  }
  return pids;
}

void CoreSchedHook::join(const std::string& group, const std::vector<int>& pids) {
  std::vector<int> lacking;
  Known& known = groups_[group];
  for (const int pid : pids) {
    const auto cookie = kernel_->cookieOf(pid);
    if (cookie && (*cookie == 0 || *cookie != known.cookie)) lacking.push_back(pid);
  }
  if (lacking.empty()) return;
  if (known.cookie == 0) {
    if (!reportAttempt(group, kernel_->create(lacking.front()))) return;
    const auto cookie = kernel_->cookieOf(lacking.front());
    if (!cookie) return;  // the process has ended; the next pass tries another
    known = {lacking.front(), *cookie};
    lacking.erase(lacking.begin());
  }
  if (!lacking.empty()) reportAttempt(group, kernel_->copyCookie(known.pid, lacking));
}

void CoreSchedHook::leave(const std::vector<int>& pids) {
  std::vector<int> members;
  for (const int pid : pids)
    if (const auto cookie = kernel_->cookieOf(pid); cookie && *cookie != 0) members.push_back(pid);
  if (members.empty()) return;
  if (!reportAttempt("", kernel_->copyCookie(0, members))) passesSince_ = 0;
}

void CoreSchedHook::wanted(const PodView& pod, HookUpdates&) {
  if (!active_ || pod.qos == model::Qos::System) return;
  const auto group = coreSchedGroup(pod, rule_);
  const auto pids = processesOf(pod);
  if (pids.empty()) return;
  if (!group) return leave(pids);
  join(*group, pids);
  if (const std::uint64_t cookie = groups_[*group].cookie; cookie != 0 && observer_.cookie)
    for (const auto& container : pod.containers)
      if (container.running && !container.dir.empty())
        observer_.cookie(pod, container, *group, cookie);
}

}  // namespace koord::koordlet
