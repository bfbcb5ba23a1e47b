#include <algorithm>

#include "api/codec.h"
#include "golden/checkers.h"
#include "model/pod_requests.h"
#include "model/qos.h"

namespace koord::golden {
namespace {

json::object requestsOutput(const api::ResourceList& list) {
  json::object result;
  for (const auto& [name, amount] : list) result[name] = amount.toString();
  return result;
}

json::object resizeOutputs(const api::Pod& pod, bool countUnasked) {
  const model::PodRequestOptions options{.useStatus = true, .countUnasked = countUnasked};
  return {
      {"requests", requestsOutput(model::podRequests(pod, options))},
      {"limits", requestsOutput(model::podLimits(pod, options))},
      {"deferred", model::isResizeDeferred(pod)},
      {"infeasible", model::isResizeInfeasible(pod)},
  };
}

json::object specOutputs(const api::Pod& pod) {
  const model::PodTotals totals = model::podTotals(pod);
  json::object scalars;
  for (const auto& [name, amount] : totals.scalars) scalars[name] = amount;
  const api::ResourceList& missing = model::nonZeroRequests();
  return {
      {"requests", requestsOutput(model::podRequests(pod))},
      {"requestsNoOverhead", requestsOutput(model::podRequests(pod, {.excludeOverhead = true}))},
      {"requestsSkipPodLevel", requestsOutput(model::podRequests(pod, {.skipPodLevel = true}))},
      {"requestsNonMissing", requestsOutput(model::podRequests(pod, {.missing = &missing}))},
      {"limits", requestsOutput(model::podLimits(pod))},
      {"limitsSkipPodLevel", requestsOutput(model::podLimits(pod, {.skipPodLevel = true}))},
      {"qosClass", model::textOf(model::computeKubernetesQos(pod.spec))},
      {"nodeInfoRequested",
       {{"milliCPU", totals.milliCpu},
        {"memory", totals.memory},
        {"ephemeralStorage", totals.ephemeralStorage},
        {"scalar", std::move(scalars)}}},
      {"nodeInfoNonZeroRequested",
       {{"milliCPU", totals.nonZeroMilliCpu}, {"memory", totals.nonZeroMemory}}},
  };
}

json::object outputs(const json::object& testCase, const api::Pod& pod, bool countUnasked = false) {
  const json::value* useStatus = testCase.if_contains("useStatusResources");
  return useStatus && useStatus->as_bool() ? resizeOutputs(pod, countUnasked) : specOutputs(pod);
}

Result<json::object> evaluatePodrequests(const json::object& testCase) {
  const auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod) return fail(pod.error());
  return outputs(testCase, *pod);
}

bool explains(const json::object& ours, const json::object& testCase) {
  return std::ranges::all_of(ours, [&](const auto& output) {
    const json::value* recorded = testCase.if_contains(output.key());
    return recorded && sameOutput(*recorded, output.value());
  });
}

// What is reported of a container and not asked for is not counted here. If it is all that differs,
// these are our outputs.
std::optional<json::value> outputOfWhatIsAskedFor(const json::object& testCase,
                                                  std::string_view field) {
  const auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod || !explains(outputs(testCase, *pod, true), testCase)) return std::nullopt;
  const json::object ours = outputs(testCase, *pod);
  const json::value* output = ours.if_contains(field);
  return output ? std::optional(*output) : std::nullopt;
}

// The recording dropped empty "resources" objects from the pods. Where an object may be absent, an
// empty one means something else: an empty one of the pod hides those of its containers from the
// QoS class, an empty one in a status makes granted resources count. If a case can be explained
// only with some of them put back, then the pod as it is written has the outputs that are returned
// here.
std::optional<json::value> outputOfPodAsWritten(const json::object& testCase,
                                                std::string_view field) {
  auto pod = api::decode<api::Pod>(testCase.at("pod"));
  if (!pod) return std::nullopt;
  const json::object written = outputs(testCase, *pod);
  if (!written.contains(field) || explains(outputs(testCase, *pod, true), testCase))
    return std::nullopt;

  std::vector<api::Boxed<api::ResourceRequirements>*> absent;
  if (!pod->spec.resources) absent.push_back(&pod->spec.resources);
  for (auto& status : pod->status.containerStatuses) {
    if (!status.resources) absent.push_back(&status.resources);
  }
  if (absent.size() > 16) return std::nullopt;
  for (unsigned putBack = 1; putBack < 1U << absent.size(); ++putBack) {
    for (std::size_t i = 0; i < absent.size(); ++i) {
      absent[i]->reset();
      if ((putBack >> i & 1) != 0) absent[i]->emplace();
    }
    if (explains(outputs(testCase, *pod, true), testCase)) return written.at(field);
  }
  return std::nullopt;
}

}  // namespace

Checker podrequestsChecker() {
  return {
      .file = "podrequests",
      .inputs = {"pod", "useStatusResources"},
      .open = [](const json::array&) -> Result<Evaluate> { return evaluatePodrequests; },
      .oracles = {{"output of the pod as written", outputOfPodAsWritten},
                  {"output of what is asked for", outputOfWhatIsAskedFor}},
  };
}

}  // namespace koord::golden
