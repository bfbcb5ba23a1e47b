#pragma once

// Resource claims, slices and classes for tests, and an API that serves claims: it creates and
// deletes them, applies merge patches, checks versions, and delivers the result to a store as an
// informer does. It notes patches of pods.

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/codec.h"
#include "api/patch/merge_patch.h"
#include "api/resource_claims.h"
#include "base/executor.h"
#include "kube/api.h"
#include "scheduler/framework/store.h"
#include "scheduler/testing/builders.h"

namespace koord::scheduler::testing {

// A slice of the driver gpu.example for one node: devices gpu-0, gpu-1, ... Attributes as JSON.
inline std::shared_ptr<const api::ResourceSlice> gpuSlice(const std::string& node, int devices,
                                                          const std::string& attributes = "",
                                                          const std::string& more = "") {
  std::string list;
  for (int i = 0; i < devices; ++i)
    list += fmt::format(
        R"({}{{"name": "gpu-{}", "attributes": {{"model": {{"string": "a100"}}{}}}{}}})",
        i == 0 ? "" : ", ", i, attributes, more);
  return std::make_shared<const api::ResourceSlice>(
      api::decodeText<api::ResourceSlice>(
          fmt::format(
              R"({{"metadata": {{"name": "{0}-gpus"}}, "spec": {{"driver": "gpu.example", "nodeName": "{0}",
              "pool": {{"name": "{0}", "generation": 1, "resourceSliceCount": 1}},
              "devices": [{1}]}}}})",
              node, list))
          .value());
}

inline std::shared_ptr<const api::DeviceClass> gpuClass(const std::string& name = "gpu") {
  return std::make_shared<const api::DeviceClass>(
      api::decodeText<api::DeviceClass>(
          fmt::format(
              R"({{"metadata": {{"name": "{}"}}, "spec": {{"selectors": [{{"cel": {{"expression":
              "device.driver == \"gpu.example\""}}}}]}}}})",
              name))
          .value());
}

// A claim for `count` devices of the class gpu.
inline std::shared_ptr<api::ResourceClaim> gpuClaim(const std::string& name, int count = 1) {
  return std::make_shared<api::ResourceClaim>(
      api::decodeText<api::ResourceClaim>(
          fmt::format(
              R"({{"metadata": {{"name": "{0}", "namespace": "default", "uid": "uid-{0}",
              "resourceVersion": "1"}},
              "spec": {{"devices": {{"requests": [{{"name": "gpu", "exactly":
              {{"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": {1}}}}}]}}}}}})",
              name, count))
          .value());
}

// A pod that uses the claims.
inline PodBuilder podWithClaims(const std::string& name, const std::vector<std::string>& claims) {
  PodBuilder pod = aPod(name);
  for (const std::string& claim : claims) {
    auto& entry = pod.object().spec.resourceClaims.emplace_back();
    entry.name = claim;
    entry.resourceClaimName = claim;
  }
  return pod;
}

class ClaimApi final : public kube::Api {
 public:
  using ClaimPtr = std::shared_ptr<const api::ResourceClaim>;
  ClaimApi(Executor& executor, Store<api::ResourceClaim>& store)
      : executor_(executor), store_(&store) {}

  std::map<std::string, ClaimPtr> claims;   // by name
  std::deque<std::string> writes;           // "name" or "name/status", failed ones included
  std::map<std::string, json::value> pods;  // the last patch of each
  // Answers instead of a write, if set and not nullopt.
  std::function<std::optional<Error>(const kube::Request&)> failure;
  // Whether a write is carried out, but its answer is lost.
  std::function<bool(const kube::Request&)> loses;
  bool delivers = true;  // events reach the store; held back otherwise, until deliver()
  bool pauses = true;    // answers take a millisecond

  void deliverTo(Store<api::ResourceClaim>& store) { store_ = &store; }

  // Creates or replaces a claim, with a new version.
  void put(api::ResourceClaim claim) {
    claim.metadata.resourceVersion = std::to_string(++version_);
    keep(std::make_shared<const api::ResourceClaim>(std::move(claim)));
  }
  void remove(const std::string& name) {
    claims.erase(name);
    std::erase_if(held_, [&](const ClaimPtr& held) { return held->metadata.name == name; });
    store_->erase({"default", name});
  }
  // A changed copy of the claim, as another client writes it.
  void change(const std::string& name, const std::function<void(api::ResourceClaim&)>& fn) {
    api::ResourceClaim claim = *claims.at(name);
    fn(claim);
    put(std::move(claim));
  }
  void deliver() {
    for (const ClaimPtr& claim : held_) store_->set(claim);
    held_.clear();
  }
  // What the devices of a claim are: "n1/gpu-0,n1/gpu-1", "" if it is not allocated.
  std::string devicesOf(const std::string& name) const {
    const ClaimPtr& claim = claims.at(name);
    std::string devices;
    if (claim->status.allocation)
      for (const auto& result : std::as_const(*claim->status.allocation).devices.results)
        devices += fmt::format("{}{}/{}", devices.empty() ? "" : ",", result.pool, result.device);
    return devices;
  }

  Task<Result<std::string>> call(kube::Request request) override {
    if (pauses) {
      auto pause = sleepFor(executor_, std::chrono::milliseconds(1));
      co_await pause;
    }
    co_return answer(request);
  }
  std::unique_ptr<kube::Watch> watch(kube::Request, kube::WatchSink) override { return nullptr; }

 private:
  Result<std::string> answer(const kube::Request& request) {
    if (request.resource == "pods") {
      writes.push_back("pods/" + request.name);
      if (failure)
        if (auto error = failure(request)) return fail(*error);
      pods[request.name] = parseJson(request.body).value();
      return std::string("{}");
    }
    if (request.resource != "resourceclaims") return std::string("{}");
    const bool reads = request.verb == kube::Verb::Get;
    if (!reads) {
      writes.push_back((request.verb == kube::Verb::Create   ? "create"
                        : request.verb == kube::Verb::Delete ? "delete " + request.name
                                                             : request.name) +
                       (request.subresource.empty() ? "" : "/status"));
      if (failure)
        if (auto error = failure(request)) return fail(*error);
    }
    if (request.verb == kube::Verb::Create) return create(request);
    const auto known = claims.find(request.name);
    if (known == claims.end())
      return fail(ErrorCode::NotFound, "resourceclaims \"" + request.name + "\" not found");
    const json::value before = api::encodeObject(*known->second);
    if (reads) return toJson(before);
    if (request.verb == kube::Verb::Delete) {
      if (known->second->metadata.finalizers.empty()) {
        remove(request.name);
      } else {
        change(request.name, [](auto& claim) { claim.metadata.deletionTimestamp = WallTime(); });
      }
      return std::string("{}");
    }
    const json::value patch = parseJson(request.body).value();
    for (const char* field : {"uid", "resourceVersion"}) {
      const std::string_view wanted = textAt(patch, "metadata", field);
      if (!wanted.empty() && wanted != textAt(before, "metadata", field))
        return fail(ErrorCode::Conflict, "the object has been modified");
    }
    json::value after = api::applyMergePatch(before, patch).value();
    // A write changes the status, or everything else.
    json::object& object = after.get_object();
    const json::value* status = find(before, "status");
    if (request.subresource.empty()) {
      object["status"] = status ? *status : json::value(json::object());
    } else {
      object["spec"] = *find(before, "spec");
    }
    put(api::decode<api::ResourceClaim>(after).value());
    if (loses && loses(request)) return fail(ErrorCode::Timeout, "no answer");
    return toJson(api::encodeObject(*claims.at(request.name)));
  }
  Result<std::string> create(const kube::Request& request) {
    auto claim = api::decodeText<api::ResourceClaim>(request.body).value();
    const std::string number = std::to_string(++created_);
    claim.metadata.name = std::string(claim.metadata.generateName) + number;
    claim.metadata.uid = "uid-" + claim.metadata.name;
    put(claim);
    return toJson(api::encodeObject(*claims.at(claim.metadata.name)));
  }
  void keep(ClaimPtr claim) {
    claims[claim->metadata.name] = claim;
    delivers ? store_->set(claim) : held_.push_back(claim);
  }

  Executor& executor_;
  Store<api::ResourceClaim>* store_;
  std::vector<ClaimPtr> held_;
  std::uint64_t version_ = 10;
  int created_ = 0;
};

}  // namespace koord::scheduler::testing
