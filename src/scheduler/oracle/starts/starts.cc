#include "scheduler/oracle/starts/starts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <thread>
#include <tuple>

#include "scheduler/oracle/budget.h"
#include "scheduler/oracle/starts/timeline.h"
#include "scheduler/services/explain.h"

namespace koord::scheduler::oracle {

namespace {

constexpr std::size_t kMaxCoursesAtOnce = 4;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kMaxRunsShown = 5;
constexpr std::size_t kMaxNodesShown = 5;
constexpr std::size_t kMaxUnknownShown = 3;
constexpr std::size_t kMaxQuotaLooks = 20'000;  // pods whose quotas are looked up
constexpr ForkLimits kCourseLimits{
    .time = std::chrono::seconds(60), .grace = std::chrono::seconds(5), .memory = 1ULL << 30};

const char* nameOf(StartTarget::Kind kind) {
  switch (kind) {
    case StartTarget::Kind::Gang:
      return "gang";
    case StartTarget::Kind::Quota:
      return "quota";
    default:
      return "pod";
  }
}

// The rank, from 1, of the lower bound among n courses; the upper bound has the same from above.
std::size_t rankOf(std::size_t n) {
  return std::max<std::size_t>(1, (n + 1) / 10);
}

double intervalOf(std::size_t n) {
  return 1 - 2.0 * static_cast<double>(rankOf(n)) / static_cast<double>(n + 1);
}

struct Bounds {
  double earliest = 0, likely = 0, latest = 0;
};

// Of the starts in all courses; not sorted.
Bounds boundsOf(std::vector<double> starts) {
  std::ranges::sort(starts);
  const std::size_t rank = rankOf(starts.size());
  return {starts[rank - 1], starts[(starts.size() - 1) / 2], starts[starts.size() - rank]};
}

json::value rounded(double seconds) {
  return std::round(seconds);
}

json::object jsonOf(const Bounds& bounds, bool latestOnly) {
  json::object out;
  if (!latestOnly) {
    out.emplace("earliest", std::floor(bounds.earliest));
    out.emplace("likely", rounded(bounds.likely));
  }
  out.emplace("latest", std::ceil(bounds.latest));
  return out;
}

}  // namespace

Starts::Starts(Course& course, SeamExecutor& executor, const StartsQuestion& question,
               const forecast::RunHistory* history)
    : course_(course),
      executor_(executor),
      question_(question),
      table_(course.scheduler(), history, question, executor.wallNow()),
      targets_(podsOf(course.scheduler(), question)) {
  std::map<std::string, std::size_t> known;  // by uid
  for (const TargetPods& target : targets_) {
    auto& positions = positions_.emplace_back();
    for (const PodPtr& pod : target.waiting) {
      const auto [found, added] = known.emplace(pod->uid(), asked_.size());
      if (added) asked_.push_back(pod);
      positions.push_back(found->second);
    }
  }
}

void Starts::run() {
  if (asked_.empty()) return;
  const std::size_t atOnce =
      boundedChildren(kMaxCoursesAtOnce, std::thread::hardware_concurrency(), kCgroupRoot);
  std::deque<Result<ForkedAnswer>> running;
  for (int number = 0; number < kCourses || !running.empty();) {
    if (number < kCourses && running.size() < std::max<std::size_t>(atOnce, 1)) {
      if (isLate && isLate()) late_ = true;
      if (late_) return;
      const auto child = [&](const ChildSide&) { ChildSide::finish(playCourse(number)); };
      running.push_back(
          ForkedAnswer::start(kCourseLimits, {child, [] { ChildSide::finish("null"); }}));
      ++number;
      continue;
    }
    if (!take(std::move(running.front()))) return;
    running.pop_front();
  }
}

bool Starts::take(Result<ForkedAnswer> forked) {
  const std::atomic<bool> cancelled = false;
  const auto text =
      forked ? forked->wait(cancelled) : Result<std::string>(fail(Error(forked.error())));
  if (!text) {
    problem_ = text.error().message;
    return false;
  }
  const auto document = parseJson(*text);
  auto outcome = document ? readOutcome(*document) : std::nullopt;
  late_ = !outcome;
  if (outcome) outcomes_.push_back(*std::move(outcome));
  return !late_;
}

bool Starts::isComplete() const {
  return asked_.empty() || outcomes_.size() == static_cast<std::size_t>(kCourses);
}

// In the copy. "null": the time is over.
std::string Starts::playCourse(int number) const {
  course_.checkpoint = [this] {
    if (isLate && isLate()) ChildSide::finish("null");
  };
  std::set<std::string> uids;
  for (const PodPtr& pod : asked_) uids.insert(pod->uid());
  Timeline timeline(course_, executor_, question_, table_, number, std::move(uids));
  timeline.play();
  json::array starts;
  for (const PodPtr& pod : asked_) {
    const auto found = timeline.started().find(pod->uid());
    if (found == timeline.started().end()) {
      json::object open{{"message", timeline.messageOf(pod->uid())}};
      const auto* decisions = course_.scheduler().decisions().of(pod->key());
      if (textAt(json::value(open), "message").empty() && decisions && !decisions->empty())
        open["message"] = decisions->back().message;
      if (textAt(json::value(open), "message").empty()) {
        const PodPtr now = course_.scheduler().pending(api::keyOf(pod->pod->metadata));
        open["message"] = waitReason(course_.scheduler(), now ? *now : *pod);
      }
      if (isExample(starts.size())) open.emplace("unknown", endlessBefore(timeline, *pod->pod));
      starts.push_back(std::move(open));
      continue;
    }
    json::array ended;
    for (const int index : found->second.ended) ended.push_back(index);
    starts.push_back(json::object{{"at", found->second.at},
                                  {"node", found->second.node},
                                  {"byDeadline", found->second.byDeadline},
                                  {"ended", std::move(ended)}});
  }
  return toJson(starts);
}

// True for the first pod of a target, unless an earlier course says already why it does not start.
bool Starts::isExample(std::size_t position) const {
  return std::ranges::any_of(positions_,
                             [&](const auto& positions) {
                               return !positions.empty() && positions.front() == position;
                             }) &&
         std::ranges::all_of(outcomes_, [&](const Outcome& outcome) {
           return outcome.starts[position].has_value();
         });
}

// The pods without a known end that keep the pod waiting: those on the node that comes nearest to
// it, or those in the quota that is full. None if it waits for something else.
json::object Starts::endlessBefore(const Timeline& timeline, const api::Pod& pod) const {
  Scheduler& scheduler = course_.scheduler();
  const auto pending = scheduler.pending(api::keyOf(pod.metadata));
  const auto explained =
      pending ? explainPodObject(scheduler, pending->pod) : fail(ErrorCode::NotFound, "");
  const std::string node(explained ? textAt(*explained, "nearestMiss", "node")
                                   : std::string_view());
  std::string quota;
  if (pending && node.empty())
    quota = textAt(memberOf(pluginFacts(scheduler, *pending), "ElasticQuota"), "fullAt");
  std::size_t looks = quota.empty() ? 0 : kMaxQuotaLooks;
  const auto isBefore = [&](const RunningPod& running) {
    if (!node.empty()) return running.node == node;
    if (looks == 0) return false;
    --looks;
    const auto* record = scheduler.cluster().findPod(running.uid);
    return record && isInQuota(scheduler, *record->info, quota);
  };
  json::array shown;
  std::uint64_t count = 0;
  for (const RunningPod& running : table_.running()) {
    if (!timeline.isEndless(running.uid) || !isBefore(running)) continue;
    ++count;
    if (shown.size() < kMaxUnknownShown)
      shown.push_back(json::object{{"namespace", running.key.namespace_},
                                   {"name", running.key.name},
                                   {"node", running.node}});
  }
  return {{"pods", std::move(shown)}, {"count", count}};
}

std::optional<Starts::Outcome> Starts::readOutcome(const json::value& text) const {
  if (!text.is_array() || text.get_array().size() != asked_.size()) return std::nullopt;
  Outcome outcome;
  for (const json::value& entry : text.get_array()) {
    outcome.messages.emplace_back(textAt(entry, "message"));
    outcome.unknown.push_back(memberOf(entry, "unknown"));
    auto& start = outcome.starts.emplace_back();
    const auto at = realNumber(memberOf(entry, "at"));
    if (!at) continue;
    start.emplace();
    start->at = *at;
    start->node = textAt(entry, "node");
    start->byDeadline = memberOf(entry, "byDeadline") == json::value(true);
    const json::value& ended = memberOf(entry, "ended");
    if (!ended.is_array()) continue;
    for (const json::value& index : ended.get_array())
      if (const auto number = wholeNumber(index);
          number && *number >= 0 && std::cmp_less(*number, table_.running().size()))
        start->ended.push_back(static_cast<int>(*number));
  }
  return outcome;
}

// Of the pods that end on the nodes before, by workload; those with most pods first.
json::array Starts::describeRuns(const std::vector<const Started*>& starts) const {
  struct Ended {
    std::set<int> pods;
    std::set<std::string> nodes;
  };
  std::map<int, Ended> byWorkload;
  for (const Started* start : starts)
    for (const int index : start->ended) {
      const RunningPod& pod = table_.running()[static_cast<std::size_t>(index)];
      if (pod.workload < 0) continue;
      Ended& ended = byWorkload[pod.workload];
      ended.pods.insert(index);
      ended.nodes.insert(pod.node);
    }
  std::vector<std::pair<int, const Ended*>> inOrder;
  for (const auto& [workload, ended] : byWorkload) inOrder.emplace_back(workload, &ended);
  std::ranges::stable_sort(inOrder, std::greater(),
                           [](const auto& entry) { return entry.second->pods.size(); });
  json::array out;
  for (const auto& [index, ended] : inOrder) {
    if (out.size() >= kMaxRunsShown) break;
    const KnownWorkload& known = table_.workloads()[static_cast<std::size_t>(index)];
    json::array nodes;
    for (const std::string& node : ended->nodes)
      if (nodes.size() < kMaxNodesShown) nodes.push_back(json::string(node));
    out.push_back(json::object{{"namespace", known.workload.namespace_},
                               {"kind", known.workload.kind},
                               {"name", known.workload.name},
                               {"pods", ended->pods.size()},
                               {"nodes", std::move(nodes)},
                               {"nodeCount", ended->nodes.size()},
                               {"runs", known.model.runs()},
                               {"shortest", rounded(known.model.shortest())},
                               {"median", rounded(known.model.median())},
                               {"longest", rounded(known.model.longest())}});
  }
  return out;
}

// Of a target without pods that wait.
std::pair<const char*, const char*> Starts::settledState(std::size_t target) const {
  const TargetPods& pods = targets_[target];
  if (pods.leftOut > 0) return {"none", "too many pods are asked about"};
  if (pods.placed > 0) return {"running", ""};
  if (question_.targets[target].kind == StartTarget::Kind::Quota)
    return {"running", "no pod waits in the quota"};
  return {"notFound", "there is no such pod"};
}

const char* Starts::whyTooFew() const {
  if (late_) return "the time limit was reached before enough courses were played";
  return problem_.empty() ? "the estimate was not finished" : problem_.c_str();
}

json::object Starts::describeTarget(std::size_t target) const {
  const StartTarget& named = question_.targets[target];
  const TargetPods& pods = targets_[target];
  json::object out{{"kind", nameOf(named.kind)}};
  if (!named.namespace_.empty()) out.emplace("namespace", named.namespace_);
  out.emplace("name", named.name);
  out.emplace("pods", pods.waiting.size() + pods.leftOut);
  if (pods.placed > 0) {
    out.emplace("placed", pods.placed);
    out.emplace("node", pods.node);
  }
  const bool few = outcomes_.size() < kFewestCourses;
  if (!pods.waiting.empty() && !few) {
    addEstimate(out, target);
    return out;
  }
  const auto [state, message] =
      pods.waiting.empty() ? settledState(target) : std::pair("none", whyTooFew());
  out.emplace("state", state);
  if (*message != '\0') out.emplace("message", message);
  return out;
}

void Starts::addEstimate(json::object& out, std::size_t target) const {
  std::vector<double> first, last;
  std::vector<std::pair<double, const Outcome*>> byFirst;
  bool latestOnly = false;
  for (const Outcome& outcome : outcomes_) {
    double next = kNever, all = 0;
    for (const std::size_t position : positions_[target]) {
      const auto& start = outcome.starts[position];
      next = std::min(next, start ? start->at : kNever);
      all = std::max(all, start ? start->at : kNever);
      latestOnly = latestOnly || (start && start->byDeadline);
    }
    first.push_back(next);
    last.push_back(all);
    byFirst.emplace_back(next, &outcome);
  }
  const Bounds next = boundsOf(first);
  if (std::isinf(next.latest)) return addRefusal(out, positions_[target].front());
  const bool isPod = question_.targets[target].kind == StartTarget::Kind::Pod;
  out.emplace("state", latestOnly ? "latestOnly" : "estimated");
  out.emplace("next", jsonOf(next, latestOnly));
  if (!isPod && targets_[target].leftOut == 0)
    if (const Bounds all = boundsOf(last); !std::isinf(all.latest))
      out.emplace("all", jsonOf(all, latestOnly));
  // The course in the middle is the example.
  std::ranges::stable_sort(byFirst, {}, [](const auto& entry) { return entry.first; });
  const Outcome& middle = *byFirst[(byFirst.size() - 1) / 2].second;
  std::vector<const Started*> shown;
  for (const std::size_t position : positions_[target]) {
    const auto& start = middle.starts[position];
    if (!start || start->at > next.likely) continue;
    shown.push_back(&*start);
    if (isPod) out.insert_or_assign("node", start->node);
  }
  out.emplace("runs", describeRuns(shown));
}

// Of a pod that does not start in enough courses.
void Starts::addRefusal(json::object& out, std::size_t position) const {
  const auto open = std::ranges::find_if(
      outcomes_, [&](const Outcome& outcome) { return !outcome.starts[position]; });
  out.emplace("state", "none");
  if (open == outcomes_.end()) return;
  if (!open->messages[position].empty()) out.emplace("lastMessage", open->messages[position]);
  out.emplace("unknown", memberOf(open->unknown[position], "pods"));
  out.emplace("unknownPods", memberOf(open->unknown[position], "count"));
}

json::object Starts::describe() const {
  json::array estimates;
  for (std::size_t i = 0; i < question_.targets.size(); ++i) estimates.push_back(describeTarget(i));
  json::object out{{"courses", outcomes_.size()}};
  if (outcomes_.size() >= kFewestCourses) out.emplace("interval", intervalOf(outcomes_.size()));
  out.emplace("estimates", std::move(estimates));
  return out;
}

}  // namespace koord::scheduler::oracle
