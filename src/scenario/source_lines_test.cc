#include "scenario/source_lines.h"

#include <gtest/gtest.h>

namespace koord::scenario {
namespace {

TEST(SourceLinesTest, AFieldIsWhereItsKeyIs) {
  const SourceLines lines(R"(# first
spec:
  steps:
  - try:
    - sleep: {duration: 1s}
    - assert:
        resource: {}
---
# nothing
---
spec:

  skip: true
)");
  const struct {
    std::size_t document;
    const char* field;
    int line;
  } cases[] = {
      {0, "spec", 2},
      {0, "spec.steps[0]", 4},
      {0, "spec.steps[0].try[1].assert", 6},
      {0, "spec.steps[0].try[1].assert.resource.kind", 7},  // the nearest there is
      {0, "spec.steps[7]", 3},
      {1, "spec.skip", 13},
      {2, "spec", 0},
  };
  for (const auto& c : cases) EXPECT_EQ(lines.lineOf(c.document, c.field), c.line) << c.field;
}

TEST(SourceLinesTest, TextThatCannotBeReadHasNoLines) {
  EXPECT_EQ(SourceLines("a: [").lineOf(0, "a"), 0);
}

}  // namespace
}  // namespace koord::scenario
