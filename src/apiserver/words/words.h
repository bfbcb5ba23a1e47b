#pragma once

// What `kubectl explain` says about built-in types: one sentence or two for each type and field.
// The tables are text:
//
//   Pod: Containers that run together on a node.
//     spec: What the pod should be.
//   *: fields that mean the same in every type
//     kind: The kind of the object.
//
// A line indented by two begins a field, one indented by four continues the sentence. Types are
// those of api/schema/types_*.cc. Custom resources have their words in their definitions.

#include <string>
#include <string_view>
#include <vector>

namespace koord::apiserver {

// "" if the tables have none. The text lives as long as the program. Thread-safe.
std::string_view wordsOf(std::string_view type);
// Of a field of a type: its own words, or those of "*".
std::string_view wordsOf(std::string_view type, std::string_view field);

// All names in the tables, "Pod" and "Pod.spec": for tests.
std::vector<std::string> namesWithWords();

namespace words {
extern const char* const kMeta;
extern const char* const kPod;
extern const char* const kContainer;
extern const char* const kCore;
extern const char* const kWorkloads;
extern const char* const kOthers;
}  // namespace words

}  // namespace koord::apiserver
