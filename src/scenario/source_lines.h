#pragma once

// Lines of fields in YAML text, for reports and error messages.

#include <memory>
#include <string_view>

namespace koord::scenario {

class SourceLines {
 public:
  // A text that cannot be parsed has no lines.
  explicit SourceLines(std::string_view yaml);
  ~SourceLines();

  // The line, counted from 1, of a field like "spec.steps[0].try[2].assert" of a document (empty
  // documents do not count), or of its nearest existing parent field. 0 if unknown.
  int lineOf(std::size_t document, std::string_view field) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace koord::scenario
