// Protobuf messages read into our structs, and what the API answers around them: what was read can
// be written and reads as the same again.

#include "api/core.h"
#include "api/pod.h"
#include "api/services.h"
#include "api/storage.h"
#include "api/workloads.h"
#include "fuzz.h"
#include "kube/received.h"

namespace koord::fuzz {
namespace {

template <class T>
void roundTripMessage(std::string_view message) {
  const auto object = api::readMessage<T>(message);
  if (!object) {
    check(!object.error().message.empty(), "errors have a message");
    return;
  }
  const auto again = api::readMessage<T>(api::writeMessage(*object));
  check(again.has_value(), "what was read can be written");
  check(toJson(api::encodeObject(*again)) == toJson(api::encodeObject(*object)),
        "messages survive");
}

}  // namespace

// The first byte chooses the kind.
void messages(std::string_view input) {
  constexpr void (*kKinds[])(std::string_view) = {roundTripMessage<api::Pod>,
                                                  roundTripMessage<api::Node>,
                                                  roundTripMessage<api::Event>,
                                                  roundTripMessage<api::Lease>,
                                                  roundTripMessage<api::Secret>,
                                                  roundTripMessage<api::PodDisruptionBudget>,
                                                  roundTripMessage<api::PersistentVolume>,
                                                  roundTripMessage<api::Deployment>,
                                                  roundTripMessage<api::Job>,
                                                  roundTripMessage<api::StatefulSet>,
                                                  roundTripMessage<api::Service>};
  if (input.empty()) return;
  const auto kind = static_cast<unsigned char>(input.front()) % std::size(kKinds);
  input.remove_prefix(1);
  kKinds[kind](input);
  const auto visit = [&](const kube::Received& object) {
    (void)object.key();
    (void)object.resourceVersion();
    (void)object.annotation("k8s.io/initial-events-end");
    (void)object.as<api::Pod>();
  };
  (void)kube::openObject(input, visit);
  (void)kube::openList(input, visit);
  (void)kube::openEvent(input, [&](std::string_view, const auto& object) { visit(object); });
  (void)kube::statusIn(input);
}

}  // namespace koord::fuzz
