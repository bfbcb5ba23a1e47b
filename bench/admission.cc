// Admission webhooks: how long one review takes in the process, and how many a second a server on
// one core answers over TLS. The pod is one of the co-location demo with what an API server adds to
// it: one of `profiles` matches it and translates its resources. Half of the reviews over TLS are
// mutations, half validations, as a pod that is made costs.

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <future>
#include <optional>
#include <stdexcept>
#include <vector>

#include "apiserver/local_api.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "bench.h"
#include "kube/client.h"
#include "manager/webhook/server.h"
#include "manager/webhook/webhooks.h"
#include "net/http_client.h"
#include "net/tls.h"

namespace {

using namespace koord;  // NOLINT: a program of its own
using namespace std::chrono_literals;
using bench::Numbers;

const std::string kReview =
    R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","operation":"CREATE",
"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
"namespace":"demo","userInfo":{"username":"system:serviceaccount:kube-system:replicaset-controller"},
"object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-7c5ddbdf54-","namespace":"demo",
"labels":{"app":"web","pod-template-hash":"7c5ddbdf54","tier":"batch-0"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-7c5ddbdf54","uid":"1","controller":true}]},
"spec":{"schedulerName":"default-scheduler","priority":0,"restartPolicy":"Always","terminationGracePeriodSeconds":60,
"volumes":[{"name":"kube-api-access-x","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}]}}],
"containers":[{"name":"main","image":"registry.example.com/team/app:v1","env":[{"name":"A","value":"b"}],
"ports":[{"containerPort":8080}],"resources":{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"1","memory":"4Gi"}},
"volumeMounts":[{"name":"kube-api-access-x","mountPath":"/var/run/secrets"}]},
{"name":"side","image":"side:1","resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}],
"tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]},"status":{}}}})";

constexpr const char* kProfile = R"({{"metadata":{{"name":"batch-{0}"}},"spec":{{
    "namespaceSelector":{{"matchLabels":{{"koordinator.sh/enable-colocation":"true"}}}},
    "selector":{{"matchLabels":{{"tier":"batch-{0}"}}}},
    "qosClass":"BE","priorityClassName":"koord-batch","koordinatorPriority":1000,
    "schedulerName":"koord-scheduler","labels":{{"mutated":"true"}},
    "patch":{{"spec":{{"terminationGracePeriodSeconds":30}}}}}}}})";

// An API server with what the webhooks read, and the webhooks, on one executor.
struct World {
  explicit World(Executor& executor)
      : server(apiserver::Server::open(executor, {.inlineCommits = true}).value()),
        api(*server, executor),
        webhooks(api, executor, metrics, Random(1), {}) {}

  Task<void> create(api::ResourceType type, std::string text) {
    const api::ObjectKey key{type.namespaced ? "demo" : "", ""};
    auto creating = kube::createObject(api, type, key, parseJson(text).value());
    const auto created = co_await creating;
    if (!created) throw std::runtime_error(created.error().message);
  }
  Task<void> fill(int profiles) {
    for (const char* crd : {"config.koordinator.sh_clustercolocationprofiles",
                            "scheduling.sigs.k8s.io_elasticquotas"}) {
      const auto text = readFile(fmt::format("{}/crds/{}.yaml", KOORD_DEPLOY, crd)).value();
      auto creating = create({"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                              "CustomResourceDefinition", false},
                             toJson(parseYaml(text).value()));
      co_await creating;
    }
    auto space = create(
        api::Namespace::kType,
        R"({"metadata":{"name":"demo","labels":{"koordinator.sh/enable-colocation":"true"}}})");
    co_await space;
    auto priority =
        create(api::PriorityClass::kType, R"({"metadata":{"name":"koord-batch"},"value":5000})");
    co_await priority;
    for (int i = 0; i < profiles; ++i) {
      auto profile = create(api::ClusterColocationProfile::kType, fmt::format(kProfile, i));
      co_await profile;
    }
    webhooks.start();
  }
  Task<void> set(int profiles, std::function<void()> done) {
    auto filling = fill(profiles);
    co_await filling;
    while (!webhooks.synced()) {
      auto pause = sleepFor(server->executor(), 10ms);
      co_await pause;
    }
    done();
  }

  std::unique_ptr<apiserver::Server> server;
  apiserver::LocalApi api;
  manager::Metrics metrics;
  manager::Webhooks webhooks;
  TaskGroup tasks;
};

Task<void> keep(Task<manager::Verdict> task, std::optional<manager::Verdict>* into) {
  auto verdict = co_await task;
  *into = std::move(verdict);
}

double threadMicros() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

// One review as the server goes about it, from text to text. CPU time, since what else runs on the
// machine would be all of the 99th percentile.
double reviewMicros(VirtualLoop& loop, const manager::AdmissionHandler& handler) {
  const double began = threadMicros();
  auto review = manager::readReview(kReview);
  std::optional<manager::Verdict> verdict;
  TaskGroup tasks;
  tasks.spawn(keep(handler(*review->request), &verdict));
  while (!verdict) loop.runReady();
  const auto text = manager::writeReview(review->apiVersion, review->request->uid, *verdict);
  const double micros = threadMicros() - began;
  if (!verdict->allowed) throw std::runtime_error(verdict->message);
  return micros;
}

Numbers inProcess(const Numbers& params) {
  VirtualLoop loop;
  auto world = std::make_unique<World>(loop);
  bool set = false;
  world->tasks.spawn(world->set(static_cast<int>(params.at("profiles")), [&set] { set = true; }));
  if (!loop.advanceUntil([&] { return set; }, 1min)) throw std::runtime_error("nothing is synced");
  Numbers numbers;
  for (const auto& [name, path] :
       {std::pair("mutate", "/mutate-pod"), {"validate", "/validate-pod"}}) {
    const auto& handler = world->webhooks.handlers().at(path);
    std::vector<double> micros;
    for (int i = 0; i < static_cast<int>(params.at("reviews")); ++i)
      micros.push_back(reviewMicros(loop, handler));
    numbers[fmt::format("{}_p50_us", name)] = bench::percentile(micros, 0.5);
    numbers[fmt::format("{}_p99_us", name)] = bench::percentile(micros, 0.99);
    numbers[fmt::format("{}_max_us", name)] = bench::percentile(micros, 1);
  }
  world.reset();
  loop.runReady();
  return numbers;
}

struct Certs {
  manager::WebhookCerts webhook;
  Certs() {
    const auto now = std::chrono::system_clock::now();
    const net::Validity validity{now - 1h, now + 24h};
    webhook.authority = net::makeAuthority("ca", validity).value();
    webhook.server =
        net::issueServerCert(webhook.authority, {"localhost", {"localhost"}, validity}).value();
  }
};

// The server process: on one core, until `until` is closed. It writes its port to `tell`.
void serve(const Certs& certs, int profiles, int tell, int until) {
  cpu_set_t core;
  CPU_ZERO(&core);
  CPU_SET(0, &core);
  (void)::sched_setaffinity(0, sizeof core, &core);
  LoopThread thread("webhooks");
  std::unique_ptr<World> world;
  std::unique_ptr<manager::WebhookServer> server;
  std::promise<void> set;
  thread.runSync([&] {
    world = std::make_unique<World>(thread.loop());
    world->tasks.spawn(world->set(profiles, [&set] { set.set_value(); }));
  });
  set.get_future().wait();
  thread.runSync([&] {
    server = std::make_unique<manager::WebhookServer>(thread.loop(), "127.0.0.1:0");
    for (const auto& [path, handler] : world->webhooks.handlers()) server->handle(path, handler);
    if (const auto listening = server->setCerts(certs.webhook); !listening)
      throw std::runtime_error(listening.error().message);
    const std::uint16_t port = server->port();
    if (::write(tell, &port, sizeof port) != sizeof port) throw std::runtime_error("write");
  });
  char end = 0;
  while (::read(until, &end, 1) > 0) continue;
}

// The other side: `clients` that each have one request under way.
struct Asking {
  net::HttpRequest requests[2];
  int left = 0, good = 0, running = 0;
  std::string problem;
  std::promise<void> done;

  Task<void> askOften(net::HttpClient* client, Executor* executor) {
    while (left > 0) {
      const bool mutate = left-- % 2 == 0;
      net::HttpRequest request = requests[mutate ? 0 : 1];
      auto fetching = client->fetch(*executor, std::move(request));
      const auto answer = co_await fetching;
      const bool fine = answer && answer->status == 200 &&
                        answer->body.contains(R"("allowed":true)") &&
                        answer->body.contains("JSONPatch") == mutate;
      good += fine ? 1 : 0;
      if (!fine) problem = answer ? answer->body : answer.error().message;
    }
    if (--running == 0) done.set_value();
  }
};

double ask(const Certs& certs, std::uint16_t port, const Numbers& params) {
  Asking asking;
  auto tls = std::make_shared<net::TlsConfig>();
  tls->caPem = certs.webhook.authority.certPem;
  tls->serverName = "localhost";
  for (int i = 0; i < 2; ++i) {
    net::HttpRequest& request = asking.requests[i];
    request.method = "POST";
    request.url = fmt::format("https://127.0.0.1:{}/{}-pod", port, i == 0 ? "mutate" : "validate");
    request.tls = tls;
    request.headers = {{"Content-Type", "application/json"}};
    request.body = kReview;
  }
  asking.left = static_cast<int>(params.at("reviews"));
  asking.running = static_cast<int>(params.at("clients"));
  LoopThread thread("clients");
  std::unique_ptr<net::HttpClient> client;
  TaskGroup tasks;
  const bench::Stopwatch watch;
  thread.runSync([&] {
    client = std::make_unique<net::HttpClient>();
    for (int i = 0; i < static_cast<int>(params.at("clients")); ++i)
      tasks.spawn(asking.askOften(client.get(), &thread.loop()));
  });
  asking.done.get_future().wait();
  const double seconds = watch.seconds();
  thread.runSync([&] { client.reset(); });
  if (asking.good != static_cast<int>(params.at("reviews")))
    throw std::runtime_error("a review went wrong: " + asking.problem);
  return seconds;
}

Numbers overTls(const Numbers& params) {
  const Certs certs;
  int tell[2], until[2];
  if (::pipe(tell) != 0 || ::pipe(until) != 0) throw std::runtime_error("pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(until[1]);
    serve(certs, static_cast<int>(params.at("profiles")), tell[1], until[0]);
    ::_exit(0);
  }
  ::close(until[0]);
  std::uint16_t port = 0;
  ::close(tell[1]);
  if (::read(tell[0], &port, sizeof port) != sizeof port)
    throw std::runtime_error("the webhook server does not start");
  const double seconds = ask(certs, port, params);
  ::close(until[1]);
  ::close(tell[0]);
  rusage used{};
  ::wait4(child, nullptr, 0, &used);
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  const double cpu = of(used.ru_utime) + of(used.ru_stime);
  const double reviews = params.at("reviews");
  return {{"per_second", reviews / seconds},
          {"per_cpu_second_of_server", reviews / cpu},
          {"server_rss_mib", static_cast<double>(used.ru_maxrss) / 1024}};
}

}  // namespace

int main(int argc, char** argv) {
  return bench::runAll(
      argc, argv,
      {{"admission_in_process", {{"reviews", 20'000}, {"profiles", 20}}, inProcess},
       {"admission_over_tls", {{"reviews", 40'000}, {"clients", 16}, {"profiles", 20}}, overTls}});
}
