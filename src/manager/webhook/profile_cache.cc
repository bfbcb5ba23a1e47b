#include "manager/webhook/profile_cache.h"

#include "kube/client.h"

namespace koord::manager {

using namespace std::chrono_literals;

ProfileCache::ProfileCache(kube::Api& api, Executor& executor, Random random)
    : api_(api),
      executor_(executor),
      profiles_(api, executor, {}, random.fork()),
      namespaces_(api, executor, {}, random.fork()),
      priorityClasses_(api, executor, {}, random.fork()) {}

void ProfileCache::start() {
  profiles_.start();
  namespaces_.start();
  priorityClasses_.start();
}

bool ProfileCache::synced() const {
  return profiles_.synced() && namespaces_.synced() && priorityClasses_.synced();
}

Task<Result<>> ProfileCache::waitUntilSynced() {
  for (int i = 0; i < 100 && !synced(); ++i) {
    auto pause = sleepFor(executor_, 50ms);
    co_await pause;
  }
  if (synced()) co_return Result<>();
  co_return fail(ErrorCode::Unavailable,
                 "the webhook has not read the cluster's profiles yet; try again");
}

std::vector<ProfilePtr> ProfileCache::profiles() const {
  return {profiles_.objects().begin(), profiles_.objects().end()};
}

Task<Result<api::StringMap>> ProfileCache::namespaceLabels(std::string name) {
  if (const auto known = namespaces_.get({"", name})) co_return known->metadata.labels;
  // The namespace may be newer than the informer's state.
  auto task = kube::get<api::Namespace>(api_, {"", name});
  auto fetched = co_await task;
  if (!fetched) co_return fail(std::move(fetched.error()).within("namespace " + name));
  co_return fetched->metadata.labels;
}

Task<Result<api::Map<api::PriorityClass>>> ProfileCache::priorityClasses(
    std::vector<ProfilePtr> profiles) {
  api::Map<api::PriorityClass> classes;
  for (const auto& profile : profiles) {
    const std::string& name = profile->spec.priorityClassName;
    if (name.empty() || classes.contains(name)) continue;
    if (const auto known = priorityClasses_.get({"", name})) {
      classes[name] = *known;
      continue;
    }
    auto task = kube::get<api::PriorityClass>(api_, {"", name});
    auto fetched = co_await task;
    if (fetched) {
      classes[name] = *std::move(fetched);
    } else if (fetched.error().code != ErrorCode::NotFound) {
      co_return fail(std::move(fetched.error()).within("PriorityClass " + name));
    }
  }
  co_return classes;
}

PriorityClassLookup lookupIn(const api::Map<api::PriorityClass>& classes) {
  return [&classes](std::string_view name) -> const api::PriorityClass* {
    const auto it = classes.find(name);
    return it == classes.end() ? nullptr : &it->second;
  };
}

}  // namespace koord::manager
