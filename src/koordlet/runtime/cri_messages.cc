#include <map>

#include "api/protobuf/wire.h"
#include "koordlet/runtime/container_runtime.h"

// Of CRI's hundred messages koordlet writes one and reads one; the numbers are those of runtime.v1.

namespace koord::koordlet {
namespace {

namespace wire = api::wire;

enum StopContainer : std::uint32_t { kContainerId = 1, kTimeout = 2 };
enum ListContainers : std::uint32_t { kContainers = 1 };
enum Container : std::uint32_t { kId = 1, kMetadata = 3, kState = 6, kLabels = 8 };
enum Metadata : std::uint32_t { kName = 1 };
enum Entry : std::uint32_t { kKey = 1, kValue = 2 };
constexpr std::uint64_t kRunning = 1, kExited = 2;

// Calls fn(field) for each field; false when the message is broken.
template <class Fn>
bool eachField(std::string_view message, Fn fn) {
  wire::Reader reader(message);
  wire::Field field;
  while (reader.next(field)) fn(field);
  return !reader.broken();
}

struct Parsed {
  RuntimeContainer container;
  bool exited = false;
};
std::optional<Parsed> containerIn(std::string_view message) {
  Parsed parsed;
  parsed.container.running =
      false;  // a container that has been made has state 0, which is not said
  bool whole = true;
  whole &= eachField(message, [&](const wire::Field& field) {
    if (field.number == kId) parsed.container.id = field.bytes;
    if (field.number == kState) {
      parsed.container.running = field.value == kRunning;
      parsed.exited = field.value >= kExited;
    }
    if (field.number == kMetadata)
      whole &= eachField(field.bytes, [&](const wire::Field& inner) {
        if (inner.number == kName) parsed.container.name = inner.bytes;
      });
    if (field.number != kLabels) return;
    std::string_view key, value;
    whole &= eachField(field.bytes, [&](const wire::Field& inner) {
      if (inner.number == kKey) key = inner.bytes;
      if (inner.number == kValue) value = inner.bytes;
    });
    if (key == "io.kubernetes.pod.uid") parsed.container.podUid = value;
    if (key == "io.kubernetes.container.name") parsed.container.name = value;
  });
  return whole ? std::optional(std::move(parsed)) : std::nullopt;
}

}  // namespace

std::string stopContainerRequest(std::string_view id, std::int64_t graceSeconds) {
  std::string message;
  wire::putBytes(message, kContainerId, id);
  if (graceSeconds > 0)
    wire::putNumber(message, kTimeout, static_cast<std::uint64_t>(graceSeconds));
  return message;
}

Result<std::vector<RuntimeContainer>> containersInReply(std::string_view message) {
  std::vector<RuntimeContainer> containers;
  bool whole = true;
  whole &= eachField(message, [&](const wire::Field& field) {
    if (field.number != kContainers) return;
    auto parsed = containerIn(field.bytes);
    whole &= parsed.has_value();
    if (parsed && !parsed->exited) containers.push_back(std::move(parsed->container));
  });
  if (!whole) return fail(ErrorCode::Invalid, "the list of containers is no message of CRI's");
  return containers;
}

}  // namespace koord::koordlet
