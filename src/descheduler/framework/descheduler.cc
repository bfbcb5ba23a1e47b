#include "descheduler/framework/descheduler.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "descheduler/framework/drained_nodes.h"

namespace koord::descheduler {

Descheduler::Descheduler(kube::Api& api, Executor& executor, Random random, Options options,
                         const Registry& registry, Metrics& metrics)
    : options_(std::move(options)),
      metrics_(metrics),
      executor_(executor),
      stores_(api, executor, random.fork(), model::PodTransforms::of(options_.gate)),
      limiter_({options_.prepared.configuration.maxPerNode,
                options_.prepared.configuration.maxPerNamespace,
                options_.prepared.configuration.maxTotal}),
      shared_{.api = api,
              .executor = executor,
              .random = random.fork(),
              .stores = stores_,
              .metrics = metrics,
              .limiter = limiter_,
              .journal = journal_,
              .http = options_.http,
              .gate = options_.gate,
              .prepared = options_.prepared,
              .plugins = {}} {
  tasks_.emplace();
  for (const PreparedProfile& profile : options_.prepared.profiles) {
    profiles_.push_back(std::make_unique<Profile>(shared_, profile, registry));
    for (const auto& plugin : profiles_.back()->plugins()) plugins_.push_back(plugin);
  }
}

Descheduler::~Descheduler() {
  tasks_.reset();  // running tasks use the plugins
}

void Descheduler::start() {
  stores_.start();
  stores_.onSynced([this] {
    if (auto started = startPlugins(); !started) {
      options_.onFatal(started.error());
      return;
    }
    running_ = true;
    log::info("descheduling {} nodes; profiles: {}", stores_.nodes().size(), profiles_.size());
    tasks_->spawn(run());
  });
}

Result<> Descheduler::startPlugins() {
  for (const auto& plugin : plugins_) {
    auto started = plugin->start();
    if (!started)
      return fail(std::move(started.error())
                      .within(fmt::format("initializing plugin \"{}\"", plugin->name())));
  }
  return {};
}

Task<void> Descheduler::run() {
  const Duration interval = options_.prepared.configuration.interval;
  for (;;) {
    const SteadyTime begun = executor_.steadyNow();
    auto task = cycle();
    const auto done = co_await task;
    metrics_.cycleEnded(executor_.steadyNow() - begun, done.has_value());
    // An error is logged once, not in every cycle.
    const std::string problem = done ? "" : done.error().message;
    if (problem != problem_ && !done) {
      // A cluster that is too small is not an error.
      if (done.error().code == ErrorCode::Invalid)
        log::info("this cycle evicts no pods: {}", problem);
      else
        log::error("Error descheduling pods: {}", problem);
    }
    problem_ = problem;
    if (interval == Duration::zero()) co_return;
    auto pause = sleepUntil(executor_, begun + interval);
    co_await pause;
  }
}

// After a process that dies in a cycle or loses the lease, the next one must not have the whole
// limits again.
void Descheduler::countEarlierEvictions() {
  const WallTime since = executor_.wallNow() - options_.prepared.configuration.interval;
  for (const auto& plugin : plugins_)
    if (const auto* evictor = dynamic_cast<const EvictPlugin*>(plugin.get()))
      for (const auto& earlier : evictor->evictedSince(since))
        limiter_.count(earlier.node, earlier.namespace_);
}

Task<Result<>> Descheduler::cycle() {
  ++shared_.cycle;
  auto drained = drainedNodes(stores_);
  shared_.drainsToKeep.clear();
  auto running = runProfiles();
  Result<> done = co_await running;
  std::erase_if(drained,
                [&](const auto& node) { return shared_.drainsToKeep.contains(node.first); });
  if (drained.empty() || options_.prepared.configuration.dryRun) co_return done;
  auto releasing = releaseDrained(shared_.api, stores_, std::move(drained));
  co_await releasing;
  co_return done;
}

Task<Result<>> Descheduler::runProfiles() {
  std::size_t nodes = 0;
  for (const NodePtr& node : stores_.nodes().objects())
    nodes += isReady(*node) && options_.prepared.nodes.matches(node->metadata.labels);
  // The selector matches no node yet: nothing to do.
  if (nodes == 0 && !options_.prepared.nodes.empty()) co_return Result<>{};
  if (nodes <= 1) {
    co_return fail(
        ErrorCode::Invalid,
        "the cluster size is 0 or 1 meaning eviction causes service disruption or degradation");
  }
  limiter_.reset();
  if (!std::exchange(resumed_, true)) countEarlierEvictions();
  shared_.evicted.clear();
  std::erase_if(shared_.helped,
                [&](const auto& entry) { return entry.second <= executor_.steadyNow(); });
  std::vector<std::string> failures;
  for (const bool balancing : {false, true}) {
    for (const auto& profile : profiles_) {
      auto task = balancing ? profile->balance() : profile->deschedule();
      const auto done = co_await task;
      if (!done)
        failures.push_back(fmt::format("profile {}: {}", profile->profile(), done.error().message));
    }
  }
  if (failures.empty()) co_return Result<>{};
  co_return fail(ErrorCode::Internal, fmt::format("{}", fmt::join(failures, "; ")));
}

void Descheduler::stop(Callback done) {
  tasks_.emplace();  // ends the loop
  running_ = false;
  stopNext(0, std::move(done));
}

void Descheduler::stopNext(std::size_t index, Callback done) {
  if (index == plugins_.size()) return done();
  plugins_[index]->stop(
      [this, index, done = std::make_shared<Callback>(std::move(done))]() mutable {
        stopNext(index + 1, std::move(*done));
      });
}

}  // namespace koord::descheduler
