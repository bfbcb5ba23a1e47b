#include "cluster/up/supervisor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace koord::cluster {
namespace {

TEST(SupervisorTest, ALogThatIsFullIsPutAsideWhileItsWriterGoesOn) {
  const std::string folder = testing::TempDir() + "supervisor-" + std::to_string(::getpid());
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(makeDirs(folder));
  const std::string file = folder + "/log";
  std::ofstream writer(file, std::ios::app);
  writer << "0123456789" << std::flush;
  trimLog(file, 10);
  EXPECT_EQ(readFile(file).value_or("?"), "0123456789");
  writer << "x" << std::flush;
  trimLog(file, 10);
  EXPECT_EQ(readFile(file).value_or("?"), "");
  EXPECT_EQ(readFile(file + ".1").value_or("?"), "0123456789x");
  writer << "more" << std::flush;
  EXPECT_EQ(readFile(file).value_or("?"), "more");
  trimLog(folder + "/none", 10);
  EXPECT_FALSE(std::filesystem::exists(folder + "/none"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace koord::cluster
