#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdio>
#include <vector>

#include "api/group_version.h"
#include "base/event_loop.h"
#include "cluster/snapshot/snapshot_writer.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "koordctl/snapshot/name_hasher.h"
#include "koordctl/snapshot/take.h"
#include "kube/http_api.h"
#include "kube/received.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

constexpr const char* kPage = "2000";

struct Kind {
  std::string group;
  std::string version;
  std::string plural;
  std::string kind;
  std::string table() const { return group.empty() ? plural : plural + "." + group; }
  std::string apiVersion() const { return group.empty() ? version : group + "/" + version; }
};

bool hasVerb(const json::value& resource, std::string_view verb) {
  const auto* verbs = find(resource, "verbs");
  const auto* array = verbs ? verbs->if_array() : nullptr;
  return array && std::ranges::any_of(*array, [&](const json::value& value) {
           return value.is_string() && value.get_string() == verb;
         });
}

// What is left out of every object: who owns which field, and Secrets that were applied.
void strip(json::object& object, const Kind& kind) {
  object["apiVersion"] = kind.apiVersion();
  object["kind"] = kind.kind;
  auto* metadata = object["metadata"].if_object();
  if (!metadata) return;
  metadata->erase("managedFields");
  auto* annotations =
      metadata->contains("annotations") ? (*metadata)["annotations"].if_object() : nullptr;
  if (annotations) annotations->erase("kubectl.kubernetes.io/last-applied-configuration");
}

class Taker {
 public:
  Taker(kube::HttpApi& api, std::string file, cluster::SnapshotHeader header)
      : api_(api), file_(std::move(file)), header_(std::move(header)) {}

  Task<Result<cluster::SnapshotCounts>> run() {
    auto discovering = discover();
    auto kinds = co_await discovering;
    if (!kinds) co_return fail(std::move(kinds.error()));
    auto looking = currentVersion();
    auto version = co_await looking;
    if (!version) co_return fail(std::move(version.error()));
    header_.resourceVersion = *version;
    auto writer = cluster::SnapshotWriter::create(file_, header_);
    if (!writer) co_return fail(std::move(writer.error()));
    writer_ = *std::move(writer);
    for (const auto& kind : *kinds) {
      auto adding = addAll(kind);
      auto added = co_await adding;
      // A kind that this user may not list, or that was just removed, costs the others nothing.
      const bool skipped = !added && (added.error().code == ErrorCode::Forbidden ||
                                      added.error().code == ErrorCode::NotFound ||
                                      added.error().code == ErrorCode::MethodNotAllowed);
      if (!added && !skipped) co_return fail(std::move(added.error()).within(kind.table()));
      if (skipped)
        std::fprintf(stderr, "koordctl: skipped %s: %s\n", kind.table().c_str(),
                     added.error().message.c_str());
    }
    if (auto written = writeKept(); !written) co_return fail(std::move(written.error()));
    if (auto finished = writer_->finish(); !finished) co_return fail(std::move(finished.error()));
    co_return cluster::SnapshotCounts{writer_->objects(), writer_->files()};
  }

 private:
  Task<Result<std::vector<Kind>>> discover() {
    std::vector<Kind> kinds;
    std::vector<std::string> groupVersions = {"v1"};
    auto listing = api_.getPath("/apis");
    auto text = co_await listing;
    auto groups = text ? parseJson(*text) : fail(std::move(text.error()));
    if (!groups) co_return fail(std::move(groups.error()).within("discovery"));
    const auto* array = find(*groups, "groups") ? find(*groups, "groups")->if_array() : nullptr;
    if (array)
      for (const auto& group : *array)
        groupVersions.emplace_back(textAt(group, "preferredVersion", "groupVersion"));
    for (const auto& groupVersion : groupVersions) {
      auto reading = api_.getPath((groupVersion == "v1" ? "/api/" : "/apis/") + groupVersion);
      auto answer = co_await reading;
      auto resources = answer ? parseJson(*answer) : fail(std::move(answer.error()));
      if (!resources) {
        std::fprintf(stderr, "koordctl: skipped %s: %s\n", groupVersion.c_str(),
                     resources.error().message.c_str());
        continue;
      }
      addKinds(groupVersion, *resources, kinds);
    }
    co_return kinds;
  }

  static void addKinds(const std::string& groupVersion, const json::value& resources,
                       std::vector<Kind>& kinds) {
    const auto [group, version] = api::splitApiVersion(groupVersion);
    const auto* list = find(resources, "resources");
    const auto* array = list ? list->if_array() : nullptr;
    if (!array) return;
    for (const auto& resource : *array) {
      Kind kind{std::string(group), std::string(version), std::string(textAt(resource, "name")),
                std::string(textAt(resource, "kind"))};
      // Subresources, and kinds that are computed and not stored, cannot be watched. Events are in
      // two groups.
      const bool stored = hasVerb(resource, "list") && hasVerb(resource, "watch") &&
                          kind.plural.find('/') == std::string::npos;
      if (!stored || kind.table() == "secrets" || kind.group == "events.k8s.io") continue;
      kinds.push_back(std::move(kind));
    }
  }

  Task<Result<std::string>> currentVersion() {
    kube::Request request;
    request.verb = kube::Verb::List;
    request.version = "v1";
    request.resource = "namespaces";
    request.query["limit"] = "1";
    auto asking = api_.call(std::move(request));
    auto reply = co_await asking;
    if (!reply) co_return fail(std::move(reply.error()));
    auto head = kube::openList(*reply, [](const kube::Received&) {});
    if (!head) co_return fail(std::move(head.error()));
    co_return head->resourceVersion;
  }

  // All objects of a kind, at the version of the snapshot.
  Task<Result<>> addAll(const Kind& kind) {
    kube::Request request;
    request.verb = kube::Verb::List;
    request.group = kind.group;
    request.version = kind.version;
    request.resource = kind.plural;
    request.query = {{"limit", kPage},
                     {"resourceVersion", header_.resourceVersion},
                     {"resourceVersionMatch", "Exact"}};
    bool exact = true;
    while (true) {
      auto asking = api_.call(request);
      auto reply = co_await asking;
      if (!reply && exact && !request.query.contains("continue") &&
          (reply.error().code == ErrorCode::Gone || reply.error().code == ErrorCode::Timeout)) {
        // A server that keeps no such old version, or an aggregated one with versions of its own.
        exact = false;
        request.query = {{"limit", kPage}};
        continue;
      }
      if (!reply) co_return fail(std::move(reply.error()));
      Result<> added;
      auto head = kube::openList(*reply, [&](const kube::Received& item) {
        if (!added || !item.document() || !item.document()->is_object()) return;
        json::object object = item.document()->get_object();
        strip(object, kind);
        added = add(kind.table(), object);
      });
      if (!added) co_return added;
      if (!head) co_return fail(std::move(head.error()));
      if (head->next.empty()) co_return Result<>{};
      request.query = {{"limit", kPage}, {"continue", std::move(head->next)}};
    }
  }

  Result<> add(const std::string& resource, const json::object& object) {
    if (!header_.namesHashed) return writer_->addObject(resource, toJson(object));
    hasher_.collect(resource, object);
    kept_.emplace_back(resource, toJson(object));
    return {};
  }

  // All names are known.
  Result<> writeKept() {
    hasher_.finish();
    for (auto& [resource, text] : kept_) {
      auto object = parseJson(text);
      if (!object) return fail(std::move(object.error()));
      hasher_.apply(resource, object->get_object());
      if (auto added = writer_->addObject(resource, toJson(*object)); !added) return added;
      text = {};
    }
    return {};
  }

  kube::HttpApi& api_;
  std::string file_;
  cluster::SnapshotHeader header_;
  NameHasher hasher_;
  std::vector<std::pair<std::string, std::string>> kept_;  // resources and objects, to be renamed
  std::unique_ptr<cluster::SnapshotWriter> writer_;
};

Task<void> take(Taker* taker, Result<cluster::SnapshotCounts>* result, EventLoop* loop) {
  auto taking = taker->run();
  *result = co_await taking;
  loop->stop();
}

}  // namespace

Result<cluster::SnapshotCounts> takeSupport(const std::string& kubeconfig, const std::string& file,
                                            cluster::SnapshotHeader header) {
  const auto choice = chooseKubeconfig(kubeconfig);
  auto config = loadChoice(choice);
  if (!config) return fail(explainFailure(choice, std::move(config.error())));
  header.scope = cluster::SnapshotHeader::Scope::Support;
  header.secrets = false;
  Result<cluster::SnapshotCounts> result;
  EventLoop loop;
  {
    net::HttpClient http({.userAgent = "koordctl"});
    kube::HttpApi api(http, loop, *std::move(config));
    Taker taker(api, file, std::move(header));
    TaskGroup tasks;
    tasks.spawn(take(&taker, &result, &loop));
    loop.run();
  }
  if (!result && result.error().code != ErrorCode::Io &&
      result.error().code != ErrorCode::AlreadyExists)
    return fail(explainFailure(choice, std::move(result.error())));
  return result;
}

}  // namespace koord::koordctl
