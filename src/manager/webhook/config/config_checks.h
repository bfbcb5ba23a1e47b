#pragma once

// What the ConfigMap slo-controller-config may say. Sections that changed are checked one after the
// other; the first mistake is the answer, as ___{"reason":...,"message":...}___ so that front ends
// can cut it out.
//
// Node entries must not compete for a node: their selectors are tried on made-up nodes that each entry
// asks for, and then on the nodes that there are. The first costs entries x label values, the second
// nodes x entries.

#include <string>
#include <string_view>
#include <vector>

#include "api/core.h"
#include "api/selector.h"

namespace koord::manager {

// The node entries of one section.
struct ConfigSection {
  struct Entry {
    std::string name;
    api::LabelSelector source;
    api::Selector selector;
  };
  std::string key;
  std::vector<Entry> entries;
};

// Checks the sections whose text is not empty and differs from `old` (null: all), and returns them.
Result<std::vector<ConfigSection>> checkConfig(const api::ConfigMap& config,
                                               const api::ConfigMap* old, bool namesNeeded);

// All sections that can be read, unchecked.
std::vector<ConfigSection> readSections(const api::ConfigMap& config);

// A node that two entries of a section select; nothing when there is none.
Result<> checkNode(const std::vector<ConfigSection>& sections, const api::ObjectMeta& node);

}  // namespace koord::manager
