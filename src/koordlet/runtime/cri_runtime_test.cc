#include <fmt/core.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <thread>

#include "api/protobuf/wire.h"
#include "base/event_loop.h"
#include "koordlet/runtime/container_runtime.h"
#include "koordlet/testing/temp_tree.h"
#include "net/rpc/grpc_server.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
namespace wire = api::wire;

std::string label(std::string_view key, std::string_view value) {
  std::string entry;
  wire::putBytes(entry, 1, key);
  wire::putBytes(entry, 2, value);
  return entry;
}

std::string containerMessage(std::string_view id, std::string_view name, int state) {
  std::string metadata, message;
  wire::putBytes(metadata, 1, name);
  wire::putBytes(message, 1, id);
  wire::putBytes(message, 3, metadata);
  wire::putNumber(message, 6, static_cast<std::uint64_t>(state));
  wire::putBytes(message, 8, label("io.kubernetes.pod.uid", "u1"));
  wire::putBytes(message, 8, label("other", "x"));
  return message;
}

TEST(CriMessages, ContainersThatRunAreReadWithTheirPods) {
  std::string reply;
  wire::putBytes(reply, 1, containerMessage("a", "main", 1));
  wire::putBytes(reply, 1, containerMessage("b", "done", 2));
  wire::putBytes(reply, 1, containerMessage("c", "made", 0));
  const auto containers = containersInReply(reply);
  ASSERT_TRUE(containers);
  ASSERT_EQ(containers->size(), 2U);
  EXPECT_EQ(containers->front().id, "a");
  EXPECT_EQ(containers->front().name, "main");
  EXPECT_EQ(containers->front().podUid, "u1");
  EXPECT_TRUE(containers->front().running);
  EXPECT_EQ(containers->back().id, "c");
  EXPECT_FALSE(containers->back().running);
}

TEST(CriMessages, AContainerIsStoppedWithinItsGracePeriod) {
  std::string request;
  wire::putBytes(request, 1, "abc");
  EXPECT_EQ(stopContainerRequest("abc", 0), request);
  EXPECT_EQ(stopContainerRequest("abc", -1), request);
  wire::putNumber(request, 2, 7);
  EXPECT_EQ(stopContainerRequest("abc", 7), request);
}

TEST(CriMessages, GarbageIsAnError) {
  EXPECT_FALSE(containersInReply("\x0a\xff\xff"));
  EXPECT_FALSE(containersInReply("\x0a\x02\x0a\x7f"));
  EXPECT_TRUE(containersInReply("")->empty());
}

// Calls a fake runtime over a real socket.
class CriRuntimeTest : public testing::Test {
 protected:
  CriRuntimeTest() {
    tree_.makeDir("var-run");
    server_.runSync([this] {
      served_ = *net::GrpcServer::start(
          server_.loop(), tree_.path("var-run/containerd.sock"),
          [this](net::GrpcRequest request, net::GrpcAnswer answer) {
            if (request.method.ends_with("/StopContainer")) {
              stopped_ = request.message;
              if (request.message.find("gone") != std::string::npos)
                return answer(
                    std::unexpected(net::GrpcStatus{net::GrpcCode::NotFound, "no such container"}));
              if (request.message.find("stuck") != std::string::npos)
                return answer(
                    std::unexpected(net::GrpcStatus{net::GrpcCode::Unknown, "task does not end"}));
              return answer(std::string());
            }
            std::string reply;
            wire::putBytes(reply, 1, containerMessage("a", "main", 1));
            answer(std::move(reply));
          });
    });
    runtime_ = makeCriRuntime(loop_, findRuntimes(tree_.dirs(), {}));
  }
  ~CriRuntimeTest() override {
    runtime_.reset();
    server_.runSync([this] { served_.reset(); });
  }
  template <class T>
  static Task<void> keep(Future<T> future, std::optional<T>* into, EventLoop* loop) {
    auto value = co_await future;
    *into = std::move(value);
    loop->stop();
  }
  template <class T>
  T wait(Future<T> future) {
    std::optional<T> value;
    TaskGroup tasks;
    tasks.spawn(keep(std::move(future), &value, &loop_));
    loop_.run();
    return *std::move(value);
  }

  TempTree tree_;
  net::IoThread server_{"cri-test"};
  std::unique_ptr<net::GrpcServer> served_;
  std::string stopped_;
  EventLoop loop_;
  std::unique_ptr<ContainerRuntime> runtime_;
};

TEST_F(CriRuntimeTest, ContainersAreStoppedByTheIdOfTheirStatus) {
  EXPECT_TRUE(wait(runtime_->stop("containerd://abc", Duration::zero())));
  EXPECT_EQ(stopped_, stopContainerRequest("abc", 0));
  EXPECT_TRUE(wait(runtime_->stop("containerd://gone", Duration::zero())));
}

TEST_F(CriRuntimeTest, WhatCannotBeStoppedIsAnErrorThatSaysWhere) {
  const auto stuck = wait(runtime_->stop("containerd://stuck", Duration::zero()));
  ASSERT_FALSE(stuck);
  EXPECT_THAT(stuck.error().message, testing::HasSubstr("containerd.sock"));
  EXPECT_THAT(stuck.error().message, testing::HasSubstr("task does not end"));
  EXPECT_EQ(wait(runtime_->stop("docker://abc", Duration::zero())).error().code,
            ErrorCode::NotFound);
  EXPECT_FALSE(wait(runtime_->stop("nonsense", Duration::zero())));
}

TEST_F(CriRuntimeTest, ItKnowsWhichContainerIsWhich) {
  const auto containers = wait(runtime_->list());
  ASSERT_TRUE(containers) << containers.error().message;
  ASSERT_EQ(containers->size(), 1U);
  EXPECT_EQ(containers->front().podUid, "u1");
}

TEST_F(CriRuntimeTest, AfterASocketThatDoesNotAnswerTheNextIsAsked) {
  tree_.write("var-run/nobody.sock", "");
  const std::string nobody = tree_.path("var-run/nobody.sock");
  runtime_ = makeCriRuntime(
      loop_, {{"containerd", nobody}, {"cri-o", tree_.path("var-run/containerd.sock")}});
  EXPECT_FALSE(wait(runtime_->list()));
  for (int i = 0; i < 2; ++i) {
    const auto containers = wait(runtime_->list());
    ASSERT_TRUE(containers) << containers.error().message;
    EXPECT_EQ(containers->front().scheme, "cri-o");
  }
}

TEST(FindRuntimes, SocketsAreFoundUnlessTheyAreNamed) {
  TempTree tree{{"var-run/crio/crio.sock", ""}};
  const auto found = findRuntimes(tree.dirs(), {.containerd = "unix:///run/c.sock"});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].socket, "/run/c.sock");
  EXPECT_EQ(found[1].scheme, "cri-o");
  tree.write("var-run/cri-dockerd.sock", "");
  EXPECT_EQ(findRuntimes(tree.dirs(), {.crio = "/run/o.sock"}).at(0).socket, "/run/o.sock");
  EXPECT_EQ(findRuntimes(tree.dirs(), {}).at(1).scheme, "docker");
}

}  // namespace
}  // namespace koord::koordlet
