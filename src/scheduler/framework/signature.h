#pragma once

// Signature: the properties that a class of pods has in common, as bytes. Equal properties, and
// only those, have equal bytes.

#include <cstdint>
#include <string>
#include <string_view>

#include "api/pod.h"

namespace koord::scheduler {

class Signature {
 public:
  void add(std::string_view text) {
    add(static_cast<std::int64_t>(text.size()));
    bytes_ += text;
  }
  void add(std::int64_t number) {
    bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void signTerm(const api::NodeSelectorTerm& term, Signature& signature);
// Node selector and required node affinity.
void signRequiredNodeAffinity(const api::PodSpec& spec, Signature& signature);
void signTolerations(const api::PodSpec& spec, Signature& signature);

}  // namespace koord::scheduler
