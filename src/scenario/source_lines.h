#pragma once

// Where a field is in YAML text: the lines that reports and problems name.

#include <memory>
#include <string_view>

namespace koord::scenario {

class SourceLines {
 public:
  // Text that cannot be read has no lines.
  explicit SourceLines(std::string_view yaml);
  ~SourceLines();

  // The line, counted from 1, of a field like "spec.steps[0].try[2].assert" of a document (those
  // without content do not count), or of the nearest field around it that is there. 0 when not
  // known.
  int lineOf(std::size_t document, std::string_view field) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace koord::scenario
