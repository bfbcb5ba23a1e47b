#include "cluster/up/demo_hints.h"

#include <gmock/gmock.h>

#include "base/file.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;

TEST(DemoHintsTest, eachCommandIsExplainedByTheDemosPage) {
  const auto page = readFile(KOORD_COLOCATION_PAGE);
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_FALSE(demoHints().empty());
  for (const auto& hint : demoHints()) {
    EXPECT_THAT(*page, HasSubstr("\n" + hint.command + "\n")) << hint.what;
    EXPECT_EQ(hint.command.find('\n'), std::string::npos) << hint.what;
    EXPECT_THAT(demoHintsText("/a/kubeconfig"), HasSubstr("\n" + hint.command + "\n"));
  }
  EXPECT_TRUE(demoHintsText("/a/kubeconfig").starts_with("export KUBECONFIG='/a/kubeconfig'\n"));
}

}  // namespace
}  // namespace koord::cluster
