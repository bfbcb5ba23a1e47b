// JSON text, and objects decoded from it: encoding what was decoded, decoding that and encoding it
// again gives the same.

#include "api/codec.h"

#include <algorithm>
#include <cmath>

#include "api/config.h"
#include "api/core.h"
#include "api/pod.h"
#include "api/slo.h"
#include "api/workloads.h"
#include "fuzz.h"

namespace koord::fuzz {
namespace {

// Boost.JSON 1.81 reads floating point numbers to within the last bit or two, not exactly.
bool same(const json::value& a, const json::value& b) {
  if (a.kind() != b.kind()) return false;
  if (a.is_double()) {
    const double x = a.get_double(), y = b.get_double();
    return std::abs(x - y) <= 1e-14 * std::abs(x);
  }
  if (const auto* list = a.if_array()) return std::ranges::equal(*list, b.get_array(), same);
  if (!a.is_object()) return a == b;
  return std::ranges::equal(a.get_object(), b.get_object(), [](const auto& x, const auto& y) {
    return x.key() == y.key() && same(x.value(), y.value());
  });
}

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
  check(again && same(*again, *document), "written JSON reads as the same value");
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
