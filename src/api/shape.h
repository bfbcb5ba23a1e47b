#pragma once

// The shape of a described struct as data: its members, their offsets and their types. Code that is
// the same for all structs can then be plain functions over shapes instead of templates that are
// compiled for each struct (protobuf/structs.h is an example).
//
// codec_<group>.cc makes the shapes, with the JSON mapping, for the kinds that Kubernetes itself
// has.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "api/meta.h"

namespace koord::api {

struct Shape {
  enum class Kind : std::uint8_t {
    Boolean,
    Int32,
    Int64,
    String,
    Text,
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    Json,
    Struct,
    Optional,
    List,
    Map,
  };
  struct Member {
    std::string_view name;  // in JSON
    std::uint32_t offset = 0;
    const Shape* shape = nullptr;
  };
  using Visitor = void (*)(void* context, std::string_view key, const void* item);

  Kind kind = Kind::Struct;
  std::vector<Member> members;  // of a Struct
  const Shape* item = nullptr;  // what an Optional, a List or a Map holds
  // Returns the place for one more item: the value of an Optional (inserted if absent), the end of
  // a List, or the value of a key in a Map (inserted if absent).
  void* (*add)(void* container, std::string_view key) = nullptr;
  // Reserves capacity in an empty List or Map.
  void (*reserve)(void* container, std::size_t count) = nullptr;
  // Calls the visitor for each item in order; keys are "" except in a Map.
  void (*each)(const void* container, void* context, Visitor visit) = nullptr;
};

// True if Kubernetes itself has the kind, so that it has protobuf messages (and no CRD).
constexpr bool isBuiltin(const ResourceType& type) {
  constexpr std::string_view kGroups[] = {"",
                                          "admissionregistration.k8s.io",
                                          "apps",
                                          "batch",
                                          "policy",
                                          "coordination.k8s.io",
                                          "storage.k8s.io",
                                          "scheduling.k8s.io",
                                          "resource.k8s.io"};
  return type.version == "v1" && std::ranges::find(kGroups, type.group) != std::end(kGroups);
}

// nullptr for kinds that are not built in.
template <class T>
const Shape* shapeOf();
template <>
const Shape* shapeOf<Status>();

}  // namespace koord::api
