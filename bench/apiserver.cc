// The embedded API server without its transport: writes in memory and on disk, large lists, memory
// per pod, fan-out; and what informers do with a list of pods.

#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <future>

#include "api/codec.h"
#include "api/pod.h"
#include "apiserver/server/server.h"
#include "base/event_loop.h"
#include "bench.h"
#include "durable_put.h"

namespace koord::bench {
namespace {

using apiserver::Call;
using apiserver::Server;
using apiserver::ServerOptions;

// A pod as a workload controller makes it.
std::string podBody(int i) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"pod-{0}","labels":{{"app":"app-{1}","pod-template-hash":"5d8f9c"}},
      "annotations":{{"example.com/note":"a little text that people put on their pods"}},
      "ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app-{1}","uid":"6f1c1c1e-0000-4000-8000-00000000{1:04}","controller":true,"blockOwnerDeletion":true}}]}},
      "spec":{{"containers":[{{"name":"main","image":"registry.example.com/team/app:v1.2.3","args":["--listen=:8080","--verbose"],
      "env":[{{"name":"NODE","valueFrom":{{"fieldRef":{{"fieldPath":"spec.nodeName"}}}}}},{{"name":"MODE","value":"production"}}],
      "ports":[{{"containerPort":8080,"name":"http"}}],
      "resources":{{"requests":{{"cpu":"500m","memory":"256Mi"}},"limits":{{"cpu":"1","memory":"512Mi"}}}},
      "livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080}}}}}}],"nodeSelector":{{"kubernetes.io/os":"linux"}}}}}})",
      i, i % 1000);
}

kube::Request podRequest(kube::Verb verb, std::string name = "") {
  kube::Request request;
  request.verb = verb;
  request.version = "v1";
  request.resource = "pods";
  request.namespace_ = "default";
  request.name = std::move(name);
  return request;
}

// A server on a loop thread of its own, in a folder that goes with it.
class Fixture {
 public:
  explicit Fixture(bool durable, bool access = false) {
    char name[] = "/tmp/koord-bench-XXXXXX";
    if (durable && mkdtemp(name)) folder_ = name;
    thread_.runSync([&] {
      ServerOptions options;
      if (durable) options.database = folder_ / "state.db";
      options.rbac = access;
      if (access) options.serviceAccounts.emplace().rootCaPem = "none";
      server_ = Server::open(thread_.loop(), std::move(options)).value();
    });
  }
  ~Fixture() {
    thread_.runSync([&] {
      streams.clear();
      server_.reset();
    });
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Creates pods [first, first + count) with that many requests in flight; the seconds it took.
  double create(int count, int inFlight, int first = 0) {
    std::vector<std::string> bodies;
    for (int i = first; i < first + count; ++i) bodies.push_back(podBody(i));
    std::promise<void> done;
    int next = 0, active = inFlight;
    const Stopwatch watch;
    // inFlight by value: the last of them lets this function return while the loop still compares.
    thread_.loop().post([&, inFlight] {
      for (int i = 0; i < inFlight; ++i)
        tasks_.spawn(createSome(server_.get(), bodies, next, active, done));
    });
    done.get_future().wait();
    return watch.seconds();
  }

  void on(Callback fn) { thread_.runSync(std::move(fn)); }
  Server& server() { return *server_; }
  EventLoop& loop() { return thread_.loop(); }
  TaskGroup& tasks() { return tasks_; }

  std::vector<std::unique_ptr<apiserver::WatchStream>> streams;

 private:
  static Task<void> createSome(Server* server, std::vector<std::string>& bodies, int& next,
                               int& active, std::promise<void>& done) {
    while (next < static_cast<int>(bodies.size())) {
      Call call{podRequest(kube::Verb::Create)};
      call.request.body = std::move(bodies[static_cast<std::size_t>(next++)]);
      auto serving = server->serve(std::move(call));
      const auto reply = co_await serving;
      if (reply.error) {
        std::fprintf(stderr, "create failed: %s\n", reply.error->message.c_str());
        std::exit(1);
      }
    }
    if (--active == 0) done.set_value();
  }

  std::filesystem::path folder_;
  LoopThread thread_{"apiserver"};
  std::unique_ptr<Server> server_;
  TaskGroup tasks_;
};

Task<void> listText(Server* server, kube::Request request, std::string& text,
                    std::promise<void>& done) {
  auto serving = server->serve(Call{std::move(request)});
  const auto reply = co_await serving;
  text = *reply.body;
  done.set_value();
}

Numbers createMany(const Numbers& params, bool durable, bool access = false) {
  Fixture fixture(durable, access);
  const int count = static_cast<int>(params.at("pods"));
  const double cpu = cpuSeconds();
  const double seconds = fixture.create(count, static_cast<int>(params.at("inFlight")));
  return {{"createsPerSecond", count / seconds},
          {"cpuMicrosecondsPerCreate", (cpuSeconds() - cpu) * 1e6 / count}};
}

json::value bindingOf(int i) {
  return *parseJson(fmt::format(
      R"({{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{{"name":"b-{0}"}},
      "roleRef":{{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"}},
      "subjects":[{{"kind":"User","name":"user-{0}"}},{{"kind":"Group","name":"group-{1}"}}]}})",
      i, i % 100));
}

// Who may do what, among many bindings: a component, and a kubelet that asks for a secret.
Numbers authorizeMany(const Numbers& params) {
  Fixture fixture(false, true);
  const int decisions = static_cast<int>(params.at("decisions"));
  Numbers out;
  fixture.on([&] {
    auto& server = fixture.server();
    auto& table = server.store().table(apiserver::kClusterRoleBindings);
    const auto resource = server.registry().findByTable(apiserver::kClusterRoleBindings);
    for (int i = 0; i < static_cast<int>(params.at("bindings")); ++i) {
      const auto binding = bindingOf(i);
      server.store().put(table, apiserver::draftOf(binding, *resource), binding);
    }
    const auto pods = server.registry().findByTable("pods");
    for (int i = 0; i < static_cast<int>(params.at("podsPerNode")); ++i) {
      json::value pod = *parseJson(podBody(i));
      pod.at("metadata").get_object()["namespace"] = "default";
      pod.at("spec").get_object()["nodeName"] = "n1";
      server.store().put(server.store().table("pods"), apiserver::draftOf(pod, *pods), pod);
    }
    const apiserver::User scheduler{"system:kube-scheduler", "", {"system:authenticated"}, {}};
    const apiserver::User kubelet{
        "system:node:n1", "", {"system:nodes", "system:authenticated"}, {}};
    const auto measure = [&](const char* name, const apiserver::User& user, kube::Request request) {
      const Call call{std::move(request), user};
      bool allowed = false;
      const Stopwatch watch;
      for (int i = 0; i < decisions; ++i)
        allowed = server.authorizer()->authorize(apiserver::attributesOf(call)).allowed;
      out[name] = watch.seconds() * 1e9 / decisions;
      if (allowed != (&user == &scheduler)) std::exit(1);
    };
    auto binding = podRequest(kube::Verb::Create, "pod-1");
    binding.subresource = "binding";
    measure("nanosecondsOfAComponent", scheduler, binding);
    auto secret = podRequest(kube::Verb::Get, "not-mine");
    secret.resource = "secrets";
    measure("nanosecondsOfAKubelet", kubelet, secret);
  });
  return out;
}

// The cost of a stored pod that no client requests.
Numbers memoryPerPod(const Numbers& params) {
  Fixture fixture(false);
  fixture.create(1'000, 64);  // what is needed once is there before
  const double before = rssMib();
  const int count = static_cast<int>(params.at("pods"));
  fixture.create(count, 64, 1'000);
  return {{"bytesPerPod", (rssMib() - before) * 1048576 / count},
          {"jsonBytesPerPod", static_cast<double>(podBody(0).size())}};
}

// From the bytes of a list to the structs that informers keep.
Numbers decodeList(const Numbers& params) {
  Fixture fixture(false);
  fixture.create(static_cast<int>(params.at("pods")), 64);
  std::string text;
  std::promise<void> done;
  fixture.loop().post([&] {
    fixture.tasks().spawn(listText(&fixture.server(), podRequest(kube::Verb::List), text, done));
  });
  done.get_future().wait();
  const Stopwatch watch;
  const auto list = parseJson(text);
  const double parsed = watch.seconds();
  std::vector<api::Pod> pods;
  for (const auto& item : list->at("items").as_array())
    pods.push_back(api::decode<api::Pod>(item).value());
  const double seconds = watch.seconds();
  const double mebibytes = static_cast<double>(text.size()) / 1048576;
  return {{"mebibytesPerSecond", mebibytes / seconds},
          {"parseMebibytesPerSecond", mebibytes / parsed},
          {"podsPerSecond", static_cast<double>(pods.size()) / seconds}};
}

Task<void> listOnce(Server* server, kube::Request request, std::size_t& bytes,
                    std::promise<void>& done) {
  auto serving = server->serve(Call{std::move(request)});
  const auto reply = co_await serving;
  bytes = reply.body->size();
  done.set_value();
}

Numbers listAll(const Numbers& params) {
  Fixture fixture(false);
  const int count = static_cast<int>(params.at("pods"));
  fixture.create(count, 64);
  Numbers out;
  for (const auto& [name, selector] :
       {std::pair{"listSeconds", ""}, std::pair{"selectOneAppSeconds", "app=app-7"}}) {
    std::size_t bytes = 0;
    std::promise<void> done;
    auto request = podRequest(kube::Verb::List);
    if (*selector) request.query["labelSelector"] = selector;
    const Stopwatch watch;
    fixture.loop().post(
        [&] { fixture.tasks().spawn(listOnce(&fixture.server(), request, bytes, done)); });
    done.get_future().wait();
    out[name] = watch.seconds();
    if (!*selector) out["mebibytes"] = static_cast<double>(bytes) / 1048576;
  }
  return out;
}

Numbers fanOut(const Numbers& params) {
  Fixture fixture(false);
  const int watchers = static_cast<int>(params.at("watchers"));
  const int writes = static_cast<int>(params.at("writes"));
  std::size_t events = 0, bytes = 0;
  std::promise<void> done;
  const auto wanted = static_cast<std::size_t>(watchers) * static_cast<std::size_t>(writes);
  fixture.on([&] {
    for (int i = 0; i < watchers; ++i) {
      apiserver::LineSink sink;
      sink.onLine = [&](const apiserver::Bytes& line) {
        bytes += line->size();
        if (++events == wanted) done.set_value();
      };
      fixture.streams.push_back(
          fixture.server().watch(Call{podRequest(kube::Verb::Watch)}, std::move(sink)).value());
    }
  });
  const Stopwatch watch;
  fixture.create(writes, 64);
  done.get_future().wait();
  const double seconds = watch.seconds();
  return {{"eventsPerSecond", static_cast<double>(events) / seconds},
          {"writesPerSecond", writes / seconds},
          {"deliveredMebibytes", static_cast<double>(bytes) / 1048576}};
}

}  // namespace
}  // namespace koord::bench

int main(int argc, char** argv) {
  using namespace koord::bench;
  return runAll(
      argc, argv,
      {{"apiserver/create/memory",
        {{"pods", 50'000}, {"inFlight", 64}},
        [](const Numbers& p) { return createMany(p, false); }},
       {"apiserver/create/memory/accounts",
        {{"pods", 50'000}, {"inFlight", 64}},
        [](const Numbers& p) { return createMany(p, false, true); }},
       {"apiserver/authorize",
        {{"decisions", 200'000}, {"bindings", 2'000}, {"podsPerNode", 110}},
        authorizeMany},
       {"apiserver/create/durable",
        {{"pods", 50'000}, {"inFlight", 256}},
        [](const Numbers& p) { return createMany(p, true); }},
       {"apiserver/create/durable/one-writer",
        {{"pods", 500}, {"inFlight", 1}},
        [](const Numbers& p) { return createMany(p, true); }},
       {"apiserver/put/durable", {{"puts", 50'000}, {"inFlight", 256}, {"bytes", 1'200}}, putMany},
       {"apiserver/put/durable/etcd",
        {{"puts", 10'000}, {"inFlight", 256}, {"bytes", 1'200}},
        putManyInEtcd},
       {"apiserver/memory", {{"pods", 100'000}}, memoryPerPod},
       {"apiserver/list", {{"pods", 100'000}}, listAll},
       {"apiserver/list/decode", {{"pods", 20'000}}, decodeList},
       {"apiserver/watch/fan-out", {{"watchers", 100}, {"writes", 5'000}}, fanOut}});
}
