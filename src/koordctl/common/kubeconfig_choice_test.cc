#include "koordctl/common/kubeconfig_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "cluster/up/credentials.h"

namespace koord::koordctl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class KubeconfigChoiceTest : public testing::Test {
 protected:
  KubeconfigChoiceTest() {
    std::string path = (std::filesystem::temp_directory_path() / "kubeconfig-XXXXXX").string();
    folder = ::mkdtemp(path.data());
  }
  ~KubeconfigChoiceTest() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder + "/" + name) << text;
    return folder + "/" + name;
  }
  static Error refused() {
    return {ErrorCode::Unavailable, "connect to https://127.0.0.1:6443: connection refused"};
  }

  std::string folder;
};

TEST_F(KubeconfigChoiceTest, TheFlagComesFirstThenTheEnvironmentThenOurOwn) {
  EXPECT_EQ(chooseKubeconfig("flag", "env", "own").flag, "flag");
  const auto fromEnvironment = chooseKubeconfig("", "a:b", "own");
  EXPECT_EQ(fromEnvironment.flag, "");  // the list is read by kubectl's rules
  EXPECT_THAT(fromEnvironment.files, ElementsAre("a", "b"));
  EXPECT_EQ(chooseKubeconfig("", "", "own").flag, "own");
  EXPECT_TRUE(chooseKubeconfig("", "", "").files.empty());
}

TEST_F(KubeconfigChoiceTest, AFailureNamesTheFile) {
  const auto file = write("config", "users: []");
  const auto error = explainFailure(chooseKubeconfig(file), refused());
  EXPECT_EQ(error.message, "kubeconfig " + file + ": " + refused().message);
  // Once is enough.
  const Error named{ErrorCode::NotFound, "kubeconfig " + file + ": no such file"};
  EXPECT_EQ(explainFailure(chooseKubeconfig(file), named).message, named.message);
}

TEST_F(KubeconfigChoiceTest, ACrashedClusterIsSaidToBeOne) {
  const auto file = write("kubeconfig", std::string("name: ") + cluster::kAdminUser);
  write("lock", "123");
  const auto error = explainFailure(chooseKubeconfig(file), refused());
  EXPECT_THAT(error.message, HasSubstr("its cluster is not running"));
  EXPECT_THAT(error.message, HasSubstr("'koordctl up --data-dir " + folder + "'"));
  // A server that rejects the request is running.
  const Error forbidden{ErrorCode::Forbidden, "nodes is forbidden"};
  EXPECT_THAT(explainFailure(chooseKubeconfig(file), forbidden).message,
              Not(HasSubstr("not running")));
}

TEST_F(KubeconfigChoiceTest, AStoppedClusterHasTakenItsFileAlong) {
  const std::string file = folder + "/kubeconfig";
  const auto fails = [&] {
    const auto choice = chooseKubeconfig(file);
    const auto loaded = loadChoice(choice);
    return loaded ? std::string("no error") : explainFailure(choice, loaded.error()).message;
  };
  EXPECT_THAT(fails(), AllOf(HasSubstr(file), Not(HasSubstr("was stopped"))));
  write("lock", "123");
  EXPECT_THAT(fails(), AllOf(HasSubstr(file), HasSubstr("that cluster was stopped"),
                             HasSubstr("koordctl up --data-dir " + folder)));
}

}  // namespace
}  // namespace koord::koordctl
