#pragma once

// Backtest: how often the estimates of starts come true. For the test and for bench_starts.
//
// A world on virtual time has nodes, quotas, and workloads whose run times come from distributions
// that the estimator does not know. At random moments pods, gangs and quotas that wait are asked
// about; later their true starts are compared. Only the scheduler under test learns, from the ends
// that its informer would report.
//
// Waves: many Jobs come at once, all questions are asked after that, and the next wave comes when
// all have run. So no pod is created after a question, as the estimate supposes. Otherwise Jobs
// come all the time, which the estimate does not know.

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/elasticquota.h"
#include "base/random.h"
#include "model/well_known.h"
#include "scheduler/oracle/oracle_fixture.h"
#include "scheduler/plugins/elasticquota/quotas.h"

namespace koord::scheduler::oracle::testing {

struct BacktestOptions {
  std::uint64_t seed = 1;
  int nodes = 6;      // of 8 CPUs
  int waves = 6;      // the first ones teach
  int jobs = 30;      // of a wave
  int questions = 4;  // of a wave, each about several pods, gangs and quotas
  bool continuous = false;
};

struct BacktestKind {
  int asked = 0;
  int claimed = 0;  // earliest, likely and latest
  int latestOnly = 0;
  int within = 0;              // of the claimed
  int early = 0;               // of the others, those that started before the earliest time
  std::vector<double> errors;  // of the likely time, relative to the true one
  void add(const BacktestKind& other) {
    asked += other.asked;
    claimed += other.claimed;
    latestOnly += other.latestOnly;
    within += other.within;
    early += other.early;
    errors.insert(errors.end(), other.errors.begin(), other.errors.end());
  }
  double medianError() const {
    if (errors.empty()) return 0;
    std::vector<double> sorted = errors;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

class Backtest {
 public:
  explicit Backtest(BacktestOptions options) : options_(options), random_(options.seed) {
    for (int n = 0; n < options_.nodes; ++n)
      asked_.node(aNode(fmt::format("n{}", n)).allocatable("cpu", "8"));
    for (int team = 0; team < kTeams; ++team) addQuota(team);
    asked_.run();
    for (int w = 0; w < kWorkloads; ++w) {
      workloads_.push_back({.name = fmt::format("work{}", static_cast<char>('a' + w)),
                            .shape = w % 5,
                            .scale = 300.0 + 1500.0 * random_.unit(),
                            .cpu = 1 + static_cast<int>(random_.below(3)),
                            .members = w % 3 == 2 ? 3 : 1,
                            .team = w % 2 == 0 ? static_cast<int>(random_.below(kTeams)) : -1});
    }
    asked_.beforeBind = [this](const std::string& pod) -> Result<std::string> {
      boundAt_.emplace(pod, asked_.loop.wallNow());
      return "{}";
    };
  }

  void run() {
    for (int wave = 0; wave < options_.waves; ++wave) {
      for (int i = 0; i < options_.jobs; ++i) addJob();
      const Duration pause = std::chrono::seconds(options_.continuous ? 120 : 60);
      pass(pause);
      for (int i = 0; i < options_.questions; ++i) {
        ask();
        pass(std::chrono::seconds(60 + random_.below(900)));
        for (int more = 0; options_.continuous && more < 3; ++more) addJob();
      }
      if (!options_.continuous || wave + 1 == options_.waves) drain();
    }
    for (const Open& open : open_) compare(open);
  }

  // By "pod", "gang", "quota" (its next pod) and "quota, last pod".
  const std::map<std::string, BacktestKind>& kinds() const { return kinds_; }

 private:
  static constexpr int kTeams = 2;
  static constexpr std::size_t kAskedPods = 8;  // of a question
  static constexpr std::size_t kAskedGangs = 4;
  static constexpr int kWorkloads = 9;
  struct Work {
    std::string name;
    int shape = 0;
    double scale = 0;  // seconds
    int cpu = 1;
    int members = 1;
    int team = -1;
  };
  struct Open {
    std::string kind;
    WallTime at{};
    std::vector<std::string> pods;
    bool last = false;  // the start of the last pod counts
    json::value bounds;
    std::string state;
  };

  void addQuota(int team) {
    auto quota = std::make_shared<api::ElasticQuota>();
    quota->metadata.namespace_ = "default";
    quota->metadata.name = fmt::format("team{}", team);
    quota->metadata.uid = quota->metadata.name;
    quota->spec.max["cpu"] = *Quantity::parse("10");
    quota->spec.max["memory"] = *Quantity::parse("100Gi");
    quota->spec.min["cpu"] = *Quantity::parse("4");
    quota->spec.min["memory"] = *Quantity::parse("10Gi");
    asked_.scheduler->stores().of<api::ElasticQuota>().set(quota);
  }

  double normal() {
    const double u = 1 - random_.unit();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * M_PI * random_.unit());
  }
  // The true run time of a Job.
  double draw(const Work& work) {
    switch (work.shape) {
      case 0:
        return work.scale * (0.9 + 0.2 * random_.unit());
      case 1:
        return work.scale * std::exp(0.5 * normal());
      case 2:
        return work.scale * (0.5 + random_.unit());
      case 3:
        return work.scale *
               (random_.chance(0.3) ? 2 + 0.2 * random_.unit() : 0.4 + 0.2 * random_.unit());
      default:
        return 20 - work.scale * std::log(1 - random_.unit());
    }
  }

  void addJob() {
    const Work& work = workloads_[random_.below(workloads_.size())];
    const std::string job = fmt::format("{}-{}", work.name, ++jobs_);
    const double time = draw(work);
    for (int i = 0; i < work.members; ++i) {
      auto pod = aPod(fmt::format("{}-m{}", job, i)).request("cpu", std::to_string(work.cpu));
      pod.object().metadata.uid = pod.object().metadata.name;
      pod.object().spec.restartPolicy = "Never";
      api::OwnerReference owner;
      owner.kind = "Job";
      owner.name = job;
      owner.uid = job;
      owner.controller = true;
      pod.object().metadata.ownerReferences.push_back(std::move(owner));
      if (work.team >= 0)
        pod.label(std::string(model::kLabelQuotaName), fmt::format("team{}", work.team));
      if (work.members > 1) {
        pod.object().metadata.annotations[std::string(model::kAnnotationGangName)] = job;
        pod.object().metadata.annotations["gang.scheduling.koordinator.sh/min-available"] =
            std::to_string(work.members);
        gangs_[job].push_back(pod.object().metadata.name);
      }
      if (work.team >= 0) teams_[work.team].push_back(pod.object().metadata.name);
      times_[pod.object().metadata.name] = time;
      waiting_.insert(pod.object().metadata.name);
      asked_.create(pod);
    }
  }

  // Pods that got a node begin, and end after their time.
  void pass(Duration time) {
    const SteadyTime end = asked_.loop.steadyNow() + time;
    while (asked_.loop.steadyNow() < end) {
      asked_.run(std::min<Duration>(std::chrono::seconds(5), end - asked_.loop.steadyNow()));
      for (auto it = waiting_.begin(); it != waiting_.end();) {
        const auto bound = boundAt_.find(*it);
        const auto pod = asked_.pods.find(*it);
        if (bound == boundAt_.end() || pod == asked_.pods.end() ||
            pod->second->spec.nodeName.empty()) {
          ++it;
          continue;
        }
        auto begun = std::make_shared<api::Pod>(*pod->second);
        begun->metadata.resourceVersion += "1";
        begun->status.startTime = bound->second;
        asked_.replace(begun);
        const auto left = bound->second + seconds(times_[*it]) - asked_.loop.wallNow();
        asked_.loop.runAfter(std::max(Duration::zero(), left),
                             [this, name = *it] { asked_.remove(name); });
        it = waiting_.erase(it);
        ++running_;
      }
    }
  }
  static Duration seconds(double number) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(number));
  }
  void drain() {
    for (int i = 0; i < 2'000 && !asked_.pods.empty(); ++i) pass(std::chrono::seconds(60));
  }

  std::vector<std::string> stillWaiting(const std::vector<std::string>& pods) const {
    std::vector<std::string> open;
    for (const std::string& pod : pods)
      if (!boundAt_.contains(pod)) open.push_back(pod);
    return open;
  }

  // Some of the names, without repetition.
  std::vector<std::string> someOf(std::vector<std::string> names, std::size_t count) {
    std::vector<std::string> some;
    for (; !names.empty() && some.size() < count; --count) {
      const auto position = static_cast<std::ptrdiff_t>(random_.below(names.size()));
      some.push_back(names[static_cast<std::size_t>(position)]);
      names.erase(names.begin() + position);
    }
    return some;
  }

  void ask() {
    std::vector<Open> questions;
    std::string pods, gangs, quotas;
    const auto add = [&](std::string& list, const std::string& name, Open question) {
      list += (list.empty() ? "" : ", ") + name;
      questions.push_back(std::move(question));
    };
    for (const std::string& pod :
         someOf(stillWaiting({waiting_.begin(), waiting_.end()}), kAskedPods))
      add(pods, "default/" + pod, {.kind = "pod", .pods = {pod}});
    std::vector<std::string> names;
    for (const auto& [gang, members] : gangs_)
      if (stillWaiting(members).size() == members.size()) names.push_back(gang);
    for (const std::string& gang : someOf(names, kAskedGangs))
      add(gangs, "default/" + gang, {.kind = "gang", .pods = gangs_[gang]});
    for (const auto& [team, members] : teams_)
      if (const auto waits = stillWaiting(members); !waits.empty())
        add(quotas, fmt::format("team{}", team), {.kind = "quota", .pods = waits});
    if (questions.empty()) return;
    const auto answer = asked_.ask(
        fmt::format("when: {{pods: [{}], gangs: [{}], quotas: [{}]}}", pods, gangs, quotas));
    ASSERT_TRUE(answer) << answer.error().message;
    const json::array& estimates = memberOf(memberOf(*answer, "when"), "estimates").get_array();
    ASSERT_EQ(estimates.size(), questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
      Open& question = questions[i];
      question.at = asked_.loop.wallNow();
      question.state = textAt(estimates[i], "state");
      question.bounds = memberOf(estimates[i], "next");
      open_.push_back(question);
      if (question.kind != "quota") continue;
      question.kind = "quota, last pod";
      question.last = true;
      question.bounds = memberOf(estimates[i], "all");
      open_.push_back(question);
    }
  }

  void compare(const Open& open) {
    std::optional<WallTime> start;
    for (const std::string& pod : open.pods) {
      const auto bound = boundAt_.find(pod);
      if (bound == boundAt_.end()) continue;
      if (!start || (open.last ? bound->second > *start : bound->second < *start))
        start = bound->second;
    }
    if (!start) return;
    BacktestKind& kind = kinds_[open.kind];
    ++kind.asked;
    if (open.state == "latestOnly") ++kind.latestOnly;
    const auto earliest = realNumber(memberOf(open.bounds, "earliest"));
    const auto likely = realNumber(memberOf(open.bounds, "likely"));
    const auto latest = realNumber(memberOf(open.bounds, "latest"));
    if (!earliest || !likely || !latest) return;
    ++kind.claimed;
    const double truth = std::chrono::duration<double>(*start - open.at).count();
    if (truth < *earliest) {
      ++kind.early;
    } else if (truth <= *latest) {
      ++kind.within;
    }
    kind.errors.push_back(std::abs(*likely - truth) / std::max(truth, 60.0));
  }

  const BacktestOptions options_;
  Random random_;
  Asked asked_;
  std::vector<Work> workloads_;
  int jobs_ = 0;
  int running_ = 0;
  std::map<std::string, double> times_;
  std::map<std::string, WallTime> boundAt_;
  std::set<std::string> waiting_;
  std::map<std::string, std::vector<std::string>> gangs_;
  std::map<int, std::vector<std::string>> teams_;
  std::vector<Open> open_;
  std::map<std::string, BacktestKind> kinds_;
};

}  // namespace koord::scheduler::oracle::testing
