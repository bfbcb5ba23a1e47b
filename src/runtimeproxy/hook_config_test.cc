#include "runtimeproxy/hook_config.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace koord::runtimeproxy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HookServer, KoordletsOwnFileIsRead) {
  const auto server = parseHookServer("koordlet.json", R"({
	"remote-endpoint": "/var/run/koordlet/koordlet.sock",
	"failure-policy": "Fail",
	"runtime-hooks": ["PreRunPodSandbox", "NoneRuntimeHookType", "PreRemoveRunPodSandbox",
	                  "PreCreateContainer"], "more": 1})");
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(server->endpoint, "/var/run/koordlet/koordlet.sock");
  EXPECT_TRUE(server->failureIsFatal);
  EXPECT_THAT(server->hooks, ElementsAre(HookType::PreRunPodSandbox, HookType::PreCreateContainer));
}

TEST(HookServer, AMistakeIsNamedByItsField) {
  const auto why = [](std::string_view text) {
    const auto server = parseHookServer("x", text);
    return server ? std::string("fine") : server.error().message;
  };
  EXPECT_THAT(why("{}"), HasSubstr("remote-endpoint"));
  EXPECT_THAT(why(R"({"remote-endpoint":5})"), HasSubstr("remote-endpoint"));
  EXPECT_THAT(why(R"({"remote-endpoint":"x","failure-policy":[]})"), HasSubstr("failure-policy"));
  EXPECT_THAT(why(R"({"remote-endpoint":"x","runtime-hooks":"y"})"), HasSubstr("runtime-hooks"));
  EXPECT_THAT(why(R"({"remote-endpoint":"x","runtime-hooks":[1]})"), HasSubstr("runtime-hooks"));
  EXPECT_EQ(why(R"({"remote-endpoint":"x"})"), "fine");
  EXPECT_NE(why("[]"), "fine");
  EXPECT_NE(why("{"), "fine");
}

class HookConfigsTest : public testing::Test {
 protected:
  HookConfigsTest() : folder_(testing::TempDir() + "hookconfig") {
    std::filesystem::remove_all(folder_);
  }
  ~HookConfigsTest() override { std::filesystem::remove_all(folder_); }

  void rewrite(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  void replace(const std::string& name, const std::string& endpoint) {
    ASSERT_TRUE(
        writeFileAtomic(folder_ + "/" + name, "{\"remote-endpoint\":\"" + endpoint + "\"}"));
  }
  std::vector<std::string> endpoints(const HookConfigs& configs) {
    std::vector<std::string> list;
    for (const auto& server : *configs.servers()) list.push_back(server.endpoint);
    return list;
  }
  // The kernel reports the change before this turn of the loop ends.
  void turn() {
    loop_.runAfter(Duration::zero(), [this] {
      loop_.runAfter(std::chrono::milliseconds(2), [this] { loop_.stop(); });
    });
    loop_.run();
  }

  net::IoLoop loop_;
  std::string folder_;
};

TEST_F(HookConfigsTest, FilesComeChangeAndGoInTheOrderOfTheirNames) {
  HookConfigs configs(loop_, folder_);
  ASSERT_TRUE(configs.start());
  EXPECT_TRUE(std::filesystem::is_directory(folder_));
  EXPECT_THAT(endpoints(configs), IsEmpty());
  replace("b.json", "b");
  replace("a.json", "a");
  rewrite("notes.txt", "not one of them");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("a", "b"));
  replace("b.json", "b2");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("a", "b2"));
  std::filesystem::remove(folder_ + "/a.json");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("b2"));
}

TEST_F(HookConfigsTest, AFileThatBreaksLeavesWhatItSaidAndANewOneThatIsBrokenSaysNothing) {
  HookConfigs configs(loop_, folder_);
  ASSERT_TRUE(configs.start());
  rewrite("new.json", "{");
  replace("old.json", "good");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("good"));
  rewrite("old.json", "{broken");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("good"));
  rewrite("old.json", R"({"remote-endpoint":"better"})");
  rewrite("new.json", R"({"remote-endpoint":"first"})");
  turn();
  EXPECT_THAT(endpoints(configs), ElementsAre("first", "better"));
}

TEST_F(HookConfigsTest, AListThatIsInUseDoesNotChange) {
  HookConfigs configs(loop_, folder_);
  ASSERT_TRUE(configs.start());
  replace("a.json", "a");
  turn();
  const auto inUse = configs.servers();
  std::filesystem::remove(folder_ + "/a.json");
  turn();
  EXPECT_THAT(endpoints(configs), IsEmpty());
  EXPECT_EQ(inUse->front().endpoint, "a");
}

}  // namespace
}  // namespace koord::runtimeproxy
