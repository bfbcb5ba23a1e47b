#include "apiserver/server/crd_cleanup.h"

#include <algorithm>

#include "apiserver/objects/edit.h"
#include "apiserver/server/server.h"
#include "base/log.h"

namespace koord::apiserver {
namespace {

using namespace std::chrono_literals;

constexpr const char* kDefinitions = "customresourcedefinitions.apiextensions.k8s.io";
constexpr std::size_t kObjectsPerSlice = 64;
constexpr Duration kRecheckPause = 1s;

Call callOfServer(kube::Verb verb, const Resource& resource, std::string_view version) {
  Call call;
  call.user = {"system:apiserver", "", {"system:masters"}, {}};
  call.ofServer = true;
  call.request.verb = verb;
  call.request.group = resource.group;
  call.request.version = version;
  call.request.resource = resource.plural;
  return call;
}

bool hasFinalizer(const json::value& crd) {
  const auto* list = arrayAt(memberOf(crd, "metadata"), "finalizers");
  return list &&
         std::ranges::find(*list, json::value(json::string_view(kCleanupFinalizer))) != list->end();
}

}  // namespace

bool waitsForCleanup(const json::value& crd) {
  return !textAt(crd, "metadata", "deletionTimestamp").empty() && hasFinalizer(crd);
}

void requireCleanup(json::value& crd, std::string_view now) {
  auto& metadata = objectAt(crd.get_object(), "metadata");
  if (!hasFinalizer(crd)) {
    auto& list = metadata["finalizers"];
    if (!list.is_array()) list = json::array{};
    list.get_array().push_back(json::value(json::string_view(kCleanupFinalizer)));
  }
  setCondition(objectAt(crd.get_object(), "status"),
               {{"type", "Terminating"},
                {"status", "True"},
                {"lastTransitionTime", now},
                {"reason", "InstanceDeletionInProgress"},
                {"message", "CustomResource deletion is in progress"}});
}

void CrdCleanup::start(const std::string& name) {
  if (running_.insert(name).second) tasks_.spawn(run(name));
}

Task<void> CrdCleanup::run(std::string name) {
  bool asked = false;
  for (Duration pause = Duration::zero();; pause = kRecheckPause) {
    // Never runs on the stack of the call that deletes the definition.
    auto waiting = sleepFor(server_.executor(), pause);
    co_await waiting;
    const auto entry = server_.store().table(kDefinitions).find(name);
    const auto crd = entry ? parseJson(entry->text) : Result<json::value>(json::value());
    if (!crd || !waitsForCleanup(*crd)) break;
    const auto served = server_.registry().findByTable(name);
    const bool builtIn = served && !served->custom;  // the objects are not of this definition
    // The objects of a definition that this server could not read are not served, so no request can
    // remove them.
    if (!served) server_.store().eraseAll(server_.store().table(name));
    if (!asked && !builtIn) {
      auto removing = removeObjects(name);
      asked = co_await removing;
    }
    if (!builtIn && (!asked || !server_.store().table(name).entries().empty())) continue;
    json::array rest;
    for (const auto& finalizer : *arrayAt(memberOf(*crd, "metadata"), "finalizers"))
      if (finalizer != json::value(json::string_view(kCleanupFinalizer))) rest.push_back(finalizer);
    const auto resource = server_.registry().findByTable(kDefinitions);
    Call call = callOfServer(kube::Verb::Patch, *resource, "v1");
    call.request.name = name;
    call.request.body = toJson(json::object{
        {"metadata",
         {{"resourceVersion", std::to_string(entry->version)}, {"finalizers", std::move(rest)}}}});
    auto patching = server_.serve(std::move(call));
    const auto reply = co_await patching;
    if (reply.error)
      log::v(2, "CustomResourceDefinition {} cannot be removed yet: {}", name,
             reply.error->message);
  }
  running_.erase(name);
}

Task<bool> CrdCleanup::removeObjects(std::string table) {
  bool all = true;
  std::string last;
  for (;;) {
    const auto resource = server_.registry().findByTable(table);
    if (!resource) co_return true;
    std::vector<EntryPtr> some;
    const auto& entries = server_.store().table(table).entries();
    for (auto it = entries.upper_bound(last); it != entries.end() && some.size() < kObjectsPerSlice;
         ++it)
      some.push_back(it->second);
    if (some.empty()) co_return all;
    last = some.back()->key;
    for (const auto& entry : some) {
      Call call = callOfServer(kube::Verb::Delete, *resource, resource->storageVersion().name);
      call.request.namespace_ = entry->namespace_();
      call.request.name = entry->name();
      auto removing = server_.serve(std::move(call));
      const auto reply = co_await removing;
      if (reply.error && reply.error->code != ErrorCode::NotFound) all = false;
    }
    auto yield = sleepFor(server_.executor(), Duration::zero());
    co_await yield;
  }
}

}  // namespace koord::apiserver
