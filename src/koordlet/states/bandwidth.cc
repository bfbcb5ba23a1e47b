#include "koordlet/states/bandwidth.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/json.h"
#include "base/log.h"
#include "model/well_known.h"

namespace koord::koordlet {
namespace {

std::optional<std::int64_t> bitsOfPercent(std::int64_t percent, std::int64_t total) {
  if (percent < 0 || percent > 100) return std::nullopt;
  return static_cast<std::int64_t>(static_cast<__int128>(total) * percent / 100);
}

std::optional<std::int64_t> bitsOfQuantity(const std::string& text, std::int64_t total) {
  const auto quantity = Quantity::parse(text);
  if (!quantity || quantity->value() < 0) return std::nullopt;
  return total > 0 ? std::min(quantity->value(), total) : quantity->value();
}

std::optional<std::int64_t> bitsOf(const std::optional<api::IntOrString>& value,
                                   std::int64_t total) {
  if (!value) return std::nullopt;
  return !value->isText ? bitsOfPercent(value->number, total) : bitsOfQuantity(value->text, total);
}

Bandwidth classBandwidth(const std::optional<api::ResourceQOS>& qos, std::int64_t total) {
  if (!qos || !qos->networkQOS || !qos->networkQOS->enable.value_or(false)) return {};
  const api::NetworkQOS& network = *qos->networkQOS;
  return {bitsOf(network.ingressRequest, total), bitsOf(network.ingressLimit, total),
          bitsOf(network.egressRequest, total), bitsOf(network.egressLimit, total)};
}

// Upstream reads the annotation with Go's decoder, which ignores the case of member names. Its
// manual writes "IngressLimit".
const json::value* findIgnoringCase(const json::value& document, std::string_view name) {
  for (const auto& member : document.get_object())
    if (sameIgnoringCase({member.key().data(), member.key().size()}, name)) return &member.value();
  return nullptr;
}

}  // namespace

NodeBandwidth nodeBandwidth(const EffectiveSlo& slo) {
  NodeBandwidth bandwidth;
  if (slo.system.totalNetworkBandwidth)
    bandwidth.total = std::max<std::int64_t>(slo.system.totalNetworkBandwidth->value(), 0);
  bandwidth.ls = classBandwidth(slo.qos.lsClass, bandwidth.total);
  bandwidth.be = classBandwidth(slo.qos.beClass, bandwidth.total);
  return bandwidth;
}

std::optional<PodBandwidth> podBandwidth(const PodView& pod, std::int64_t total) {
  const auto* text = api::findIn(pod.pod->metadata.annotations, model::kAnnotationNetworkQos);
  if (!text) return std::nullopt;
  const auto document = parseJson(*text);
  if (!document || !document->is_object()) {
    log::v(4, "annotation {} of pod {} is ignored: not a JSON object", model::kAnnotationNetworkQos,
           pod.pod->metadata.name);
    return std::nullopt;
  }
  const auto limit = [&](std::string_view name) {
    const auto* value = findIgnoringCase(*document, name);
    if (!value) return std::int64_t{0};
    if (value->is_int64()) return bitsOfPercent(value->get_int64(), total).value_or(0);
    if (value->is_string())
      return bitsOfQuantity(std::string(value->get_string()), total).value_or(0);
    return std::int64_t{0};
  };
  return PodBandwidth{limit("ingressLimit"), limit("egressLimit")};
}

int networkLevel(const PodView& pod) {
  switch (pod.qos) {
    case model::Qos::System:
      return 0;
    case model::Qos::BE:
      return 2;
    case model::Qos::None:
      return pod.kubeQos == KubeQos::BestEffort ? 2 : 1;
    default:
      return 1;
  }
}

bool usesNetPolicy(const EffectiveSlo& slo, std::string_view policy) {
  const std::string chosen =
      slo.qos.policies ? slo.qos.policies->netQOSPolicy.value_or("tc") : std::string("tc");
  return (chosen.empty() ? "tc" : chosen) == policy;
}

}  // namespace koord::koordlet
