#include "simulation/writes.h"

namespace koord::simulation {

Task<void> Writes::mustSucceed(Task<Result<json::value>> task, std::string what) {
  const auto result = co_await task;
  if (!result) journal_.violated("set-up", "{}: {}", what, result.error().message);
}

void Writes::create(const api::ResourceType& type, const std::string& namespace_,
                    json::value object) {
  std::string what(type.kind);
  tasks_.spawn(mustSucceed(kube::createObject(api_, type, {namespace_, ""}, std::move(object)),
                           std::move(what)));
}

void Writes::patch(const api::ResourceType& type, const api::ObjectMeta& meta, json::value patch,
                   std::string subresource) {
  json::object& document = patch.as_object();
  if (!document["metadata"].is_object()) document["metadata"] = json::object{};
  document["metadata"].as_object()["uid"] = meta.uid;
  write(kube::mergePatch(api_, type, api::keyOf(meta), std::move(patch), std::move(subresource)));
}

void Writes::remove(const api::ResourceType& type, const api::ObjectMeta& meta,
                    std::optional<std::int64_t> gracePeriodSeconds) {
  kube::DeleteOptions options;
  options.uid = meta.uid;
  options.gracePeriodSeconds = gracePeriodSeconds;
  write(kube::deleteObject(api_, type, api::keyOf(meta), options));
}

}  // namespace koord::simulation
