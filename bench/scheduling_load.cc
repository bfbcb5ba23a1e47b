#include "scheduling_load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/json.h"

namespace koord::bench {

std::string nodeBody(int n) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{0}","labels":{{"kubernetes.io/hostname":"node-{0}","topology.kubernetes.io/zone":"zone-{1}"}}}},
      "status":{{"capacity":{{"cpu":"32","memory":"128Gi","pods":"110"}},"allocatable":{{"cpu":"32","memory":"128Gi","pods":"110"}},
      "conditions":[{{"type":"Ready","status":"True"}}]}}}})",
      n, n % 3);
}

std::string podBody(const std::string& name, const std::string& scheduler,
                    const std::string& node) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}"}},"spec":{{{}"schedulerName":"{}",
      "containers":[{{"name":"pause","image":"registry.k8s.io/pause:3.9","ports":[{{"containerPort":80}}],
      "resources":{{"requests":{{"cpu":"100m","memory":"500Mi"}},"limits":{{"cpu":"100m","memory":"500Mi"}}}}}}]}}}})",
      name, node.empty() ? "" : fmt::format("\"nodeName\":\"{}\",", node), scheduler);
}

kube::Request coreRequest(kube::Verb verb, const std::string& resource,
                          const std::string& namespace_, const std::string& name) {
  kube::Request request;
  request.verb = verb;
  request.version = "v1";
  request.resource = resource;
  request.namespace_ = namespace_;
  request.name = name;
  return request;
}

void giveUp(const std::string& why) {
  fmt::print(stderr, "benchmark: {}\n", why);
  std::exit(1);
}

SchedulingLoad::SchedulingLoad(LoopThread& thread, kube::Api& api, std::string namespace_)
    : thread_(thread), api_(api), namespace_(std::move(namespace_)) {}

SchedulingLoad::~SchedulingLoad() {
  thread_.runSync([this] { watch_.reset(); });
}

void SchedulingLoad::each(int count, std::function<kube::Request(int)> make) {
  constexpr int kAtOnce = 64;
  Batch batch{count, 0, kAtOnce, std::move(make), {}};
  thread_.loop().post([&] {
    for (int i = 0; i < kAtOnce; ++i) tasks_.spawn(some(batch));
  });
  batch.done.get_future().wait();
}

Task<void> SchedulingLoad::some(Batch& batch) {
  while (batch.next < batch.count) {
    auto calling = api_.call(batch.make(batch.next++));
    const auto reply = co_await calling;
    if (!reply && reply.error().code != ErrorCode::AlreadyExists &&
        reply.error().code != ErrorCode::NotFound)
      giveUp(reply.error().message);
  }
  if (--batch.active == 0) batch.done.set_value();
}

void SchedulingLoad::watchBound() {
  thread_.runSync([this] {
    {
      const std::lock_guard lock(mutex_);
      bound_.clear();
    }
    watchAgain();
  });
}

// A server may end a watch at any time, and does so while it is starting.
void SchedulingLoad::watchAgain() {
  auto watching = coreRequest(kube::Verb::Watch, "pods", namespace_);
  watching.query["fieldSelector"] = "spec.nodeName!=";
  kube::WatchSink sink;
  sink.onEvent = [this](std::string_view event) {
    const auto document = parseJson(event);
    if (!document) giveUp("the watch: " + document.error().message);
    if (textAt(*document, "type") != "ADDED") return;
    const std::lock_guard lock(mutex_);
    bound_.emplace(textAt(*document, "object", "metadata", "name"));
    changed_.notify_all();
  };
  sink.onClosed = [this](const Error& error) {
    if (!error.message.empty()) giveUp("the watch ended: " + error.message);
    thread_.loop().post([this] { watchAgain(); });
  };
  watch_ = api_.watch(std::move(watching), std::move(sink));
}

void SchedulingLoad::waitForBound(std::size_t count, std::chrono::seconds patience) {
  std::unique_lock lock(mutex_);
  while (bound_.size() < count) {
    const std::size_t before = bound_.size();
    changed_.wait_for(lock, patience, [&] { return bound_.size() > before; });
    if (bound_.size() == before) giveUp(fmt::format("{} of {} pods are bound", before, count));
  }
}

ProcessUsage usageOf(pid_t pid) {
  ProcessUsage usage;
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  if (text.empty()) return usage;
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  usage.cpuSeconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) usage.rssMib = std::stod(line.substr(6)) / 1024;
    if (line.starts_with("VmHWM:")) usage.peakMib = std::stod(line.substr(6)) / 1024;
  }
  return usage;
}

}  // namespace koord::bench
