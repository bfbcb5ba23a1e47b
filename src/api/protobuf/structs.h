#pragma once

// Converts our structs from and to protobuf messages directly, for the kinds that Kubernetes itself
// has:
//
//   auto pod = readMessage<Pod>(message);
//   std::string message = writeMessage(binding);
//
// Works from plans (plan.h). First use makes the plan from the shape of the struct and the table of
// types, so that only that table has field numbers. Makes one pass over the bytes and skips fields
// that the struct lacks. Safe on any thread and for any bytes: an error names the field, and its
// code distinguishes bytes that are not a message (BadRequest) from values that are not allowed
// (Invalid).

#include <string>
#include <string_view>

#include "api/shape.h"
#include "base/result.h"

namespace koord::api {

struct Plan;

// Call once per struct. nullptr if it has no shape or no protobuf message.
const Plan* makePlan(const Shape* shape, std::string_view type);
Result<> readMessage(std::string_view message, const Plan& plan, void* object);
std::string writeMessage(const void* object, const Plan& plan);

// nullptr if T has no messages.
template <class T>
const Plan* planFor() {
  static const Plan* const plan = makePlan(shapeOf<T>(), T::kType.kind);
  return plan;
}
template <>
inline const Plan* planFor<Status>() {
  static const Plan* const plan = makePlan(shapeOf<Status>(), "Status");
  return plan;
}

// T must have messages.
template <class T>
Result<T> readMessage(std::string_view message) {
  T object;
  if (auto done = readMessage(message, *planFor<T>(), &object); !done)
    return fail(std::move(done.error()));
  return object;
}
template <class T>
std::string writeMessage(const T& object) {
  return writeMessage(&object, *planFor<T>());
}

// The bytes of the field at this path in messages of a type of the table, such as {"metadata",
// "name"} of a "Pod". Skips the other fields. "" if the field is absent.
class MessageField {
 public:
  MessageField(std::string_view type, std::initializer_list<std::string_view> path);
  std::string_view in(std::string_view message) const;

 private:
  std::vector<std::uint32_t> numbers_;
};

}  // namespace koord::api
