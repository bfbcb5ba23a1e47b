// Messages that are read print to messages that read the same.

#include "api/protobuf/transcode.h"

#include "api/schema/builtin.h"
#include "fuzz.h"

namespace koord::fuzz {

// The first byte chooses the kind.
void protobuf(std::string_view input) {
  static const api::SchemaSet types = api::builtinTypes();
  constexpr const char* kKinds[] = {"Pod",   "Node",          "Deployment", "Event",
                                    "Lease", "DeleteOptions", "Secret",     "PodDisruptionBudget"};
  if (input.empty()) return;
  const auto kind = static_cast<unsigned char>(input.front()) % std::size(kKinds);
  const auto& schema = *types.find(kKinds[kind]);
  input.remove_prefix(1);
  if (const auto envelope = api::openEnvelope(input)) {
    const auto sealed = api::sealEnvelope(envelope->apiVersion, envelope->kind, envelope->message);
    const auto again = api::openEnvelope(sealed);
    check(again && again->message == envelope->message, "envelopes survive");
    input = envelope->message;
  }
  const auto object = api::decodeMessage(input, schema);
  if (!object) return;
  const auto encoded = api::encodeMessage(*object, schema);
  check(encoded.complete, "what was read can be written");
  const auto again = api::decodeMessage(encoded.message, schema);
  check(again && *again == *object, "messages survive");
}

}  // namespace koord::fuzz
