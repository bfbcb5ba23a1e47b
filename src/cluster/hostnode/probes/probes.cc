#include "cluster/hostnode/probes/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/caught.h"

namespace koord::cluster {

using namespace std::chrono_literals;

namespace {

constexpr int kTries = 3;  // of a probe that fails itself

const std::optional<spec::Probe>& probeOf(const spec::Container& container, ProbeKind kind) {
  switch (kind) {
    case ProbeKind::Startup:
      return container.startupProbe;
    case ProbeKind::Liveness:
      return container.livenessProbe;
    case ProbeKind::Readiness:
      break;
  }
  return container.readinessProbe;
}

// The last reported health of a container that ran before this program started.
ContainerHealth healthBefore(const HostPod& pod, const Probes::Container& container,
                             ContainerHealth otherwise) {
  for (const auto* list : {&pod.status.containerStatuses, &pod.status.initContainerStatuses})
    for (const auto& status : *list)
      if (status.name == container.name && status.containerID.ends_with("/" + container.id))
        return {status.started.value_or(otherwise.started), status.ready};
  return otherwise;
}

}  // namespace

// One probe of one container. Its loop ends when this is destroyed.
struct Probes::Worker {
  Watched* watched = nullptr;
  ProbeKind kind = ProbeKind::Liveness;
  spec::Probe probe;
  ProbeCount count;
  TaskGroup loop;
};

struct Probes::Watched {
  std::string uid;
  HostPodPtr pod;
  Container container;
  ProbeTarget target;
  ContainerHealth health;
  bool beingKilled = false;  // it is being killed for its health
  std::map<ProbeKind, std::unique_ptr<Worker>> workers;
};

Probes::Probes(Executor& executor, Prober& prober, Random random, Listener listener)
    : executor_(executor),
      prober_(prober),
      random_(random),
      listener_(std::move(listener)),
      began_(executor.wallNow()) {}

Probes::~Probes() {
  *alive_ = false;
}

void Probes::set(HostPodPtr pod, const std::string& host, const std::vector<Container>& running) {
  const std::string& uid = pod->metadata.uid;
  std::erase_if(watched_, [&](const auto& entry) {
    return entry.second->uid == uid &&
           std::ranges::find(running, entry.first, &Container::id) == running.end();
  });
  for (const auto& container : running) {
    auto& slot = watched_[container.id];
    if (!slot) {
      const auto& spec = pod->container(container.name);
      slot = std::make_unique<Watched>();
      slot->uid = uid;
      slot->container = container;
      slot->target = {container.id, host, container.ports};
      slot->health = {!spec.startupProbe, !spec.startupProbe && !spec.readinessProbe};
      if (container.startedAt < began_) slot->health = healthBefore(*pod, container, slot->health);
    }
    slot->pod = pod;
    if (slot->beingKilled) continue;
    if (!slot->health.started) {
      start(*slot, ProbeKind::Startup);
      continue;
    }
    slot->workers.erase(ProbeKind::Startup);
    start(*slot, ProbeKind::Readiness);
    start(*slot, ProbeKind::Liveness);
  }
}

void Probes::stopKilling(const std::string& uid) {
  for (auto& [id, watched] : watched_) {
    if (watched->uid != uid) continue;
    watched->beingKilled = true;
    watched->workers.erase(ProbeKind::Startup);
    watched->workers.erase(ProbeKind::Liveness);
  }
}

void Probes::forget(const std::string& uid) {
  std::erase_if(watched_, [&](const auto& entry) { return entry.second->uid == uid; });
}

ContainerHealth Probes::healthOf(const std::string& containerId) const {
  const auto found = watched_.find(containerId);
  return found == watched_.end() ? ContainerHealth{} : found->second->health;
}

void Probes::start(Watched& watched, ProbeKind kind) {
  const auto& probe = probeOf(watched.pod->container(watched.container.name), kind);
  if (!probe || watched.workers.contains(kind)) return;
  auto& worker = watched.workers[kind];
  worker.reset(new Worker{&watched, kind, *probe, ProbeCount(*probe, kind), {}});
  worker->loop.spawn(run(worker.get()));
}

void Probes::later(std::function<void()> call) {
  executor_.post([alive = alive_, call = std::move(call)] {
    if (*alive) call();
  });
}

Task<void> Probes::run(Worker* worker) {
  const spec::Probe probe = worker->probe;
  const Duration period = std::chrono::seconds(std::max(probe.periodSeconds, 1));
  const WallTime startedAt = worker->watched->container.startedAt;
  Duration wait = startedAt + std::chrono::seconds(probe.initialDelaySeconds) - executor_.wallNow();
  // Many containers may exist at start; do not probe all of them at once.
  if (startedAt < began_)
    wait = std::max(wait, period / 100 * static_cast<int>(random_.below(100)));
  if (wait > 0s) {
    auto pause = sleepFor(executor_, wait);
    co_await pause;
  }
  while (true) {
    const SteadyTime next = executor_.steadyNow() + period;
    auto probing = probeWithRetries(worker);
    const ProbeResult result = co_await probing;
    if (!judge(*worker, result)) co_return;
    auto pause = sleepUntil(executor_, std::max(next, executor_.steadyNow()));
    co_await pause;
  }
}

// An exception of a probe concerns the probe and must not end the node.
Task<ProbeResult> Probes::probeOnce(ProbeTarget target, spec::Probe probe) {
  std::string thrown;
  try {
    auto probing = prober_.probe(std::move(target), std::move(probe));
    ProbeResult result = co_await probing;
    co_return result;
  } catch (...) {
    thrown = thrownText();
  }
  log::error("a probe: unexpected exception: {}", thrown);
  co_return ProbeResult{ProbeResult::Outcome::Error, "unexpected exception: " + thrown};
}

Task<ProbeResult> Probes::probeWithRetries(Worker* worker) {
  ProbeResult result;
  for (int i = 0; i < kTries; ++i) {
    auto probing = probeOnce(worker->watched->target, worker->probe);
    result = co_await probing;
    if (result.outcome != ProbeResult::Outcome::Error) break;
  }
  co_return result;
}

// Returns false if this probe of the container must stop.
bool Probes::judge(Worker& worker, const ProbeResult& result) {
  using Outcome = ProbeResult::Outcome;
  Watched& watched = *worker.watched;
  const std::string uid = watched.uid;
  const auto say = [&](const char* reason, std::string message) {
    later([this, uid, name = watched.container.name, reason, message = std::move(message)] {
      listener_.report(uid, name, reason, message);
    });
  };
  const auto name = nameOf(worker.kind);
  if (result.outcome == Outcome::Error) {
    say("Unhealthy",
        fmt::format("{} probe errored and resulted in unknown state: {}", name, result.output));
    return true;
  }
  if (result.outcome == Outcome::Warning)
    say("ProbeWarning", fmt::format("{} probe warning: {}", name, result.output));
  const bool success = result.outcome != Outcome::Failure;
  if (!success) say("Unhealthy", fmt::format("{} probe failed: {}", name, result.output));
  const auto verdict = worker.count.add(success);
  if (!verdict) return true;
  if (!*verdict && worker.kind != ProbeKind::Readiness) {
    watched.beingKilled = true;
    later([this, uid, id = watched.container.id, kind = worker.kind, probe = worker.probe] {
      listener_.failed(uid, id, kind, probe);
    });
    return false;
  }
  ContainerHealth health = watched.health;
  if (worker.kind == ProbeKind::Startup) {
    health.started = true;
    health.ready = !watched.pod->container(watched.container.name).readinessProbe;
  } else if (worker.kind == ProbeKind::Readiness) {
    health.ready = *verdict;
  }
  if (health != watched.health) {
    watched.health = health;
    later([this, uid] { listener_.changed(uid); });
  }
  return worker.kind != ProbeKind::Startup;
}

}  // namespace koord::cluster
