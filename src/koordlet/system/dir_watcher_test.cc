#include "koordlet/system/dir_watcher.h"

#include <gmock/gmock.h>

#include "base/event_loop.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

class DirWatcherTest : public testing::Test {
 protected:
  // Runs the loop until `count` events came; it gives up after half a minute.
  std::vector<std::string> events(std::size_t count) {
    wanted_ = count;
    loop_.runAfter(30s, [this] { loop_.stop(); });
    if (seen_.size() < count) loop_.run();
    return std::exchange(seen_, {});
  }

  TempTree tree_{{"pods/a/x", "1"}};
  EventLoop loop_;
  std::size_t wanted_ = 0;
  std::vector<std::string> seen_;
  DirWatcher watcher_{loop_, [this](const DirWatcher::Event& event) {
                        const char* what = event.what == DirWatcher::ChangeKind::Created   ? "+"
                                           : event.what == DirWatcher::ChangeKind::Removed ? "-"
                                                                                           : "=";
                        seen_.push_back(what + event.name);
                        if (seen_.size() == wanted_) loop_.stop();
                      }};
};

TEST_F(DirWatcherTest, ADirectoryThatIsMadeAnewStaysWatchedWhenTheEndOfTheOldOneIsToldLater) {
  ASSERT_TRUE(watcher_.watch(tree_.path("pods"), DirWatcher::Interest::Directories));
  for (int i = 0; i < 20; ++i) {
    tree_.makeDir("pods/b");
    ASSERT_TRUE(watcher_.watch(tree_.path("pods/b"), DirWatcher::Interest::Files));
    tree_.remove("pods/b");
    tree_.makeDir("pods/b");
    ASSERT_TRUE(watcher_.watch(tree_.path("pods/b"), DirWatcher::Interest::Files));
    EXPECT_THAT(events(3), testing::ElementsAre("+b", "-b", "+b"));
    EXPECT_TRUE(watcher_.watches(tree_.path("pods/b")));
    EXPECT_EQ(watcher_.size(), 2U);
    tree_.remove("pods/b");
    EXPECT_THAT(events(1), testing::ElementsAre("-b"));
  }
}

TEST_F(DirWatcherTest, DirectoriesThatComeAndGoAreTold) {
  ASSERT_TRUE(watcher_.watch(tree_.path("pods"), DirWatcher::Interest::Directories));
  tree_.makeDir("pods/b");
  tree_.write("pods/file", "no directory");
  tree_.remove("pods/b");
  EXPECT_THAT(events(2), testing::ElementsAre("+b", "-b"));
}

TEST_F(DirWatcherTest, WritesAreToldToThoseWhoWantThem) {
  ASSERT_TRUE(watcher_.watch(tree_.path("pods/a"), DirWatcher::Interest::Files));
  tree_.write("pods/a/x", "22");
  EXPECT_THAT(events(1), testing::Contains("=x"));
}

TEST_F(DirWatcherTest, ADirectoryThatWentCanBeWatchedAgain) {
  ASSERT_TRUE(watcher_.watch(tree_.path("pods"), DirWatcher::Interest::Directories));
  ASSERT_TRUE(watcher_.watch(tree_.path("pods/a"), DirWatcher::Interest::Directories));
  EXPECT_TRUE(watcher_.watches(tree_.path("pods/a")));
  tree_.remove("pods/a");
  EXPECT_THAT(events(1), testing::ElementsAre("-a"));
  EXPECT_FALSE(watcher_.watch(tree_.path("pods/a"), DirWatcher::Interest::Directories));
  tree_.makeDir("pods/a");
  ASSERT_TRUE(watcher_.watch(tree_.path("pods/a"), DirWatcher::Interest::Directories));
  tree_.makeDir("pods/a/c");
  EXPECT_THAT(events(2), testing::ElementsAre("+a", "+c"));
}

}  // namespace
}  // namespace koord::koordlet
