#pragma once

#include "cel/library.h"

namespace koord::cel {

// The messages of google.protobuf that stand for values of CEL: google.protobuf.Int64Value{value:
// 1} is 1, and so on for the other wrappers, Timestamp, Duration, Struct, ListValue and Value.
// There are no other messages.
const Library& messagesLibrary();

}  // namespace koord::cel
