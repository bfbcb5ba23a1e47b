#pragma once

// NameHasher: replaces names in the objects of a snapshot, so that the file can be given away and
// schedulers still decide on it as on the original.
//
// First it collects names: of namespaces, nodes, all objects in namespaces, elastic quotas,
// Reservations and volumes. Then each gets a new one, the same in all objects, namespaces and
// fields: "default-00042", where 42 is its place among all names in order, and "default" is the
// last name before it that stays. So order is kept, by which schedulers break ties, and the new
// name tells nothing else. A word of a text is replaced if it is a collected name: in values of
// labels and selectors, in node affinity, owner references, annotations, messages.
//
// Some names stay, because they could be something else that looks the same: amounts and durations
// ("100m", "5s"), values of settings ("true"), classes (of priority, storage, runtimes, devices),
// and words of a key in the snapshot (a field, a label, a resource). Names of system namespaces and
// of objects in them stay, too, but not those of pods that have the name of a node. Keys, images,
// uids, schedulers and topology keys are never replaced. generateName and the addresses of nodes
// are removed. Cost: two passes; the set of names and keys in memory.
//
// A name that is only a part of a word stays there: "shop" in "web.shop.svc" or "shop_1".

#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"

namespace koord::koordctl {

class NameHasher {
 public:
  // resource: as a snapshot has it, "pods" or "deployments.apps".
  void collect(std::string_view resource, const json::object& object);
  // Gives names. Call it between collect() and the other functions.
  void finish();
  void apply(std::string_view resource, json::object& object) const;
  // The name in the new file; the same if it stays.
  std::string_view renamed(std::string_view name) const;

 private:
  void noteKeys(const json::value& value);
  void noteKeysInText(std::string_view text);
  void noteWords(std::string_view key);
  void replaceIn(json::object& object) const;
  void replaceIn(json::value& value) const;
  std::string replaced(std::string_view text) const;

  std::set<std::string, std::less<>> names_;
  std::unordered_set<std::string> staying_;  // words of keys, and names of classes
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> renamed_;
};

}  // namespace koord::koordctl
