#include "cluster/up/remote_log.h"

#include <gmock/gmock.h>

#include "base/virtual_loop.h"

namespace koord::cluster {
namespace {

using testing::HasSubstr;

api::Node nodeAt(const char* address, int port) {
  api::Node node;
  node.status.addresses = {{"Hostname", "laptop"}, {"InternalIP", address}};
  node.status.daemonEndpoints.kubeletEndpoint = api::DaemonEndpoint{port};
  return node;
}

TEST(RemoteLogTest, theUrlIsThatOfTheKubeletsPort) {
  api::StringMap query;
  query["container"] = "main";
  query["tailLines"] = "5";
  EXPECT_EQ(remoteLogUrl(nodeAt("192.0.2.7", 10250), {"default", "web"}, "main", query).value(),
            "https://192.0.2.7:10250/containerLogs/default/web/main?tailLines=5");
  EXPECT_EQ(remoteLogUrl(nodeAt("2001:db8::7", 1), {"a", "b"}, "../../pods", {}).value(),
            "https://[2001:db8::7]:1/containerLogs/a/b/..%2F..%2Fpods");
}

TEST(RemoteLogTest, aSimulatedNodeHasNone) {
  api::Node simulated;
  simulated.status.addresses = {{"InternalIP", "10.0.0.1"}};
  EXPECT_THAT(remoteLogUrl(simulated, {"default", "web"}, "main", {}).error().message,
              HasSubstr("runs on a simulated node"));
  EXPECT_FALSE(remoteLogUrl(nodeAt("10.0.0.1", 0), {"default", "web"}, "main", {}));
}

// A node: it keeps what the log asked for, and answers when the test says so.
class FakeNode : public net::HttpTransport {
 public:
  Task<Result<net::HttpResponse>> fetch(Executor&, net::HttpRequest) override {
    co_return net::HttpResponse{};
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest request,
                                      net::StreamSink sink) override {
    asked = std::move(request);
    sink_ = std::make_unique<net::StreamSink>(std::move(sink));
    return std::make_unique<Open>(*this);
  }
  void head(int status) { sink_->onHead({status, {}, {}}); }
  void send(std::string piece) { sink_->onChunk(std::move(piece)); }
  void close() { sink_->onClosed({}); }
  bool streaming() const { return open_; }

  net::HttpRequest asked;

 private:
  struct Open : net::Stream {
    explicit Open(FakeNode& to) : node(to) { node.open_ = true; }
    ~Open() override { node.open_ = false; }
    FakeNode& node;
  };
  std::unique_ptr<net::StreamSink> sink_;
  bool open_ = false;
};

class OpenRemoteLogTest : public ::testing::Test {
 protected:
  // Runs the task until it ends, at most for `limit`; nullopt if it has not ended then.
  template <class T>
  std::optional<T> run(Task<T> task, Duration limit = std::chrono::minutes(5)) {
    const auto result = std::make_shared<std::optional<T>>();
    tasks.spawn(keep(std::move(task), result));
    loop.advanceUntil([&] { return result->has_value(); }, limit);
    return *result;
  }
  template <class T>
  static Task<void> keep(Task<T> task, std::shared_ptr<std::optional<T>> result) {
    auto value = co_await task;
    *result = std::move(value);
  }
  bool open() {
    node.head(200);
    const auto opened = run(log.opened());
    return opened && *opened;
  }
  // The next piece; "END", or "NOTHING" if none comes for 10 s.
  std::string piece() {
    const auto next = run(log.next(), std::chrono::seconds(10));
    return !next ? "NOTHING" : *next ? **next : "END";
  }

  VirtualLoop loop;
  FakeNode node;
  RemoteLog log{node, loop, "https://192.0.2.7:1/containerLogs/a/b/c", nullptr};
  TaskGroup tasks;
};

TEST_F(OpenRemoteLogTest, aFollowedLogHasNoTimeLimit) {
  EXPECT_EQ(node.asked.timeout.count(), 0);
}

TEST_F(OpenRemoteLogTest, aNodeThatDoesNotAnswerEndsIt) {
  const auto opened = run(log.opened(), std::chrono::minutes(1));
  ASSERT_TRUE(opened) << "it waits without end";
  EXPECT_THAT(opened->error().message, HasSubstr("no answer within 30 s"));
  EXPECT_FALSE(node.streaming());
}

TEST_F(OpenRemoteLogTest, aQuietLogLetsItsReaderLookAfterTheClient) {
  ASSERT_TRUE(open());
  EXPECT_EQ(piece(), "");
  node.send("a line");
  EXPECT_EQ(piece(), "a line");
  node.close();
  EXPECT_EQ(piece(), "END");
}

TEST_F(OpenRemoteLogTest, aSlowReaderIsToldThatTheLogIsCut) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 10 && node.streaming(); ++i) node.send(std::string(1 << 20, 'x'));
  EXPECT_FALSE(node.streaming());
  std::string all;
  for (std::string next; (next = piece()) != "END" && next != "NOTHING";) all += next;
  EXPECT_GT(all.size(), 8u << 20);
  EXPECT_THAT(all.substr(all.size() - 100), HasSubstr("its reader is too slow"));
}

TEST_F(OpenRemoteLogTest, anErrorHasTheWordsOfTheNode) {
  node.head(404);
  node.send("container c is not there\n");
  node.close();
  const auto opened = run(log.opened());
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->error().code, ErrorCode::NotFound);
  EXPECT_EQ(opened->error().message, "container c is not there");
}

}  // namespace
}  // namespace koord::cluster
