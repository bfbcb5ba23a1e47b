#include "cluster/hostnode/termination_message.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"

namespace koord::cluster {
namespace {

TEST(TerminationMessageTest, IsTheFileOrTheEndOfTheLog) {
  const std::string folder = testing::TempDir() + "last-words-" + std::to_string(::getpid());
  ASSERT_TRUE(makeDirs(folder));
  const std::string file = folder + "/file";
  const std::string log = folder + "/log";
  std::string lines;
  for (int i = 0; i < 100; ++i)
    lines += "2026-01-01T00:00:00Z stderr F line " + std::to_string(i) + "\n";
  ASSERT_TRUE(writeFileAtomic(log, lines));
  EXPECT_EQ(terminationMessage(file, log, false), "");
  const std::string end = terminationMessage(file, log, true);
  EXPECT_TRUE(end.starts_with("line 20\n")) << end;
  EXPECT_TRUE(end.ends_with("line 99\n")) << end;
  ASSERT_TRUE(writeFileAtomic(file, "out of cheese"));
  EXPECT_EQ(terminationMessage(file, log, true), "out of cheese");
  ASSERT_TRUE(writeFileAtomic(file, std::string(5000, 'x')));
  EXPECT_EQ(terminationMessage(file, log, true).size(), 4096u);
  std::string umlauts;
  for (int i = 0; i < 3000; ++i) umlauts += "\xc3\xa4";
  ASSERT_TRUE(writeFileAtomic(file, "x" + umlauts));
  EXPECT_EQ(terminationMessage(file, log, true), "x" + umlauts.substr(0, 4094))
      << "no half of a character";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace koord::cluster
