#include "simulation/simulation.h"

#include <algorithm>
#include <array>

#include "apiserver/local_api.h"
#include "base/task.h"
#include "kube/client.h"
#include "scheduler/preemption/evictions.h"
#include "simulation/departures.h"
#include "simulation/feature.h"
#include "simulation/foretelling.h"
#include "simulation/life.h"
#include "simulation/process.h"
#include "simulation/shadow.h"

namespace koord::simulation {

using namespace std::chrono_literals;
using scheduler::QueuePlace;
using scheduler::testing::Reference;

namespace {

// The time without a change after which the run is quiet; members of incomplete gangs get a message
// within 20 s.
constexpr Duration kQuiet = 25s;

class Simulation {
 public:
  Simulation(std::uint64_t seed, bool verbose, const std::set<std::string>& features)
      : random_(seed),
        journal_(loop_, verbose),
        server_(openServer(loop_, seed)),
        front_(openFront(*server_)),
        api_(*server_, loop_),
        departures_(loop_, journal_, decisions_),
        foretelling_(loop_, journal_,
                     [this](const std::string& process, const std::string& uid) {
                       return happened(process, uid);
                     }),
        invariants_(api_, loop_, journal_, decisions_, features_),
        life_(api_, loop_, invariants_, journal_, features_, random_.fork()),
        features_(featuresOf(
            seed, {api_, loop_, journal_, invariants_, *front_, [this] { return leader(); }},
            features)),
        extra_(~seed),
        restarts_(seed ^ 0x5bd1e9955bd1e995U),
        oracles_(seed ^ 0x94d049bb133111ebU) {
    departures_.connect(invariants_);
    decisions_.departures = &departures_;
    decisions_.foretelling = &foretelling_;
    invariants_.pods.addHandler({[this](const PodObject& pod) { foretell(*pod); }, {}, {}});
    for (std::size_t i = 0; i < processes_.size(); ++i)
      processes_[i] =
          std::make_unique<Process>(std::string(1, static_cast<char>('A' + i)), loop_, *front_,
                                    journal_, decisions_, features_, random_.fork());
  }
  RunOutcome run() {
    invariants_.start();
    for (auto& feature : features_) feature->begin();
    life_.begin();
    loop_.advance(10ms);
    for (auto& feature : features_) feature->start();
    for (auto& process : processes_) process->start();
    const int steps = static_cast<int>(50 + random_.below(250));
    for (int step = 0; step < steps && !journal_.failed(); ++step) {
      if (random_.chance(0.7)) life_.act();
      if (random_.chance(0.05)) disturb();
      for (auto& feature : features_)
        if (extra_.chance(0.15)) feature->act();
      if (!features_.empty() && extra_.chance(0.02)) killLeaderSoon();
      if (Process* process = restarts_.chance(0.05) ? leader() : nullptr) checkShadow(*process);
      pass(Duration(random_.below(random_.chance(0.1) ? 10'000'000'000 : 1'500'000'000)));
    }
    if (!journal_.failed()) settle();
    for (auto& process : processes_) process->end();  // a replay checks each
    std::vector<std::string> plugins;
    for (const auto& feature : features_)
      std::ranges::move(feature->plugins(), std::back_inserter(plugins));
    return {journal_.violation(),    journal_.lastLines(),     journal_.fingerprint(),
            decisions_.attempts,     invariants_.boundCount(), decisions_.victims.size(),
            foretelling_.compared(), std::move(plugins)};
  }

 private:
  static std::unique_ptr<apiserver::Server> openServer(VirtualLoop& loop, std::uint64_t seed) {
    apiserver::ServerOptions options;
    options.inlineCommits = true;
    options.seed = seed;
    options.historyEvents = 64;  // a client that loses a watch for long must list again
    return *apiserver::Server::open(loop, std::move(options));
  }
  static std::unique_ptr<apiserver::HttpFront> openFront(apiserver::Server& server) {
    apiserver::HttpFrontOptions options;
    options.listen = "";
    options.anonymous = true;
    return *apiserver::HttpFront::start(server, std::move(options));
  }

  Process& any() { return *processes_[random_.below(processes_.size())]; }

  // Kills, stops or starts a process, or makes a network good or bad.
  void disturb() {
    Process& process = any();
    const double dice = random_.unit();
    if (!process.running()) {
      process.start();
    } else if (dice < 0.25) {
      process.kill();
    } else if (dice < 0.4) {
      process.stop();
    } else {
      auto& faults = process.network().faults;
      const auto sometimes = [&](double worst) {
        return random_.chance(0.5) ? random_.unit() * worst : 0;
      };
      faults = {};
      journal_.note("the network of {} is {}", process.name(), dice < 0.6 ? "good" : "bad");
      if (dice < 0.6) return;
      faults.maxDelay = random_.chance(0.3) ? 800ms : 50ms;
      faults.refuse = sometimes(0.2);
      faults.loseRequest = sometimes(0.2);
      faults.loseAnswer = sometimes(0.2);
      faults.swallow = sometimes(0.05);
      faults.overload = sometimes(0.3);
      faults.cut = sometimes(0.1);
    }
  }

  // At any point of its work.
  void killLeaderSoon() {
    loop_.runAfter(Duration(extra_.below(50'000'000)), [this] {
      if (Process* process = leader()) process->kill();
    });
  }

  // Lets time pass, and checks the invariants that hold at any moment.
  void pass(Duration time) {
    while (time > 0ns && !journal_.failed()) {
      const Duration part = std::min<Duration>(time, 1s);
      loop_.advance(part);
      time -= part;
      if (loop_.steadyNow() >= nextTick_) {
        life_.tick();
        for (auto& feature : features_) feature->tick();
        checkDepartures();
        nextTick_ = loop_.steadyNow() + 1s;
      }
      for (auto& process : processes_)
        if (process->running()) {
          checkQueue(*process);
          checkLedgers(*process);
        }
    }
  }

  static bool isGood(const net::NetworkFaults& faults) {
    return faults.refuse + faults.loseRequest + faults.loseAnswer + faults.swallow +
               faults.overload + faults.cut <=
           0;
  }

  // Checks the results of evictions.
  void checkDepartures() {
    Process* process = leader();
    departures_.tick(process && isGood(process->network().faults) ? process->name() : "");
    if (departures_.due()) departures_.judge(process->checker().model(), false);
  }

  // Asks the leader about a pod that it will receive soon. Not while another decision runs.
  void foretell(const api::Pod& pod) {
    if (!pod.spec.nodeName.empty() || !oracles_.chance(Foretelling::share)) return;
    loop_.post([this, asked = pod] {
      Process* process = leader();
      if (!process || journal_.failed() || !process->scheduler().running() ||
          !process->checker().ready() || process->scheduler().pending(api::keyOf(asked.metadata)))
        return;
      if (auto foretold = process->foretell(asked))
        foretelling_.told(process->name(), asked.metadata.uid, *std::move(foretold));
    });
  }

  // What has become of the pod in this process.
  std::optional<Happened> happened(const std::string& name, const std::string& uid) {
    for (const auto& process : processes_) {
      if (!process || !process->running() || process->name() != name || !process->checker().ready())
        continue;
      const scheduler::Scheduler& scheduler = process->scheduler();
      scheduler::Handle& handle = process->checker().handle();
      const auto* record = scheduler.cluster().findPod(uid);
      const bool waits = handle.waitingPods().find(uid) != nullptr;
      Happened happened;
      if (record && !waits) happened.node = scheduler.cluster().node(record->node).name;
      happened.nominated = handle.nominator().nodeOf(uid);
      happened.undecided =
          !record && scheduler.queue().placeOf(uid) == scheduler::QueuePlace::InFlight;
      return happened;
    }
    return std::nullopt;
  }

  // A newly started scheduler and the running one must have the same state.
  void checkShadow(Process& process) {
    if (!process.checker().ready()) return;
    const Shadow shadow(api_, loop_, journal_, features_, process);
    if (const auto wrong = shadow.difference(process, invariants_); !wrong.empty())
      journal_.violated("a restart changes nothing", "{}: {}", process.name(), wrong);
  }

  // Checks a random node.
  void checkLedgers(Process& process) {
    const scheduler::Cluster& cluster = process.scheduler().cluster();
    if (cluster.capacity() == 0) return;
    const auto node = static_cast<scheduler::NodeId>(extra_.below(cluster.capacity()));
    if (const std::string drift = cluster.verifyNode(node); !drift.empty())
      journal_.violated("ledgers", "{} at {}: {}", process.name(), cluster.node(node).name, drift);
    if (const std::string wrong = disagreement(process, node); !wrong.empty())
      journal_.violated("what pods say counts", "{} at {}: {}", process.name(),
                        cluster.node(node).name, wrong);
  }
  std::string disagreement(Process& process, scheduler::NodeId node) {
    if (!process.checker().ready()) return "";
    for (const auto& feature : features_)
      if (auto wrong = feature->check(process.checker().handle(), node); !wrong.empty())
        return wrong;
    return "";
  }

  // The store's pods, and the units that are scheduled like pods.
  std::vector<PodObject> units() const {
    std::vector<PodObject> all = invariants_.sortedPods();
    for (const auto& feature : features_)
      std::ranges::copy(feature->units(), std::back_inserter(all));
    return all;
  }

  // Every pod that the scheduler knows to be pending is in exactly one place.
  void checkQueue(Process& process) {
    const scheduler::Scheduler& scheduler = process.scheduler();
    for (const auto& pod : units()) {
      const auto known = scheduler.pending(api::keyOf(pod->metadata));
      if (!known || known->uid() != pod->metadata.uid || !pod->spec.nodeName.empty() ||
          known->pod->metadata.deletionTimestamp || scheduler.cluster().findPod(known->uid()))
        continue;
      if (scheduler.queue().placeOf(known->uid()) == QueuePlace::None)
        journal_.violated("no pod is lost", "{} does not know {} any more", process.name(),
                          api::keyOf(pod->metadata).toString());
    }
  }

  // True if a pod waits for victims whose eviction has not been answered yet.
  static bool evicts(Process& process) {
    return process.checker().ready() &&
           scheduler::evictionsOf(process.checker().handle()).findWaiting([](const auto&) {
             return true;
           });
  }

  Process* leader() {
    for (auto& process : processes_)
      if (process && process->running() && process->name() == decisions_.leader)
        return process.get();
    return nullptr;
  }

  void settle() {
    journal_.note("quiet");
    for (auto& process : processes_) {
      process->network().faults = {};
      process->keepRunning();
    }
    for (auto& feature : features_) feature->quiet();
    // Creates one more pod, so that the leader becomes known.
    const std::size_t attempts = decisions_.attempts;
    life_.createPod();
    // A binding or an eviction that is abandoned after half a minute sends its pod into back-off
    // once more.
    SteadyTime lastRequest{};
    const auto quiet = [&] {
      if (!leader() || leader()->scheduler().cluster().assumedTotal() > 0 || evicts(*leader()))
        lastRequest = loop_.steadyNow();
      return decisions_.attempts > attempts && leader() && !departures_.underWay() &&
             loop_.steadyNow() - std::max(invariants_.lastChange(), lastRequest) > kQuiet &&
             differences(*leader()).empty();
    };
    const auto settled = [&](Duration time) {
      const SteadyTime limit = loop_.steadyNow() + time;
      while (!quiet() && loop_.steadyNow() < limit && !journal_.failed()) pass(1s);
      return quiet();
    };
    // A watch with a silent connection times out after ten minutes.
    if (!settled(12min)) {
      bool calmer = false;
      for (auto& feature : features_) calmer |= feature->calm();
      if (calmer) settled(3min);
    }
    if (journal_.failed()) return;
    if (!leader()) return journal_.violated("a leader", "nobody schedules");
    if (const auto what = differences(*leader()); !what.empty())
      return journal_.violated("the store and the scheduler agree", "{}", what);
    if (!quiet()) return journal_.violated("peace", "pods are tried without end");
    checkNoPodFits(*leader());
  }

  // The difference between the scheduler's state and the store; "" if none.
  std::string differences(Process& process) {
    const scheduler::Scheduler& scheduler = process.scheduler();
    const scheduler::Cluster& cluster = scheduler.cluster();
    if (cluster.liveCount() != invariants_.nodes.size())
      return fmt::format("{} of {} nodes", cluster.liveCount(), invariants_.nodes.size());
    for (const auto& node : invariants_.nodes.objects()) {
      const auto id = cluster.findNode(node->metadata.name);
      if (!id || !cluster.node(*id).object ||
          cluster.node(*id).object->metadata.resourceVersion != node->metadata.resourceVersion)
        return "node " + node->metadata.name;
      if (const auto wrong = cluster.verifyNode(*id); !wrong.empty()) return wrong;
      if (const auto wrong = disagreement(process, *id); !wrong.empty()) return wrong;
    }
    if (cluster.assumedTotal() > 0) return fmt::format("{} pods assumed", cluster.assumedTotal());
    std::size_t assigned = 0, waiting = 0, gated = 0;
    for (const auto& pod : units()) {
      if (api::isTerminal(*pod)) continue;
      if (pod->spec.nodeName.empty()) {
        const auto place = scheduler.queue().placeOf(pod->metadata.uid);
        if (place == QueuePlace::None && !pod->metadata.deletionTimestamp)
          return "pod " + api::keyOf(pod->metadata).toString() + " is not queued";
        ++waiting;
        gated += place == QueuePlace::Gated;
        continue;
      }
      ++assigned;
      const auto* record = cluster.findPod(pod->metadata.uid);
      if (!record || cluster.node(record->node).name != pod->spec.nodeName)
        return "pod " + api::keyOf(pod->metadata).toString() + " is not counted";
    }
    if (cluster.podTotal() != assigned)
      return fmt::format("{} pods are counted, {} are there", cluster.podTotal(), assigned);
    const auto counts = scheduler.queue().counts();
    const std::size_t queued =
        counts.active + counts.backoff + counts.unschedulable + counts.gated + counts.inFlight;
    if (queued != waiting || counts.gated != gated)
      return fmt::format("{} pods are queued, {} wait", queued, waiting);
    if (features_.empty()) return "";
    const Model model = process.checker().model();
    for (const auto& feature : features_)
      if (auto what = feature->differences(process.checker().handle(), model); !what.empty())
        return what;
    return "";
  }

  // A pod must have its nominated node already, or the nomination must be gone: what it waited for
  // has happened. A pod that may not preempt keeps the nomination in its status, whichever
  // component wrote it. A pod whose claim is deleted keeps it outside of the queue, as in
  // kube-scheduler.
  void checkNominations(Process& process) {
    const auto& nominator = process.checker().handle().nominator();
    for (const auto& [node, pods] : nominator.byNode())
      for (const auto& pod : pods)
        if (!nominator.foreign(pod->uid()) && pod->pod->spec.preemptionPolicy != "Never" &&
            !lacksClaims(*pod->pod) && !preemptionFailed(process, *pod->pod))
          journal_.violated("no node stays nominated in vain", "{} is nominated for {}, and waits",
                            pod->key(), node);
  }

  // True if the last dry run of the pod, or of a member of its group, ended in an error. As in
  // kube-scheduler, that keeps the nominations: without the other members, the pod fits where no
  // pod has to leave.
  bool preemptionFailed(Process& process, const api::Pod& pod) const {
    const Model model = process.checker().model();
    return std::ranges::any_of(invariants_.pods.objects(), [&](const PodObject& other) {
      const auto* log = process.scheduler().decisions().of(api::keyOf(other->metadata).toString());
      const bool concerns = other->metadata.uid == pod.metadata.uid ||
                            (model.sameGroup && model.sameGroup(pod, *other));
      return concerns && log && !log->empty() &&
             log->back().message.find("expected at least one victim pod") != std::string::npos;
    });
  }

  static Task<void> listEvents(kube::Api* api, std::set<std::string>* about) {
    constexpr api::ResourceType kEvents{"", "v1", "events", "Event", true};
    auto listing = kube::listObjects(*api, kEvents, "", "", "");
    const Result<json::value> events = co_await listing;
    const json::value* items = events ? at(*events, "items") : nullptr;
    if (!items || !items->is_array()) co_return;
    for (const json::value& event : items->get_array())
      about->insert(std::string(textAt(event, "involvedObject", "uid")));
  }

  // Returns true for pods outside of the queue whose claims are missing: kube-scheduler says
  // nothing about them.
  bool lacksClaims(const api::Pod& pod) {
    return !pod.spec.resourceClaims.empty() && leader() &&
           leader()->scheduler().queue().placeOf(pod.metadata.uid) == QueuePlace::Gated;
  }

  // Pods that wait and have neither a condition nor an event that says why. Pods with scheduling
  // gates get their reason from the API server.
  std::vector<std::string> withoutReason() {
    std::set<std::string> about;
    TaskGroup listing;
    listing.spawn(listEvents(&api_, &about));
    loop_.advance(1s);
    std::vector<std::string> missing;
    if (about.empty()) missing.push_back("anything: there are no events");
    for (const auto& pod : invariants_.sortedPods()) {
      if (!pod->spec.nodeName.empty() || !pod->spec.schedulingGates.empty() ||
          pod->metadata.deletionTimestamp || api::isTerminal(*pod) || lacksClaims(*pod))
        continue;
      const bool told = std::ranges::any_of(pod->status.conditions, [](const auto& condition) {
        return condition.type == "PodScheduled" && condition.status == "False" &&
               !condition.message.empty();
      });
      if (!told && !about.contains(pod->metadata.uid))
        missing.push_back(api::keyOf(pod->metadata).toString());
    }
    return missing;
  }

  // A recorder writes one event after another, and its last request of the time before quiet may
  // have hung until its timeout. The events behind it come then.
  void checkReasons() {
    constexpr Duration kRequestTimeout = 30s, kPauseOfRecorder = 15s;
    if (withoutReason().empty()) return;
    loop_.advance(kRequestTimeout + kPauseOfRecorder);
    for (const std::string& pod : withoutReason())
      journal_.violated("who waits hears why", "no condition and no event of {} says it", pod);
  }

  // No pod is forgotten: events have woken every pod that they made schedulable.
  void checkNoPodFits(Process& process) {
    const Model model = process.checker().model();
    departures_.judge(model, true);
    checkNominations(process);
    checkShadow(process);
    for (const auto& feature : features_)
      if (const auto what = feature->waitsInVain(model); !what.empty())
        journal_.violated("who fits is tried", "{}", what);
    const auto together = [&](const api::Pod& pod) {
      return std::ranges::any_of(features_,
                                 [&](const auto& feature) { return feature->placesTogether(pod); });
    };
    for (const auto& pod : units()) {
      if (!pod->spec.nodeName.empty() || !pod->spec.schedulingGates.empty() ||
          pod->metadata.deletionTimestamp || together(*pod))
        continue;
      const Reference reference(model, *pod);
      for (const std::string& node : reference.outcome().feasible)
        if (!model.isUndecided(*pod, *model.nodes.at(node)))
          journal_.violated("who fits is tried", "{} waits in {} but fits on {}",
                            pod->metadata.name,
                            nameOf(process.scheduler().queue().placeOf(pod->metadata.uid)), node);
    }
    checkReasons();
  }

  Random random_;
  VirtualLoop loop_;
  Journal journal_;
  Decisions decisions_;
  std::unique_ptr<apiserver::Server> server_;
  // Watches that need a clean-up by the server must reach it while it lives.
  struct Drain {
    VirtualLoop& loop;
    ~Drain() { loop.runReady(); }
  } drain_{loop_};
  std::unique_ptr<apiserver::HttpFront> front_;
  apiserver::LocalApi api_;
  Departures departures_;
  Foretelling foretelling_;
  Invariants invariants_;
  Life life_;
  Features features_;
  Random extra_;  // not used by seeds without features
  Random restarts_;
  Random oracles_;
  std::array<std::unique_ptr<Process>, 2> processes_;
  SteadyTime nextTick_{};
};

}  // namespace

RunOutcome simulate(std::uint64_t seed, bool verbose, const std::set<std::string>& features) {
  return Simulation(seed, verbose, features).run();
}

}  // namespace koord::simulation
