#pragma once

// The types of the built-in kinds, from one compact table. A table line is "Name: field type; ..."
// and may go on in indented lines:
//
//   PodSpec: *containers [Container] merge=name; volumes [Volume] merge=name retainKeys
//     nodeSelector {string}
//
// "*" marks a required field. Types: string int number bool quantity intstr time microtime duration
// bytes any, [T] a list, {T} a map, or the name of another line. Words after a type: "merge" or
// "merge=KEY" (how strategic merge patches treat the list), "keys=A,B" (server-side apply, where it
// differs from merge), "set", "retainKeys", "replace", "atomic".

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
extern const char* const kCore;
extern const char* const kWorkloads;
extern const char* const kOthers;
}  // namespace tables

}  // namespace koord::api
