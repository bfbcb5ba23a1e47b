// PodMigrationJobs under way while nothing changes: `jobs` jobs that wait for room, with their pods
// and Reservations, on an API server in memory and virtual time. percent_of_a_core: CPU time of ten
// minutes in which nothing happens, the server's idling included; started_ms: from nothing until
// all jobs have been looked at.

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "api/migration.h"
#include "api/reservation.h"
#include "apiserver/local_api.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "bench.h"
#include "descheduler/app/plugin_table.h"
#include "descheduler/framework/descheduler.h"
#include "descheduler/framework/metrics.h"
#include "kube/client.h"

namespace {

using namespace koord;  // NOLINT: a program of its own
using namespace std::chrono_literals;
using bench::Numbers;

struct MigrationBed {
  VirtualLoop loop;
  std::unique_ptr<apiserver::Server> server;
  std::optional<apiserver::LocalApi> api;

  MigrationBed() {
    apiserver::ServerOptions options;
    options.inlineCommits = true;
    server = apiserver::Server::open(loop, std::move(options)).value();
    api.emplace(*server, loop);
  }
  ~MigrationBed() { loop.runReady(); }

  Task<void> call(kube::Request request, std::optional<Result<std::string>>* reply) {
    auto calling = api->call(std::move(request));
    *reply = co_await calling;
  }
  // A state other than the benchmark's makes the figure invalid.
  json::value ask(kube::Request request) {
    std::optional<Result<std::string>> reply;
    TaskGroup group;
    group.spawn(call(std::move(request), &reply));
    loop.advanceUntil([&] { return reply.has_value(); }, 1s);
    if (!reply) throw std::runtime_error("the API server does not respond");
    if (!*reply) throw std::runtime_error(reply->error().message);
    return parseJson(**reply).value();
  }
  json::value write(kube::Verb verb, const api::ResourceType& type, const api::ObjectKey& key,
                    std::string body, std::string subresource = "") {
    auto request = kube::makeRequest(verb, type, key);
    request.subresource = std::move(subresource);
    request.body = std::move(body);
    return ask(std::move(request));
  }
  int running();
  void install(const char* crd) {
    std::ifstream file(fmt::format("{}/crds/scheduling.koordinator.sh_{}.yaml", KOORD_DEPLOY, crd));
    std::stringstream text;
    text << file.rdbuf();
    const auto document = parseYaml(text.str());
    write(kube::Verb::Create,
          {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
           false},
          {}, toJson(*document));
  }
  void job(int i);
};

void MigrationBed::job(int i) {
  const std::string pod = fmt::format("pod-{}", i), name = fmt::format("job-{}", i);
  const json::value made = write(
      kube::Verb::Create, api::Pod::kType, {"default", ""},
      fmt::format(
          R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default",)"
          R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"r{}",)"
          R"("uid":"r{}","controller":true}}]}},"spec":{{"nodeName":"node-{}","containers":)"
          R"([{{"name":"main","image":"a"}}]}}}})",
          pod, i / 10, i / 10, i % 500));
  write(
      kube::Verb::Create, api::Reservation::kType, {},
      fmt::format(
          R"({{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation",)"
          R"("metadata":{{"name":"{}"}},"spec":{{"owners":[{{"controller":{{"apiVersion":"apps/v1",)"
          R"("kind":"ReplicaSet","name":"r{}","uid":"r{}","namespace":"default"}}}}],"template":)"
          R"({{"spec":{{"containers":[{{"name":"main","image":"a"}}]}}}}}}}})",
          name, i / 10, i / 10));
  write(
      kube::Verb::Create, api::PodMigrationJob::kType, {},
      fmt::format(R"({{"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"PodMigrationJob",)"
                  R"("metadata":{{"name":"{0}","annotations":{{)"
                  R"("descheduler.koordinator.sh/passed-arbitration":"true"}}}},"spec":{{"mode":)"
                  R"("ReservationFirst","ttl":"1h","podRef":{{"namespace":"default","name":"{1}",)"
                  R"("uid":"{2}"}},"reservationOptions":{{"reservationRef":{{"name":"{0}"}}}}}}}})",
                  name, pod, textAt(made, "metadata", "uid")));
  write(kube::Verb::Patch, api::PodMigrationJob::kType, {"", name},
        R"({"status":{"phase":"Running"}})", "status");
}

int MigrationBed::running() {
  const json::value list =
      ask(kube::makeRequest(kube::Verb::List, api::PodMigrationJob::kType, {}));
  int count = 0;
  for (const json::value& job : find(list, "items")->get_array())
    count += textAt(job, "status", "phase") == "Running";
  return count;
}

Numbers idle(const Numbers& params) {
  MigrationBed bed;
  bed.install("podmigrationjobs");
  bed.install("reservations");
  for (int node = 0; node < 500; ++node)
    bed.write(kube::Verb::Create, api::Node::kType, {},
              fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"node-{}"}}}})",
                          node));
  const int jobs = static_cast<int>(params.at("jobs"));
  for (int i = 0; i < jobs; ++i) bed.job(i);
  const auto registry = descheduler::pluginTable();
  std::vector<std::string> errors;
  descheduler::Metrics metrics;
  descheduler::Descheduler::Options options;
  options.prepared = descheduler::prepare(descheduler::defaultConfiguration(), registry, errors);
  const bench::Stopwatch starting;
  std::optional<descheduler::Descheduler> descheduler;
  descheduler.emplace(*bed.api, bed.loop, Random(1), std::move(options), registry, metrics);
  descheduler->start();
  bed.loop.advance(60s);
  const double started = starting.seconds();
  const double before = bench::cpuSeconds();
  bed.loop.advance(600s);
  const double cpu = bench::cpuSeconds() - before;
  if (const int left = bed.running(); left != jobs)
    throw std::runtime_error(fmt::format("{} of {} jobs are in progress", left, jobs));
  descheduler.reset();
  return {{"percent_of_a_core", 100 * cpu / 600},
          {"started_ms", 1000 * started},
          {"peak_rss_mib", bench::peakRssMib()}};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Benchmark> all;
  for (const double jobs : {1000.0, 10'000.0})
    all.push_back(
        {fmt::format("MigrationJobs/{}UnderWay", static_cast<int>(jobs)), {{"jobs", jobs}}, idle});
  return bench::runAll(argc, argv, all);
}
