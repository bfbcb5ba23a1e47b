#include "apiserver/server/server.h"

#include <fmt/format.h>

#include "api/group_version.h"
#include "apiserver/access/reviews.h"
#include "apiserver/authn/service_account_tokens.h"
#include "apiserver/authz/authorizer.h"
#include "apiserver/metricsapi/metrics_api.h"
#include "apiserver/protobuf_front.h"
#include "apiserver/registry/crd.h"
#include "apiserver/server/absent.h"
#include "apiserver/server/body.h"
#include "apiserver/server/read.h"
#include "apiserver/server/write.h"
#include "base/log.h"
#include "base/split.h"

namespace koord::apiserver {
namespace {

constexpr const char* kCrds = "customresourcedefinitions.apiextensions.k8s.io";
constexpr std::string_view kAdmissionGroup = ".admissionregistration.k8s.io";

// The plural of a table of admission; "" of other tables.
std::string_view admissionPlural(std::string_view table) {
  if (!table.ends_with(kAdmissionGroup)) return {};
  return table.substr(0, table.size() - kAdmissionGroup.size());
}

std::optional<Target> targetOf(const Registry& registry, Store& store, std::string_view group,
                               std::string_view version, std::string_view plural) {
  kube::Request request;
  request.group = group;
  request.version = version;
  request.resource = plural;
  auto target = findTarget(registry, store, request);
  return target ? std::optional(*std::move(target)) : std::nullopt;
}

// Answers a check of a match condition.
cel::AuthorizationDecision answerCheck(Authorizer* authorizer, const User& user,
                                       const cel::AuthorizationRequest& request) {
  if (!authorizer) return {.allowed = true, .reason = {}, .error = {}};
  User subject = user;
  constexpr std::string_view kServiceAccount = "system:serviceaccount:";
  if (request.serviceAccount) {
    const auto parts =
        splitAll(std::string_view(*request.serviceAccount)
                     .substr(std::min(kServiceAccount.size(), request.serviceAccount->size())),
                 ':');
    if (parts.size() == 2) subject = serviceAccountUser(parts[0], parts[1]);
  }
  Attributes attributes{.user = subject, .verb = request.verb};
  if (request.path) {
    attributes.path = *request.path;
  } else {
    attributes.group = request.group;
    attributes.resource = request.resource;
    attributes.subresource = request.subresource;
    attributes.namespace_ = request.nameSpace;
    attributes.name = request.name;
  }
  const Decision decision = authorizer->authorize(attributes);
  return {.allowed = decision.allowed, .reason = decision.reason, .error = {}};
}

// Where the objects of a kind {apiVersion, kind} are.
std::optional<Target> targetOfKind(const Registry& registry, Store& store,
                                   const json::value& kind) {
  const auto [group, version] = api::splitApiVersion(textAt(kind, "apiVersion"));
  const auto resource = registry.findByKind(group, textAt(kind, "kind"));
  return resource ? targetOf(registry, store, group, version, resource->plural) : std::nullopt;
}

// Every group and version that serves the objects of the resource.
std::vector<ResourceForm> formsOf(const Registry& registry, const Resource& resource) {
  std::vector<ResourceForm> forms;
  for (const auto& [name, other] : registry.all()) {
    if (other->table != resource.table) continue;
    for (const auto& version : other->versions)
      if (version.served) forms.push_back({other, version.name});
  }
  return forms;
}

void convertForm(const Registry& registry, Store& store, json::value& object,
                 const Resource& resource, std::string_view from, const ResourceForm& to,
                 bool back) {
  const auto own = targetOf(registry, store, resource.group, from, resource.plural);
  const auto other = targetOf(registry, store, to.resource->group, to.version, to.resource->plural);
  if (!own || !other) return;
  toStoredForm(object, back ? *other : *own);
  toRequestedForm(object, back ? *own : *other);
}

}  // namespace

Server::Server(Executor& executor, ServerOptions options)
    : executor_(executor),
      options_(std::move(options)),
      random_(options_.seed),
      store_(executor, {options_.historyEvents}),
      admission_(executor, options_.webhookCaller, random_),
      quotas_(executor, store_, registry_),
      watchFrames_(std::make_shared<WatchFrames>()),
      crdCleanup_(std::make_unique<CrdCleanup>(*this)),
      policyChecks_(std::make_unique<PolicyChecks>(*this)) {
  admission_.setHost(
      {.namespaceLabels =
           [this](std::string_view name) {
             const auto entry = store_.table("namespaces").find(name);
             return entry ? entry->labels : api::StringMap{};
           },
       .namespaceObject =
           [this](std::string_view name) {
             const auto entry = store_.table("namespaces").find(name);
             auto object = entry ? parseJson(entry->text) : Result<json::value>(json::value());
             return object ? *std::move(object) : json::value();
           },
       .paramTarget =
           [this](const json::value& kind) { return targetOfKind(registry_, store_, kind); },
       .kindSchema =
           [this](std::string_view kind) { return registry_.builtinSchemas()->find(kind); },
       .authorize =
           [this](const User& user, const cel::AuthorizationRequest& request) {
             return answerCheck(authorizer(), user, request);
           },
       .forms = {.forms = [this](const Resource& resource) { return formsOf(registry_, resource); },
                 .convert =
                     [this](json::value& object, const Resource& resource, std::string_view from,
                            const ResourceForm& to, bool back) {
                       convertForm(registry_, store_, object, resource, from, to, back);
                     }}});
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
          raw->onReverted(table, event);
        },
        [raw = server.get()](const Error* failure) { raw->storageChanged(failure); });
    server->store_.setJournal(inlineCommits
                                  ? makeInlineJournal(executor, *std::move(storage), onDurable)
                                  : makeGroupJournal(executor, *std::move(storage), onDurable));
  }
  if (auto opened = server->openAccess(); !opened) return fail(std::move(opened.error()));
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
    if (stored.table == "services") addresses_.changed(stored.key, &*object);
    if (stored.table == kCrds) {
      // A stored definition that violates a newer rule must not prevent the start of the server.
      if (auto learnt = resourceOfCrd(*object)) {
        registry_.put(*std::move(learnt));
      } else {
        log::error("CustomResourceDefinition {}: its objects are not served: {}", stored.key,
                   learnt.error().message);
      }
      if (waitsForCleanup(*object)) crdCleanup_->start(stored.key);
    } else if (const auto plural = admissionPlural(stored.table); !plural.empty()) {
      admission_.follow(plural, stored.key, &*object);
      if (plural == "validatingadmissionpolicies") policyChecks_->start(stored.key);
    }
    return {};
  };
  // CRDs first: they define the selectable fields of their objects.
  for (const bool crds : {true, false})
    for (auto& stored : state->objects)
      if ((stored.table == kCrds) == crds) {
        const auto resource = registry_.findByTable(stored.table);
        if (auto done = restore(stored, resource.get()); !done) return done;
      }
  store_.restoreVersion(state->version);
  return {};
}

// Creates authorization and the system objects. Derived state comes first, so that it is notified
// of the objects that the server creates.
Result<> Server::openAccess() {
  SystemObjects::Options system{.rbac = options_.rbac,
                                .serviceAccounts = options_.serviceAccounts.has_value(),
                                .rootCaPem = {}};
  if (options_.rbac) {
    authorizer_ = std::make_unique<Authorizer>(store_, registry_);
    aggregation_ = std::make_unique<RoleAggregation>(store_, registry_);
  }
  if (options_.serviceAccounts) {
    auto& accounts = *options_.serviceAccounts;
    system.rootCaPem = accounts.rootCaPem;
    if (accounts.keys.empty()) {
      auto key = net::SigningKey::generate();
      if (!key) return fail(std::move(key.error()));
      accounts.keys.push_back(*std::move(key));
    }
    authenticator_.setAccounts(
        std::make_unique<ServiceAccountTokens>(store_, executor_, accounts.keys, accounts.issuer));
  }
  systemObjects_ = std::make_unique<SystemObjects>(executor_, store_, registry_, quotas_, random_,
                                                   std::move(system));
  systemObjects_->addAll();
  return {};
}

// Reverts what the server derived from an object.
void Server::onReverted(const Table& table, const Event& event) {
  const auto& entry = event.before ? event.before : event.now;
  const auto object = event.before ? parseJson(event.before->text) : Result<json::value>();
  const json::value* before = event.before && object ? &*object : nullptr;
  if (const auto plural = admissionPlural(table.name()); !plural.empty()) {
    admission_.follow(plural, entry->key, before);
  } else if (table.name() == "services") {
    addresses_.changed(entry->key, before);
  } else if (table.name() == kCrds) {
    auto learnt = before ? resourceOfCrd(*before) : fail(ErrorCode::NotFound, "");
    if (learnt) {
      registry_.put(*std::move(learnt));
      if (waitsForCleanup(*before)) crdCleanup_->start(entry->key);
    } else {
      registry_.remove(entry->key);
    }
  }
}

void Server::storageChanged(const Error* failure) {
  // The ledger has charges of reverted changes, which do no harm until the storage works again.
  if (!failure) quotas_.load();
  if (options_.onStorage) options_.onStorage(failure);
}

// Waits until all that a reply may depend on is on disk. Returns false if a part of it was
// reverted.
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
  try {
    auto runHandler = answer(call);
    reply = co_await runHandler;
  } catch (...) {
    reply = failureReply(thrownFailure(call.request.resource), call.request);
  }
  if (reply.error) ++counters_.failures;
  co_return reply;
}

Task<Reply> Server::answer(const Call& call) {
  Reply reply;
  if (call.request.group == kMetricsGroup) {
    reply = readMetrics(call, registry_, store_);
    co_return reply;
  }
  if (isReview(call.request)) {
    reply = answerReview(*this, call);
    co_return reply;
  }
  if (auto absent = absentReply(call.request, store_)) co_return *std::move(absent);
  const auto verb = call.request.verb;
  const bool reading =
      (verb == kube::Verb::Get || verb == kube::Verb::List) && call.request.subresource != "scale";
  if (reading) {
    // Repeats a read whose result was reverted.
    const bool inSlices = verb == kube::Verb::List && call.format != Format::Object;
    std::optional<Outcome<ListPage>> page;
    bool durable = false;
    while (!durable) {
      if (inSlices) {
        page = pageOf(call, registry_, store_);
      } else {
        reply = read(call);
      }
      auto settling = settled();
      durable = co_await settling;
    }
    if (page) {
      auto rendering = renderInSlices(executor_, call, *std::move(page));
      reply = co_await rendering;
    }
  } else {
    auto writing = write(call);
    reply = co_await writing;
  }
  co_return reply;
}

Task<Reply> Server::write(const Call& call) {
  Reply reply;
  WriteCall write(*this, call);
  auto running = write.run();
  auto outcome = co_await running;
  auto settling = settled();
  const bool durable = co_await settling;
  if (!durable || write.onReverted()) {
    // The storage may work again already, but this write is lost.
    const auto& failure = store_.failure();
    reply = failureReply(
        storageFailure(failure
                           ? *failure
                           : Error{ErrorCode::Io, "a write failed; the storage works again", {}}),
        call.request);
  } else if (outcome) {
    reply.body = std::move(outcome->text);
    reply.status = outcome->status;
  } else {
    auto& failure = outcome.error();
    if (!failure.subject && call.request.name.empty())
      failure.subject = Subject{call.request.group, call.request.resource, write.newName()};
    reply = failureReply(std::move(failure), call.request);
  }
  for (auto& warning : write.warnings()) reply.warnings.push_back(std::move(warning));
  reply.auditAnnotations = std::move(write.annotations());
  co_return reply;
}

}  // namespace koord::apiserver
