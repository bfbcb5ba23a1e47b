// JSON text, and objects decoded from it: encoding what was decoded, decoding that and encoding it
// again gives the same.

#include "api/codec.h"

#include "api/config.h"
#include "api/core.h"
#include "api/pod.h"
#include "api/slo.h"
#include "api/workloads.h"
#include "fuzz.h"

namespace koord::fuzz {
namespace {

template <class T>
void roundTrip(const json::value& document) {
  const auto object = api::decode<T>(document);
  if (!object) {
    check(!object.error().message.empty(), "errors have a message");
    return;
  }
  const auto encoded = api::encodeObject(*object);
  const auto again = api::decode<T>(encoded);
  check(again.has_value(), "an encoded object can be decoded");
  check(toJson(api::encodeObject(*again)) == toJson(encoded), "decoding loses nothing");
}

}  // namespace

void codec(std::string_view input) {
  const auto document = parseJson(input);
  if (!document) return;
  const auto again = parseJson(toJson(*document));
  check(again && toJson(*again) == toJson(*document), "written JSON reads as the same value");
  roundTrip<api::Pod>(*document);
  roundTrip<api::Node>(*document);
  roundTrip<api::Event>(*document);
  roundTrip<api::Lease>(*document);
  roundTrip<api::NodeMetric>(*document);
  roundTrip<api::NodeSLO>(*document);
  roundTrip<api::ClusterColocationProfile>(*document);
  roundTrip<api::Deployment>(*document);
}

}  // namespace koord::fuzz
