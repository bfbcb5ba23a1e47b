#pragma once

// Our structs as protobuf messages, without JSON between: for the kinds that Kubernetes itself has.
//
//   auto pod = readMessage<Pod>(message);
//   std::string message = writeMessage(binding);
//
// Works from plans (plan.h), which are made at first use from the shape of the struct and the table
// of types, so that the numbers of the fields stand in that table only. One pass over the bytes;
// what the struct does not hold is skipped without being looked at. Safe on any thread and for any
// bytes: an error names the field, and its code tells bytes that are no message (BadRequest) from
// values that are not allowed (Invalid).

#include <string>
#include <string_view>

#include "api/shape.h"
#include "base/result.h"

namespace koord::api {

struct Plan;

// Call once for a struct. nullptr if it has no shape or no protobuf message.
const Plan* makePlan(const Shape* shape, std::string_view type);
Result<> readMessage(std::string_view message, const Plan& plan, void* object);
std::string writeMessage(const void* object, const Plan& plan);

// nullptr when T has no messages.
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

// T has messages.
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

// The bytes of a field that lies this deep in the messages of a type of the table, as
// {"metadata", "name"} of a "Pod"; the rest is only stepped over. "" when it is not there.
class MessageField {
 public:
  MessageField(std::string_view type, std::initializer_list<std::string_view> path);
  std::string_view in(std::string_view message) const;

 private:
  std::vector<std::uint32_t> numbers_;
};

}  // namespace koord::api
