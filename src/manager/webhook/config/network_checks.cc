#include "manager/webhook/config/network_checks.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "api/codec.h"
#include "api/slo_strategies.h"
#include "model/slo_config_documents.h"

namespace koord::manager {

namespace {

using Strategy = api::ResourceQOSStrategy;

Result<> overbooked(std::string message) {
  return fail(ErrorCode::Invalid, std::move(message));
}

// Calls fn(class's Go name, network QoS) for the classes with bandwidth requests.
template <class Fn>
void forEachNetwork(const Strategy& strategy, Fn fn) {
  const std::pair<std::string_view, const std::optional<api::ResourceQOS>&> classes[] = {
      {"LSRClass", strategy.lsrClass},
      {"LSClass", strategy.lsClass},
      {"BEClass", strategy.beClass}};
  for (const auto& [name, qos] : classes)
    if (qos && qos->networkQOS) fn(name, *qos->networkQOS);
}

Result<> checkElement(const std::string& path, const std::optional<api::IntOrString>& value) {
  if (!value) return {};
  if (!value->isText) {
    if (value->number >= 0 && value->number <= 100) return {};
    return overbooked(
        fmt::format("{}: Invalid value: {}: must be between 0 and 100", path, value->number));
  }
  if (Quantity::parse(value->text)) return {};
  return overbooked(fmt::format("{}: Invalid value: \"{}\": must be a percentage or a quantity",
                                path, value->text));
}

Result<> checkElements(const Strategy& strategy, const std::string& path) {
  Result<> result;
  forEachNetwork(strategy, [&](std::string_view name, const auto& network) {
    const std::pair<const char*, const std::optional<api::IntOrString>&> fields[] = {
        {"IngressRequest", network.ingressRequest},
        {"IngressLimit", network.ingressLimit},
        {"EgressRequest", network.egressRequest},
        {"EgressLimit", network.egressLimit}};
    for (const auto& [field, value] : fields)
      if (result) result = checkElement(fmt::format("{}.{}.{}", path, name, field), value);
  });
  return result;
}

// The bandwidth requests of one direction.
struct RequestedBandwidth {
  std::int64_t percent = 0;
  std::int64_t amount = 0;
  bool hasPercent = false;
  bool hasAmount = false;

  void add(const std::optional<api::IntOrString>& request) {
    if (!request) return;
    if (!request->isText) {
      hasPercent = true;
      percent += request->number;
    } else {
      hasAmount = true;
      amount += Quantity::parse(request->text).value_or(Quantity()).value();
    }
  }
};

struct Sums {
  RequestedBandwidth ingress;
  RequestedBandwidth egress;
};

Sums sumsOf(const Strategy& strategy) {
  Sums sums;
  forEachNetwork(strategy, [&](std::string_view, const auto& network) {
    sums.ingress.add(network.ingressRequest);
    sums.egress.add(network.egressRequest);
  });
  return sums;
}

bool mixed(const Sums& sums) {
  return (sums.ingress.hasPercent || sums.egress.hasPercent) &&
         (sums.ingress.hasAmount || sums.egress.hasAmount);
}

// The bandwidth of the nodes that an entry selects: of the entry with the same selector, else of
// the cluster.
std::optional<Quantity> bandwidthOf(const model::SectionDocument& system,
                                    const std::optional<api::LabelSelector>& selector) {
  if (selector)
    for (const auto& document : system.nodeStrategies) {
      const auto head = api::decode<model::NodeEntry>(document, api::Reading::Go);
      if (!head || !head->nodeSelector ||
          api::encode(*head->nodeSelector) != api::encode(*selector))
        continue;
      const auto own = api::decode<api::SystemStrategy>(document, api::Reading::Go);
      if (own && own->totalNetworkBandwidth) return own->totalNetworkBandwidth;
    }
  const auto cluster = api::decode<api::SystemStrategy>(system.clusterStrategy, api::Reading::Go);
  return cluster ? cluster->totalNetworkBandwidth : std::nullopt;
}

struct Messages {
  std::string mixed;
  std::string percent;
  std::string amount;
};

Result<> checkSums(const Strategy& strategy, const std::optional<Quantity>& bandwidth,
                   const Messages& messages) {
  const Sums sums = sumsOf(strategy);
  if (mixed(sums)) return overbooked(messages.mixed);
  if (sums.ingress.percent > 100 || sums.egress.percent > 100) return overbooked(messages.percent);
  const std::int64_t most = bandwidth ? bandwidth->value() : 0;
  if (most > 0 && (sums.ingress.amount > most || sums.egress.amount > most))
    return overbooked(messages.amount);
  return {};
}

}  // namespace

Result<> checkNetwork(std::string_view qosConfig, std::string_view systemConfig) {
  const auto qos = api::decodeText<model::SectionDocument>(qosConfig, api::Reading::Go);
  if (!qos) return fail(qos.error());
  const model::SectionDocument system =
      api::decodeText<model::SectionDocument>(systemConfig, api::Reading::Go)
          .value_or(model::SectionDocument());
  const auto cluster = api::decode<Strategy>(qos->clusterStrategy, api::Reading::Go);
  if (!cluster) return fail(cluster.error());
  if (auto ok = checkElements(*cluster, "ResourceQOSCfg.ClusterStrategy"); !ok) return ok;
  auto ok = checkSums(*cluster, bandwidthOf(system, std::nullopt),
                      {"only one type can be used for percentages or quantity in clusterStrategy",
                       "ClusterStrategy total net bandwidth percentage already over 100",
                       "total net bandwidth over total network bandwidth in clusterStrategy"});
  for (std::size_t i = 0; ok && i < qos->nodeStrategies.size(); ++i) {
    const auto own = api::decode<Strategy>(qos->nodeStrategies[i], api::Reading::Go);
    const auto head = api::decode<model::NodeEntry>(qos->nodeStrategies[i], api::Reading::Go);
    if (!own || !head) return fail(own ? head.error() : own.error());
    ok = checkElements(*own, fmt::format("ResourceQOSCfg.nodeStrategy.{}", i));
    if (!ok) return ok;
    ok = checkSums(
        *own, bandwidthOf(system, head->nodeSelector),
        {fmt::format("only one type can be used for percentages or quantity in nodeStrategy[{}]",
                     i),
         fmt::format("cfg.NodeStrategies[{}] total net bandwidth percentage already over 100", i),
         fmt::format("total net bandwidth quantity already over total network bandwidth in "
                     "cfg.NodeStrategies[{}]",
                     i)});
  }
  return ok;
}

}  // namespace koord::manager
