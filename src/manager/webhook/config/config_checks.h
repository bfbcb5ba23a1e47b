#pragma once

// Validates the ConfigMap slo-controller-config. Checks changed sections one after the other; the
// first error is the answer, as ___{"reason":...,"message":...}___ so that front ends can extract
// it.
//
// Two node entries must not select the same node: the selectors are tested on generated nodes that
// match each entry, and then on the existing nodes. The first costs entries x label values, the
// second nodes x entries.

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

// Checks the sections whose text is not empty and differs from `old` (nullptr: all), and returns
// them.
Result<std::vector<ConfigSection>> checkConfig(const api::ConfigMap& config,
                                               const api::ConfigMap* old, bool namesRequired);

// All sections that can be read, unchecked.
std::vector<ConfigSection> readSections(const api::ConfigMap& config);

// Fails if two entries of a section select the node.
Result<> checkNode(const std::vector<ConfigSection>& sections, const api::ObjectMeta& node);

}  // namespace koord::manager
