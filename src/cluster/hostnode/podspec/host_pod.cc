#include "cluster/hostnode/podspec/host_pod.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace koord::cluster {

namespace {

// The name of a volume's source that spec::Volume has no member for.
std::string otherTypeIn(const json::value& volume) {
  static constexpr std::string_view kKnown[] = {
      "name",      "hostPath",    "emptyDir",  "secret",
      "configMap", "downwardAPI", "projected", "persistentVolumeClaim",
      "ephemeral"};
  for (const auto& member : volume.get_object())
    if (std::ranges::find(kKnown, std::string_view(member.key())) == std::end(kKnown))
      return std::string(member.key());
  return {};
}

}  // namespace

const spec::Container& HostPod::container(std::string_view name) const {
  static const spec::Container kNone;
  for (const auto* list :
       {&details.containers, &details.initContainers, &details.ephemeralContainers}) {
    const auto found = std::ranges::find(*list, name, &spec::Container::name);
    if (found != list->end()) return *found;
  }
  return kNone;
}

}  // namespace koord::cluster

template <>
koord::Result<koord::cluster::HostPod> koord::api::decode<koord::cluster::HostPod>(
    const json::value& document, Reading reading) {
  auto shared = decode<Pod>(document, reading);
  if (!shared) return koord::fail(std::move(shared.error()));
  cluster::HostPod pod;
  static_cast<Pod&>(pod) = *std::move(shared);
  const auto* spec = find(document, "spec");
  if (!spec) return pod;
  auto details = decode<cluster::spec::PodDetails>(*spec, reading);
  if (!details) return koord::fail(std::move(details.error()).within("spec"));
  if (const auto* volumes = find(*spec, "volumes"); volumes && volumes->is_array())
    for (std::size_t i = 0; i < details->volumes.size(); ++i)
      details->volumes[i].otherType = cluster::otherTypeIn(volumes->get_array()[i]);
  if (const auto* added = find(*spec, "ephemeralContainers"); added && added->is_array())
    for (const auto& container : added->get_array()) {
      auto decoded = decode<Container>(container, reading);
      if (!decoded)
        return koord::fail(std::move(decoded.error()).within("spec.ephemeralContainers"));
      pod.ephemeralContainers.push_back(*std::move(decoded));
    }
  pod.details = *std::move(details);
  return pod;
}
