#pragma once

// The types of the built-in kinds, from one compact table. A table line is "Name: field type; ..."
// and may go on in indented lines:
//
//   PodSpec: *containers#2 [Container] merge=name; volumes#1 [Volume] merge=name retainKeys
//     nodeSelector#7 {string} atomic; priority#25? int
//
// "*" marks a required field, "#2" its number in protobuf messages ("#1.3" when the message has it
// one level further down), "?" a field that can be absent even where others have a zero. Types:
// string int number bool quantity intstr time microtime duration bytes any raw (any JSON, sent as
// such), [T] a list, {T} a map, or the name of another line. Words after a type: "merge" or
// "merge=KEY" (how strategic merge patches treat the list), "keys=A,B" (server-side apply, where it
// differs from merge), "set", "retainKeys", "replace", "atomic", "default=TEXT" (of a field that is
// part of such keys), "kept" (an empty list, map or zero is shown; required fields always are).
// "Name atomic:" is a type that server-side apply takes as one value.

#include <string_view>

#include "api/schema/schema.h"

namespace koord::api {

// Adds the table's types; the error names the line.
Result<> addTypes(SchemaSet& set, std::string_view table);

// The types of all built-in kinds, named as the kinds ("Pod", "Deployment").
SchemaSet builtinTypes();

namespace tables {
extern const char* const kMeta;
extern const char* const kPod;
extern const char* const kVolumes;
extern const char* const kCore;
extern const char* const kWorkloads;
extern const char* const kOthers;
extern const char* const kAdmission;
extern const char* const kResource;
extern const char* const kReviews;
}  // namespace tables

}  // namespace koord::api
