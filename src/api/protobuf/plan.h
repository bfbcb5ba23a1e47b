#pragma once

// How a struct is read from and written as the messages of a type: for each field number, the place
// of its value. Only structs.h and its test use it.

#include <memory>
#include <string>
#include <vector>

#include "api/protobuf/structs.h"
#include "api/schema/schema.h"

namespace koord::api {

struct Slot {
  enum class Kind : std::uint8_t {
    Skip,   // the struct does not hold the field
    Value,  // the member itself
    Optional,
    List,
    Map,
    Inner,  // a message whose fields are members of the same struct
  };
  // The form of the value, or of each item: in the message and in the struct.
  enum class Form : std::uint8_t {
    String,
    Text,
    Base64,  // bytes; base64 in a string
    Int32,
    Int64,
    Boolean,
    Quantity,
    IntOrString,
    Time,
    TimeText,  // in a string
    MicroTime,
    Message,
    Json,
  };

  Kind kind = Kind::Skip;
  Form form = Form::String;
  bool zeroIsAbsent = false;  // of an Optional
  std::uint32_t offset = 0;
  const Shape* shape = nullptr;    // of the member
  const Plan* plan = nullptr;      // of a Message or Inner
  const Schema* schema = nullptr;  // of a Json
  std::string_view name;
};

struct Plan {
  std::vector<Slot> slots;               // by number
  std::vector<std::string_view> absent;  // members that the type does not have
};

// The table of the built-in types; one for the process.
const SchemaSet& sharedBuiltinTypes();

// As makePlan(); the error names the member that does not fit.
Result<const Plan*> compilePlan(const Shape& shape, const Schema& schema);

}  // namespace koord::api
