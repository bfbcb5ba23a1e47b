#include <fmt/format.h>

#include <tuple>

#include "apiserver/admission/builtin.h"
#include "apiserver/objects/edit.h"
#include "apiserver/server/body.h"
#include "apiserver/server/match.h"
#include "apiserver/server/write.h"
#include "base/time.h"

namespace koord::apiserver {
namespace {

// The DeleteOptions of a request: its body, or the query parameters of the same names.
Outcome<json::value> deleteOptions(const kube::Request& request) {
  json::value options = json::object{};
  if (!request.body.empty()) {
    auto body = parseJson(request.body);
    if (!body) return refuse(std::move(body.error()).within("error decoding the delete options"));
    if (!body->is_object())
      return refuse(ErrorCode::BadRequest, "the delete options must be a JSON object");
    options = *std::move(body);
  }
  auto& members = options.get_object();
  if (const auto policy = queryOf(request, "propagationPolicy"); !policy.empty())
    members["propagationPolicy"] = policy;
  if (const auto grace = queryOf(request, "gracePeriodSeconds"); !grace.empty()) {
    auto number = parseJson(grace);
    if (!number || !number->is_int64())
      return refuse(ErrorCode::BadRequest,
                    fmt::format("gracePeriodSeconds: expected an integer, got \"{}\"", grace));
    members["gracePeriodSeconds"] = *number;
  }
  if (auto good = checkDeleteOptions(options); !good)
    return std::unexpected(std::move(good.error()));
  return options;
}

void setFinalizer(json::object& metadata, std::string_view name, bool present) {
  auto& list = metadata["finalizers"];
  if (!list.is_array()) list = json::array{};
  auto& finalizers = list.get_array();
  const auto it =
      std::ranges::find(finalizers, json::value(json::string_view(name.data(), name.size())));
  if (present && it == finalizers.end())
    finalizers.push_back(json::value(json::string_view(name.data(), name.size())));
  if (!present && it != finalizers.end()) finalizers.erase(it);
  if (finalizers.empty()) eraseMember(metadata, "finalizers");
}

// Deletions before other requests get a turn.
constexpr std::size_t kDeletionsPerSlice = 64;

std::string uidOf(const Entry& entry) {
  const auto object = parseJson(entry.bareText());
  return object ? std::string(textAt(*object, "metadata", "uid")) : std::string();
}

// Saturates: a later time is more than a client could mean.
WallTime timeAfter(WallTime now, std::int64_t seconds) {
  const auto most = std::chrono::floor<std::chrono::seconds>(WallTime::max() - now);
  return now + std::min(std::chrono::seconds(seconds), most);
}

// The grace period of a pod; other kinds are deleted at once.
std::int64_t graceOf(const json::value& object, const Resource& resource,
                     const json::value& options) {
  if (!resource.isCore("pods")) return 0;
  if (textAt(object, "spec", "nodeName").empty()) return 0;
  const auto phase = textAt(object, "status", "phase");
  if (phase == "Succeeded" || phase == "Failed") return 0;
  const auto own = integerAt(object, 30, "spec", "terminationGracePeriodSeconds");
  const auto grace = integerAt(options, own, "gracePeriodSeconds");
  return grace < 0 ? 1 : grace;
}

}  // namespace

Outcome<> checkDeleteOptions(const json::value& options) {
  constexpr const char* kKind = "DeleteOptions.meta.k8s.io";
  const auto& grace = memberOf(options, "gracePeriodSeconds");
  if (!grace.is_null() && (!grace.is_int64() || grace.get_int64() < 0))
    return refuse(FieldErrors()
                      .invalid("gracePeriodSeconds", grace, "must be greater than or equal to 0")
                      .failure(kKind, ""));
  const auto& policy = memberOf(options, "propagationPolicy");
  if (!policy.is_null() && !isMissing(membersOf(options), "orphanDependents"))
    return refuse(FieldErrors()
                      .invalid("propagationPolicy", policy,
                               "orphanDependents and deletionPropagation cannot be both set")
                      .failure(kKind, ""));
  if (!policy.is_null() && policy != "" && policy != "Orphan" && policy != "Background" &&
      policy != "Foreground")
    return refuse(
        FieldErrors()
            .unsupported("propagationPolicy", policy, {"Background", "Foreground", "Orphan"})
            .failure(kKind, ""));
  const auto& dryRun = memberOf(options, "dryRun");
  if (dryRun.is_null()) return {};
  if (!dryRun.is_array())
    return refuse(ErrorCode::BadRequest, "dryRun: expected a list of strings");
  for (const auto& item : dryRun.get_array())
    if (item != "All")
      return refuse(FieldErrors().unsupported("dryRun", item, {"All"}).failure(kKind, ""));
  return {};
}

bool wantsDryRun(const json::value& deleteOptions) {
  const auto* dryRun = arrayAt(deleteOptions, "dryRun");
  return dryRun && !dryRun->empty();
}

Task<Outcome<Written>> WriteCall::remove() {
  const auto& request = call_.request;
  if (!request.subresource.empty())
    co_return refuse(ErrorCode::MethodNotAllowed,
                     "the server does not allow this method on the requested resource");
  auto options = deleteOptions(request);
  if (!options) co_return std::unexpected(std::move(options.error()));
  dryRun_ = dryRun_ || wantsDryRun(*options);
  const auto entry = target_.table->find(
      makeKey(target_.resource->namespaced ? request.namespace_ : "", request.name));
  if (!entry) co_return refuse(notFound(*target_.resource, request.name));
  auto task = removeOne(entry, *std::move(options));
  co_return co_await task;
}

Task<Outcome<Written>> WriteCall::removeOne(EntryPtr entry, json::value options) {
  const std::string name(entry->name());
  auto old = readOld(*entry);
  if (!old) co_return std::unexpected(std::move(old.error()));
  if (auto good = checkPreconditions(*entry, *old, options); !good)
    co_return std::unexpected(std::move(good.error()));
  if (target_.stored->isCore("namespaces"))
    if (auto good = admitNamespaceDelete(name); !good)
      co_return std::unexpected(std::move(good.error()));
  if (auto good = admitNode("DELETE", nullptr, &*old); !good)
    co_return std::unexpected(std::move(good.error()));

  auto a = attributes("DELETE", nullptr, &*old);
  const bool mutates = !call_.ofServer && server_.admission_.wantsMutating(a);
  const bool validates = !call_.ofServer && server_.admission_.wantsValidating(a);
  if (mutates || validates) {
    a.oldObject = webhookForm(*old, std::string(entry->managedFields()));
    if (mutates) {  // nothing to change, but it may be rejected
      auto mutating = server_.admission_.mutate(a, {}, notes());
      if (auto good = co_await mutating; !good) co_return std::unexpected(std::move(good.error()));
    }
    auto asking = server_.admission_.validate(a, notes());
    if (auto good = co_await asking; !good) co_return std::unexpected(std::move(good.error()));
    const auto now = target_.table->find(entry->key);
    if (!now) co_return refuse(notFound(*target_.resource, name));
    if (now != entry) {  // check again with the new version
      entry = now;
      old = readOld(*entry);
      if (!old) co_return std::unexpected(std::move(old.error()));
      if (auto good = checkPreconditions(*entry, *old, options); !good)
        co_return std::unexpected(std::move(good.error()));
    }
  }
  co_return deleteNow(entry, *old, options);
}

Outcome<> WriteCall::checkPreconditions(const Entry& entry, const json::value& object,
                                        const json::value& options) const {
  const auto version = std::to_string(entry.version);
  const std::tuple<const char*, const char*, std::string_view> checks[] = {
      {"uid", "UID", textAt(object, "metadata", "uid")},
      {"resourceVersion", "ResourceVersion", version}};
  for (const auto& [field, name, is] : checks)
    if (const auto wanted = textAt(options, "preconditions", field);
        !wanted.empty() && wanted != is)
      return refuse(conflict(*target_.resource, entry.name(),
                             fmt::format("Precondition failed: {0} in precondition: {1}, {0} in "
                                         "object meta: {2}",
                                         name, wanted, is)));
  return {};
}

Outcome<Written> WriteCall::deleteNow(const EntryPtr& entry, const json::value& old,
                                      const json::value& options) {
  managed_ = entry->managedFields();
  json::value next = old;
  auto& metadata = objectAt(next.get_object(), "metadata");
  const auto policy = textAt(options, "propagationPolicy");
  if (!policy.empty()) {
    setFinalizer(metadata, "orphan", policy == "Orphan");
    setFinalizer(metadata, "foregroundDeletion", policy == "Foreground");
  } else if (flagAt(options, "orphanDependents")) {
    setFinalizer(metadata, "orphan", true);
  }
  const auto grace = graceOf(next, *target_.stored, options);
  const auto* since = metadata.if_contains("deletionTimestamp");
  const bool deleting = since && since->is_string();
  if (!deleting || grace < integerAt(next, 0, "metadata", "deletionGracePeriodSeconds")) {
    // A second deletion can only shorten the grace period.
    const auto now = server_.executor_.wallNow();
    const auto until = grace == 0 && deleting ? std::string(since->get_string())
                                              : formatTime(timeAfter(now, grace));
    metadata["deletionTimestamp"] = until;
    metadata["deletionGracePeriodSeconds"] = grace;
    if (!deleting && metadata.contains("generation"))
      metadata["generation"] = integerAt(next, 0, "metadata", "generation") + 1;
  }
  if (target_.stored->isCore("namespaces"))
    objectAt(next.get_object(), "status")["phase"] = "Terminating";

  if (isCrd(*target_.stored) && !server_.store_.table(entry->name()).entries().empty())
    requireCleanup(next, formatTime(server_.executor_.wallNow()));

  if (dryRun_) return answer(next, 200);
  if (!isDeletable(next)) {
    if (sameObject(next, old)) return answer(*entry, 200);
    const auto stored = put(next);
    if (auto done = followUp(&next, entry->name()); !done)
      return std::unexpected(std::move(done.error()));
    return answer(*stored, 200);
  }
  erase(entry);
  if (auto done = followUp(nullptr, entry->name()); !done)
    return std::unexpected(std::move(done.error()));
  if (target_.stored->isCore("pods")) return answer(old, 200);
  return Written{bytesOf(successText(call_.request, "", textAt(old, "metadata", "uid"))), 200};
}

Task<Outcome<Written>> WriteCall::removeAll() {
  if (target_.stored->isCore("namespaces")) co_return refuse(notAllowed());
  auto options = deleteOptions(call_.request);
  if (!options) co_return std::unexpected(std::move(options.error()));
  dryRun_ = dryRun_ || wantsDryRun(*options);
  auto match = Match::compile(call_.request, target_);
  if (!match) co_return std::unexpected(std::move(match.error()));
  std::vector<EntryPtr> entries;
  const auto [begin, end] = target_.table->range(match->inNamespace());
  for (auto it = begin; it != end; ++it)
    if ((*match)(*it->second)) entries.push_back(it->second);
  std::string items;
  std::size_t done = 0;
  for (const auto& entry : entries) {
    if (++done % kDeletionsPerSlice == 0) {
      auto yield = sleepFor(server_.executor_, Duration::zero());
      co_await yield;
    }
    // The current version. A new object of the same name must not be deleted.
    const auto now = target_.table->find(entry->key);
    if (!now || (now != entry && uidOf(*now) != uidOf(*entry))) continue;
    auto removing = removeOne(now, *options);
    auto outcome = co_await removing;
    if (!outcome && outcome.error().error.code != ErrorCode::NotFound)
      co_return std::unexpected(std::move(outcome.error()));
    if (!items.empty()) items += ',';
    items += requestedText(*entry, target_);
  }
  co_return Written{bytesOf(fmt::format("{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{{"
                                        "\"resourceVersion\":\"{}\"}},\"items\":[{}]}}",
                                        target_.resource->listKind, target_.apiVersion(),
                                        server_.store_.version(), items)),
                    200};
}

}  // namespace koord::apiserver
