#include "manager/webhook/node_webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/codec.h"
#include "api/core.h"
#include "manager/common/names.h"
#include "manager/webhook/json_diff.h"
#include "manager/webhook/pod_edit.h"
#include "model/resources.h"
#include "model/well_known.h"

namespace koord::manager {

namespace {

constexpr std::array kAmplified{model::kCpu, model::kMemory};

api::ResourceList amplifiable(const api::ResourceList& all) {
  api::ResourceList list;
  for (const auto name : kAmplified)
    if (model::has(all, name)) list[std::string(name)] = model::amountOf(all, name);
  return list;
}

Result<api::ResourceList> rawAllocatable(const std::string& text) {
  auto raw = api::decodeText<api::ResourceList>(text, api::Reading::Go);
  if (!raw)
    return fail(std::move(raw.error())
                    .within(fmt::format("metadata.annotations[{}]", kAnnotationRawAllocatable)));
  return raw;
}

}  // namespace

Result<> amplify(const json::value& old, json::value& node) {
  const auto now = api::decode<api::Node>(node);
  if (!now) return fail(now.error());
  const auto before = api::decode<api::Node>(old);
  if (!before) return fail(before.error());
  const auto* ratios = api::findIn(now->metadata.annotations, kAnnotationAmplificationRatio);
  const auto* rawText = api::findIn(now->metadata.annotations, kAnnotationRawAllocatable);
  if (!ratios || ratios->empty()) {
    if (rawText) annotationsOf(node).erase(kAnnotationRawAllocatable);
    return {};
  }
  if (now->status.allocatable.empty()) return {};
  api::ResourceList raw = amplifiable(now->status.allocatable);
  const bool written = raw != amplifiable(before->status.allocatable);
  if (rawText && !written) {
    auto kept = rawAllocatable(*rawText);
    if (!kept) return fail(std::move(kept.error()));
    raw = *std::move(kept);
  } else if (!raw.empty()) {
    annotationsOf(node)[kAnnotationRawAllocatable] = toJson(api::encode(raw));
  }
  const auto factors = parseJson(*ratios);
  const std::string field = fmt::format("metadata.annotations[{}]", kAnnotationAmplificationRatio);
  if (!factors) return fail(Error(factors.error()).within(field));
  json::object& allocatable = objectIn(objectIn(node.get_object(), "status"), "allocatable");
  for (const auto name : kAmplified) {
    const json::value* factor = find(*factors, name);
    if (!factor) continue;
    const auto ratio = realNumber(*factor);
    if (!ratio)
      return fail(ErrorCode::Invalid, fmt::format("{}: {}: expected a number", field, name));
    if (*ratio <= 1 || !model::has(raw, name)) continue;
    const Quantity amount = model::amountOf(raw, name);
    constexpr double kMost = 9e18;  // maximum of a number of milli-units
    const auto milli = static_cast<std::int64_t>(
        std::min(static_cast<double>(amount.milliValue()) * *ratio, kMost));
    allocatable[name] = textValue(Quantity::ofMilli(milli, amount.format()).toString());
  }
  return {};
}

Task<Verdict> NodeWebhook::mutateStatus(api::AdmissionRequest request) {
  if (!request.resource.group.empty() || request.resource.resource != "nodes" ||
      request.subResource != "status" || request.operation != "UPDATE")
    co_return allow();
  const SteadyTime began = executor_.steadyNow();
  json::value node = request.object;
  if (!node.is_object()) co_return refuse(400, "request.object: is not a Node");
  const Result<> amplified = amplify(request.oldObject, node);
  metrics_.webhookRan("mutate", "Node", request.operation, "NodeResourceAmplificationPlugin",
                      amplified.has_value(), executor_.steadyNow() - began);
  if (!amplified) co_return refuse(500, amplified.error().message);
  Verdict verdict = allow();
  verdict.patch = createJsonPatch(request.object, node);
  co_return verdict;
}

}  // namespace koord::manager
