// Estimates of starts (scheduler/oracle/starts). "Starts/waves" and "Starts/continuous": how often
// the starts fell within their bounds, by kind, without and with pods that are created after the
// question (backtest.h): the published figures of docs/features/starts.md. All numbers are shares,
// but for `asked`; they depend on the seeds only. "Starts/large": the wall time of an estimate in a
// full cluster. "Starts/history": what the history of runs costs, in ns for an update of a pod and
// for an end, and the memory that it adds, in MiB.

#include "scheduler/oracle/starts/backtest.h"

#include "base/log_silence.h"
#include "base/virtual_loop.h"
#include "bench.h"

namespace {

using namespace koord;  // NOLINT: a program of its own
using bench::Numbers;
using scheduler::forecast::RunHistory;
using scheduler::oracle::testing::Backtest;
using scheduler::oracle::testing::BacktestKind;
using scheduler::oracle::testing::BacktestOptions;

Numbers backtest(const Numbers& params, bool continuous) {
  log::silence();
  std::map<std::string, BacktestKind> kinds;
  for (int seed = 1; seed <= static_cast<int>(params.at("seeds")); ++seed) {
    Backtest world({.seed = static_cast<std::uint64_t>(seed), .continuous = continuous});
    world.run();
    for (const auto& [name, kind] : world.kinds()) kinds[name].add(kind);
  }
  BacktestKind all;
  for (const auto& [name, kind] : kinds) all.add(kind);
  kinds["all"] = all;
  Numbers numbers;
  for (const auto& [name, kind] : kinds) {
    const auto share = [](int part, int whole) { return whole == 0 ? 0.0 : 1.0 * part / whole; };
    numbers[name + ": asked"] = kind.asked;
    numbers[name + ": without claim"] = share(kind.asked - kind.claimed, kind.asked);
    numbers[name + ": within"] = share(kind.within, kind.claimed);
    numbers[name + ": too early"] = share(kind.early, kind.claimed);
    numbers[name + ": too late"] = share(kind.claimed - kind.within - kind.early, kind.claimed);
    numbers[name + ": median error"] = kind.medianError();
  }
  return numbers;
}

Numbers history(const Numbers& params) {
  VirtualLoop loop;
  const auto pods = static_cast<int>(params.at("pods"));
  std::vector<std::shared_ptr<const api::Pod>> bound, running;
  for (int i = 0; i < pods; ++i) {
    auto pod = scheduler::testing::aPod(fmt::format("pod-{}", i));
    pod.object().metadata.uid = fmt::format("0d6f7f0e-5b3a-4a39-9e3c-{:012}", i);
    pod.object().spec.restartPolicy = "Never";
    pod.object().spec.nodeName = "n";
    api::OwnerReference owner;
    owner.kind = "Job";
    owner.name = fmt::format("job-of-{}-x", i % 8192);
    owner.controller = true;
    pod.object().metadata.ownerReferences.push_back(std::move(owner));
    bound.push_back(pod.build());
    pod.object().status.startTime = loop.wallNow();
    running.push_back(pod.build());
  }
  loop.advance(std::chrono::hours(1));
  const double before = bench::rssMib();
  RunHistory runs(loop);
  const bench::Stopwatch updates;
  for (std::size_t i = 0; i < bound.size(); ++i) runs.podChanging(bound[i], running[i]);
  const double updated = updates.seconds();
  const bench::Stopwatch ends;
  for (const auto& pod : running) runs.podChanging(pod, nullptr);
  const double ended = ends.seconds();
  return {{"updateNs", updated / pods * 1e9},
          {"endNs", ended / pods * 1e9},
          {"workloads", static_cast<double>(runs.workloads())},
          {"mib", bench::rssMib() - before}};
}

// A full cluster of pods with known workloads, and pods that wait; one of them is asked about.
Numbers large(const Numbers& params) {
  using scheduler::oracle::testing::aNode;
  using scheduler::oracle::testing::aPod;
  log::silence();
  scheduler::oracle::testing::Asked world;
  const auto jobPod = [](const std::string& name, int job) {
    auto pod = aPod(name).request("cpu", "1");
    pod.object().metadata.uid = name;
    pod.object().spec.restartPolicy = "Never";
    api::OwnerReference owner;
    owner.kind = "Job";
    owner.name = fmt::format("job-of-{}-x", job);
    owner.controller = true;
    pod.object().metadata.ownerReferences.push_back(std::move(owner));
    return pod;
  };
  const auto nodes = static_cast<int>(params.at("nodes"));
  const auto perNode = static_cast<int>(params.at("podsPerNode"));
  constexpr int kJobs = 500;
  for (int n = 0; n < nodes; ++n)
    world.node(aNode(fmt::format("n{}", n)).allocatable("cpu", std::to_string(perNode)));
  const WallTime now = world.loop.wallNow();
  for (int i = 0; i < kJobs * 20; ++i) {
    api::Pod pod = jobPod(fmt::format("earlier-{}", i), i % kJobs).object();
    pod.spec.nodeName = "n0";
    pod.status.phase = "Succeeded";
    pod.status.startTime = now - std::chrono::seconds(8'000 + i % 77 * 30);
    api::ContainerStatus status;
    status.state.terminated.emplace().finishedAt = now - std::chrono::seconds(i % 50);
    pod.status.containerStatuses.push_back(status);
    world.history.learn(pod);
  }
  for (int i = 0; i < nodes * perNode; ++i) {
    auto pod = jobPod(fmt::format("runs-{}", i), i % kJobs);
    pod.object().status.startTime = now - std::chrono::seconds(i * 7'919LL % 8'000);
    world.runs(pod, fmt::format("n{}", i % nodes));
  }
  const auto waiting = static_cast<int>(params.at("waiting"));
  for (int i = 0; i < waiting; ++i) world.create(jobPod(fmt::format("waits-{}", i), i % kJobs));
  world.run(std::chrono::seconds(30));
  const bench::Stopwatch watch;
  const auto answer = world.ask(fmt::format("when: {{pods: [default/waits-{}]}}", waiting - 1));
  Numbers numbers{{"seconds", watch.seconds()}, {"rssMib", bench::rssMib()}};
  if (!answer) return numbers;
  const json::value& when = memberOf(*answer, "when");
  numbers["courses"] = realNumber(memberOf(when, "courses")).value_or(0);
  const json::value& next = memberOf(memberOf(when, "estimates").get_array()[0], "next");
  for (const char* bound : {"earliest", "likely", "latest"})
    numbers[bound] = realNumber(memberOf(next, bound)).value_or(-1);
  return numbers;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::runAll(
      argc, argv,
      {{"Starts/waves",
        {{"seeds", 12}},
        [](const Numbers& params) { return backtest(params, false); }},
       {"Starts/continuous",
        {{"seeds", 12}},
        [](const Numbers& params) { return backtest(params, true); }},
       {"Starts/large", {{"nodes", 5'000}, {"podsPerNode", 30}, {"waiting", 1'000}}, large},
       {"Starts/history", {{"pods", 500'000}}, history}});
}
