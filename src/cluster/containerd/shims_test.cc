#include "cluster/containerd/shims.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

// A process with a command line like a shim's. It ends when its standard input does.
class Shim {
 public:
  explicit Shim(std::string socket, std::string name = "containerd-shim-runc-v2") {
    EXPECT_EQ(::pipe2(input_.data(), O_CLOEXEC), 0);
    std::array<int, 2> output{};
    EXPECT_EQ(::pipe2(output.data(), O_CLOEXEC), 0);
    name = "/usr/bin/" + name;
    std::string command = "-c", script = "echo; read line", flag = "-address";
    std::array<char*, 6> argv = {name.data(), command.data(), script.data(),
                                 flag.data(), socket.data(),  nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input_[0], 0);
    posix_spawn_file_actions_adddup2(&actions, output[1], 1);
    EXPECT_EQ(::posix_spawn(&pid_, "/bin/sh", &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    // The command line is readable only a moment after the spawn.
    ::close(output[1]);
    char byte = 0;
    EXPECT_EQ(::read(output[0], &byte, 1), 1);
    ::close(output[0]);
  }
  ~Shim() {
    ::close(input_[0]);
    ::close(input_[1]);
    if (pid_ != 0) status();
  }
  pid_t pid() const { return pid_; }
  int status() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }
  void end() { EXPECT_EQ(::write(input_[1], "\n", 1), 1); }

 private:
  std::array<int, 2> input_{};
  pid_t pid_ = 0;
};

std::string socketOfThisTest() {
  return "/run/koord-shims-test-" + std::to_string(::getpid()) + "/containerd.sock";
}

void awaitOwn(Duration grace) {
  VirtualLoop loop;
  TaskGroup tasks;
  tasks.spawn(awaitShims(loop, socketOfThisTest(), grace));
  loop.advance(std::chrono::minutes(1));
}

TEST(Shims, AreFoundByTheSocketOfTheirContainerd) {
  const Shim own(socketOfThisTest());
  const Shim foreign(socketOfThisTest() + "2");
  const Shim otherProgram(socketOfThisTest(), "containerd");
  EXPECT_THAT(shimsOf(socketOfThisTest()), Contains(own.pid()));
  EXPECT_THAT(shimsOf(socketOfThisTest()), Not(Contains(foreign.pid())));
  EXPECT_THAT(shimsOf(socketOfThisTest()), Not(Contains(otherProgram.pid())));
}

TEST(Shims, ThatEndByThemselvesAreNotKilled) {
  Shim shim(socketOfThisTest());
  shim.end();
  EXPECT_TRUE(WIFEXITED(shim.status()));
  awaitOwn(std::chrono::seconds(3));
  EXPECT_THAT(shimsOf(socketOfThisTest()), IsEmpty());
}

TEST(Shims, ThatStayAreKilledAfterTheGraceTimeAndForeignOnesAreNot) {
  Shim shim(socketOfThisTest());
  Shim foreign(socketOfThisTest() + "2");
  awaitOwn(std::chrono::seconds(3));
  const int status = shim.status();
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  foreign.end();
  EXPECT_TRUE(WIFEXITED(foreign.status()));
}

}  // namespace
}  // namespace koord::cluster
