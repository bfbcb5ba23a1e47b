#include "apiserver/server/server.h"

#include <fmt/format.h>

#include "apiserver/metricsapi/metrics_api.h"
#include "apiserver/registry/crd.h"
#include "apiserver/server/body.h"
#include "apiserver/server/write.h"
#include "base/log.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

constexpr const char* kCrds = "customresourcedefinitions.apiextensions.k8s.io";
constexpr const char* kMutating = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
constexpr const char* kValidating = "validatingwebhookconfigurations.admissionregistration.k8s.io";

}  // namespace

Server::Server(Executor& executor, ServerOptions options)
    : executor_(executor),
      options_(std::move(options)),
      random_(options_.seed),
      store_(executor, {options_.historyEvents}),
      webhooks_(options_.webhookCaller, random_),
      quotas_(executor, store_, registry_) {
  webhooks_.setNamespaceLabels([this](std::string_view name) {
    const auto entry = store_.table("namespaces").find(name);
    return entry ? entry->labels : api::StringMap{};
  });
}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Executor& executor, ServerOptions options) {
  const std::string path = options.database;
  const bool inlineCommits = options.inlineCommits;
  const auto openStorage = options.openStorage;
  std::unique_ptr<Server> server(new Server(executor, std::move(options)));
  if (!path.empty() || openStorage) {
    auto storage = openStorage ? openStorage() : openSqlite(path);
    if (!storage) return fail(std::move(storage.error()));
    if (auto loaded = server->load(**storage); !loaded)
      return fail(std::move(loaded.error()).within(path));
    const auto onDurable = [raw = server.get()](Result<std::uint64_t> version) {
      raw->store_.durable(std::move(version));
    };
    server->store_.observe(
        [raw = server.get()](const Table& table, const Event& event) {
          raw->takenBack(table, event);
        },
        [raw = server.get()](const Error* failure) { raw->storageChanged(failure); });
    server->store_.setJournal(inlineCommits
                                  ? makeInlineJournal(executor, *std::move(storage), onDurable)
                                  : makeGroupJournal(executor, *std::move(storage), onDurable));
  }
  server->addDefaultObjects();
  server->quotas_.load();
  return server;
}

Result<> Server::load(Storage& storage) {
  auto state = storage.load();
  if (!state) return fail(std::move(state.error()));
  store_.restoreVersion(state->version);
  const auto restore = [this](StoredObject& stored, const Resource* resource) -> Result<> {
    auto object = parseJson(stored.text);
    if (!object || !object->is_object())
      return fail(
          ErrorCode::Io,
          fmt::format("{} {}: the stored object is damaged; restore the database from a backup",
                      stored.table, stored.key));
    const Resource unknown;
    Draft draft = draftOf(*object, resource ? *resource : unknown);
    draft.key = stored.key;
    store_.restore(store_.table(stored.table),
                   makeEntry(std::move(draft), *object, stored.version));
    if (stored.table == kCrds) {
      std::vector<std::string> warnings;
      auto learnt = resourceOfCrd(*object, warnings);
      if (!learnt) return fail(std::move(learnt.error()).within(stored.key));
      registry_.put(*std::move(learnt));
    } else if (stored.table == kMutating) {
      webhooks_.setMutating(stored.key, &*object);
    } else if (stored.table == kValidating) {
      webhooks_.setValidating(stored.key, &*object);
    }
    return {};
  };
  // CRDs first: they say what can be selected in the objects they define.
  for (const bool crds : {true, false})
    for (auto& stored : state->objects)
      if ((stored.table == kCrds) == crds) {
        const auto resource = registry_.findByTable(stored.table);
        if (auto done = restore(stored, resource.get()); !done) return done;
      }
  store_.restoreVersion(state->version);
  return {};
}

// What every cluster has from its start.
void Server::addDefaultObjects() {
  const auto add = [this](const char* table, json::object object) {
    const auto resource = registry_.findByTable(table);
    json::value value = std::move(object);
    auto& metadata = value.get_object()["metadata"].get_object();
    if (store_.table(table).find(textAt(value, "metadata", "name"))) return;
    metadata["uid"] = newUid(random_);
    metadata["creationTimestamp"] = formatTime(executor_.wallNow());
    store_.put(store_.table(table), draftOf(value, *resource), value);
  };
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"})
    add("namespaces",
        {{"apiVersion", "v1"},
         {"kind", "Namespace"},
         {"metadata", {{"name", name}, {"labels", {{"kubernetes.io/metadata.name", name}}}}},
         {"spec", {{"finalizers", {"kubernetes"}}}},
         {"status", {{"phase", "Active"}}}});
  for (const auto& [name, priority, what] :
       {std::tuple{"system-cluster-critical", 2'000'000'000,
                   "Used for system critical pods that must run in the cluster, but can be moved "
                   "to another node if necessary."},
        std::tuple{
            "system-node-critical", 2'000'001'000,
            "Used for system critical pods that must not be moved from their current node."}})
    add("priorityclasses.scheduling.k8s.io", {{"apiVersion", "scheduling.k8s.io/v1"},
                                              {"kind", "PriorityClass"},
                                              {"metadata", {{"name", name}, {"generation", 1}}},
                                              {"value", priority},
                                              {"description", what},
                                              {"preemptionPolicy", "PreemptLowerPriority"}});
}

// What else the server took from an object that is as before now.
void Server::takenBack(const Table& table, const Event& event) {
  const auto& entry = event.before ? event.before : event.now;
  const auto object = event.before ? parseJson(event.before->text) : Result<json::value>();
  const json::value* before = event.before && object ? &*object : nullptr;
  if (table.name() == kMutating) {
    webhooks_.setMutating(entry->key, before);
  } else if (table.name() == kValidating) {
    webhooks_.setValidating(entry->key, before);
  } else if (table.name() == kCrds) {
    std::vector<std::string> ignored;
    auto learnt = before ? resourceOfCrd(*before, ignored) : fail(ErrorCode::NotFound, "");
    if (learnt) {
      registry_.put(*std::move(learnt));
    } else {
      registry_.remove(entry->key);
    }
  }
}

void Server::storageChanged(const Error* failure) {
  // The ledger has charges of what was taken back; until now nothing could be stored anyway.
  if (!failure) quotas_.load();
  if (options_.onStorage) options_.onStorage(failure);
}

// Waits until all that a reply may depend on is on disk; false when some of it was taken back.
Task<bool> Server::settled() {
  if (store_.durableVersion() >= store_.version()) co_return true;
  auto [settled, completer] = Future<bool>::make(executor_);
  store_.whenDurable(store_.version(), [completer](bool durable) { completer.complete(durable); });
  const bool durable = co_await settled;
  co_return durable;
}

Task<Reply> Server::serve(Call call) {
  ++counters_.requests;
  Reply reply;
  if (call.request.group == kMetricsGroup) {
    reply = readMetrics(call, registry_, store_);
    if (reply.error) ++counters_.failures;
    co_return reply;
  }
  const auto verb = call.request.verb;
  const bool reading =
      (verb == kube::Verb::Get || verb == kube::Verb::List) && call.request.subresource != "scale";
  if (reading) {
    // What was read and then taken back is read again.
    bool durable = false;
    while (!durable) {
      reply = read(call);
      auto settling = settled();
      durable = co_await settling;
    }
  } else {
    auto writing = write(call);
    reply = co_await writing;
  }
  if (reply.error) ++counters_.failures;
  co_return reply;
}

Task<Reply> Server::write(const Call& call) {
  Reply reply;
  WriteCall write(*this, call);
  auto running = write.run();
  auto outcome = co_await running;
  auto settling = settled();
  const bool durable = co_await settling;
  if (!durable || write.takenBack()) {
    // By now the storage may be well again, but this write is gone.
    const auto& failure = store_.failure();
    reply = failureReply(
        storageFailure(failure ? *failure : Error{ErrorCode::Io, "it failed for a moment", {}}),
        call.request);
  } else if (outcome) {
    reply.body = std::move(outcome->text);
    reply.status = outcome->status;
  } else {
    reply = failureReply(std::move(outcome.error()), call.request);
  }
  for (auto& warning : write.warnings()) reply.warnings.push_back(std::move(warning));
  co_return reply;
}

}  // namespace koord::apiserver
