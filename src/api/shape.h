#pragma once

// The shape of a described struct as data: its members, where they lie and what they hold. What is
// the same for all structs can then be written once, as plain functions over shapes, and not as
// templates that are compiled for each of them (protobuf/structs.h works so).
//
// Shapes are made with the JSON mapping, in codec_<group>.cc, for the kinds that Kubernetes itself
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
  // A place for one more item: the value of an Optional, which is made when it is absent; the end
  // of a List; the value of a key in a Map, which is made when it is absent.
  void* (*add)(void* container, std::string_view key) = nullptr;
  // Of a List or a Map that is empty: room for so many.
  void (*reserve)(void* container, std::size_t count) = nullptr;
  // Calls the visitor for each item in order; the keys are those of a Map.
  void (*each)(const void* container, void* context, Visitor visit) = nullptr;
};

// Whether Kubernetes itself has the kind, so that it has protobuf messages (and no CRD).
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
