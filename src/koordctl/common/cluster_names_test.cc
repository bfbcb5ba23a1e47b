#include "koordctl/common/cluster_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/up/clusters.h"

namespace koord::koordctl {
namespace {

using testing::HasSubstr;

struct ClusterLine {
  ClusterLine() { addClusterFlags(set, name, dataDir); }
  std::string name = "default", dataDir;
  flags::FlagSet set{flags::Dialect::Pflag};
};

TEST(ClusterFlagsTest, AClusterIsNamedOrItsFolderIsGiven) {
  EXPECT_EQ(clusterFolder("default", ""), cluster::dataDirOf("default"));
  EXPECT_EQ(clusterFolder("a", ""), cluster::dataDirOf("a"));
  EXPECT_EQ(clusterFolder("default", "/b"), "/b");
  EXPECT_TRUE(ClusterLine().set.parse({"--name", "a"}));
  EXPECT_TRUE(ClusterLine().set.parse({"--data-dir", "b"}));
  EXPECT_FALSE(ClusterLine().set.parse({"--name", "../a"}));
  for (const std::vector<std::string>& both : std::vector<std::vector<std::string>>{
           {"--name", "a", "--data-dir", "b"}, {"--data-dir=b", "--name=default"}}) {
    const auto parsed = ClusterLine().set.parse(both);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, HasSubstr("--name and --data-dir exclude each other"));
  }
}

}  // namespace
}  // namespace koord::koordctl
