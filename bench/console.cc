// What the console (src/console) costs the process that serves it: rows of all pods in memory, a
// browser that opens the page, a change, a step of the history. Beside the bytes of the rows are
// those of the whole objects, which a console that relays watches would send.

#include <fmt/format.h>

#include "api/codec.h"
#include "base/json.h"
#include "bench.h"
#include "console/feed/change_log.h"
#include "console/history/sampler.h"
#include "console/rows/rows.h"

namespace {

using namespace koord;
using namespace koord::console;

// A running pod as kubelet leaves it, with one container.
std::string podText(int i, int nodes) {
  return fmt::format(
      R"({{"metadata":{{"name":"web-7d9f8c6b5-{0:05x}","namespace":"team-{1}","uid":"{0:032x}",
  "resourceVersion":"{0}","creationTimestamp":"2026-01-01T00:00:00Z",
  "labels":{{"app":"web","pod-template-hash":"7d9f8c6b5","quota.scheduling.koordinator.sh/name":"team-{1}"}},
  "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7d9f8c6b5","uid":"u","controller":true}}]}},
  "spec":{{"nodeName":"node-{2}","priority":9000,"schedulerName":"koord-scheduler",
  "serviceAccountName":"default","containers":[{{"name":"main","image":"registry.example.com/web:1.2.3",
  "env":[{{"name":"A","value":"1"}},{{"name":"B","value":"2"}}],
  "resources":{{"requests":{{"cpu":"500m","memory":"1Gi"}},"limits":{{"cpu":"2","memory":"2Gi"}}}},
  "volumeMounts":[{{"name":"t","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}]}}],
  "volumes":[{{"name":"t","emptyDir":{{}}}}],
  "tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]}},
  "status":{{"phase":"Running","podIP":"10.0.0.1","startTime":"2026-01-01T00:00:02Z","conditions":[
  {{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:01Z"}},
  {{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:05Z"}}],
  "containerStatuses":[{{"name":"main","ready":true,"restartCount":0,"state":{{"running":{{"startedAt":"2026-01-01T00:00:04Z"}}}}}}]}}}})",
      i, i % 40, i % nodes);
}

api::Pod podOf(int i, int nodes) {
  return api::decode<api::Pod>(parseJson(podText(i, nodes)).value()).value();
}

// All rows in pieces, as a new browser receives them; returns their bytes.
std::size_t readAll(const ChangeLog& log) {
  std::size_t bytes = 0;
  ChangeLog::Number read = 0;
  while (true) {
    const auto changes = log.after(read, 1000);
    std::string event;
    for (const Row* row : changes.rows) event += row->columns;
    bytes += event.size();
    if (!changes.more) return bytes;
    read = changes.upTo;
  }
}

bench::Numbers serve(const bench::Numbers& params) {
  const int pods = static_cast<int>(params.at("pods"));
  const int nodes = static_cast<int>(params.at("nodes"));
  const double before = bench::rssMib();
  ChangeLog log, nodeLog, none;
  double rowSeconds = 0;
  std::size_t objectBytes = 0;
  for (int i = 0; i < pods; ++i) {
    const api::Pod pod = podOf(i, nodes);
    objectBytes += toJson(api::encodeObject(pod)).size();
    const bench::Stopwatch watch;
    log.put(rowOf(pod));
    rowSeconds += watch.seconds();
  }
  for (int i = 0; i < nodes; ++i)
    nodeLog.put({"node-" + std::to_string(i), "[1]", {.cpu = 64'000}, {}});
  const double memory = bench::rssMib() - before;
  const bench::Stopwatch reading;
  const std::size_t rowBytes = readAll(log);
  const double readSeconds = reading.seconds();
  const bench::Stopwatch sampling;
  const auto step = sampleOf({&log, &nodeLog, &none, &none});
  const double sampleSeconds = sampling.seconds();
  return {{"row_us", 1e6 * rowSeconds / pods},
          {"rows_mib", memory},
          {"row_bytes", static_cast<double>(rowBytes) / pods},
          {"object_bytes", static_cast<double>(objectBytes) / pods},
          {"read_all_ms", 1e3 * readSeconds},
          {"sample_ms", 1e3 * sampleSeconds}};
}

}  // namespace

int main(int argc, char** argv) {
  return koord::bench::runAll(argc, argv,
                              {{"console", {{"nodes", 1000}, {"pods", 30'000}}, serve},
                               {"console", {{"nodes", 5000}, {"pods", 150'000}}, serve}});
}
