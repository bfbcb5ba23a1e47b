// Container logs: writing, rotation and reading.

#include "cluster/hostnode/log_follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cluster/hostnode/container_streams.h"
#include "cluster/hostnode/fake_cgroup_fs.h"
#include "cluster/hostnode/fake_runtime.h"
#include "cluster/hostnode/kubelet_server.h"
#include "cluster/hostnode/log_files.h"
#include "cluster/hostnode/log_writer.h"
#include "cluster/hostnode/termination_message.h"
#include "cluster/testing/test_cluster.h"
#include "kube/fake_api.h"
#include "net/fake_responder.h"

namespace koord::cluster {
namespace {

namespace fs = std::filesystem;

// A pod "p" whose container "main" writes into path.
class LogsTest : public testing::Test {
 protected:
  LogsTest()
      : dir(testing::TempDir() + "logs-" + std::to_string(::getpid())),
        path(dir + "/c0"),
        cgroups({2, "/cg", {}}, cgroupFs),
        runtime(cluster.loop, cgroups) {
    fs::remove_all(dir);
    EXPECT_TRUE(makeDirs(dir));
    cgroupFs.dirs = {"/cg"};
    runtime.logDir = dir;
    HostNodeOptions options;
    options.node.name = "box";
    options.node.capacity = {{"cpu", Quantity::of(4)}, {"memory", Quantity::of(8 << 20)}};
    options.node.allocatable = options.node.capacity;
    options.podsDir = dir + "/pods";
    node = std::make_unique<HostNode>(cluster.api, cluster.loop, runtime, cgroups, Random(1),
                                      std::move(options), HostNodeServices{cluster.loop});
    node->start();
    cluster.loop.advance(1s);
    cluster.create(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: box, containers: [{name: "
        "main, image: i, command: [run]}]}");
    cluster.loop.advance(1s);
  }
  ~LogsTest() override {
    node.reset();
    fs::remove_all(dir);
  }

  void append(const std::string& text) { std::ofstream(path, std::ios::app) << text; }
  LogFollower open(const LogOptions& options) {
    auto opened = LogFollower::open(cluster.loop, *node, {"default", "p"}, "main", options);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    return *std::move(opened);
  }
  // Output within a second; *ended is set to true if that is the end.
  std::string read(LogFollower& log, bool* ended = nullptr) {
    std::string text;
    bool over = false;
    largest = 0;
    const auto reading = [](LogFollower* from, std::string* to, bool* end,
                            std::size_t* most) -> Task<void> {
      while (!*end) {
        auto next = from->next();
        auto piece = co_await next;
        *end = !piece;
        if (piece) *to += *piece;
        if (piece) *most = std::max(*most, piece->size());
      }
    };
    TaskGroup group;
    group.spawn(reading(&log, &text, &over, &largest));
    cluster.loop.advance(1s);
    if (ended) *ended = over;
    return text;
  }
  std::string readAll(const LogOptions& options) {
    auto log = open(options);
    bool ended = false;
    auto text = read(log, &ended);
    EXPECT_TRUE(ended);
    return text;
  }
  static std::string lines(int from, int to) {
    std::string text;
    for (int i = from; i < to; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }

  std::string dir;
  std::string path;
  TestCluster cluster;
  FakeCgroupFs cgroupFs;
  Cgroups cgroups;
  FakeRuntime runtime;
  std::unique_ptr<HostNode> node;
  std::size_t largest = 0;  // piece of the last read
};

TEST_F(LogsTest, ALongLogIsReadPieceByPiece) {
  const std::string text = lines(0, 500'000);
  append(text);
  EXPECT_EQ(readAll({}), text);
  EXPECT_LE(largest, 1u << 20);
  LogOptions few;
  few.limitBytes = 13;
  EXPECT_EQ(readAll(few), "line 0\nline 1");
}

TEST_F(LogsTest, TheLastLinesAreFoundFromTheEnd) {
  append(lines(0, 500'000));
  LogOptions options;
  for (const std::int64_t count : {0, 1, 2, 9'000, 200'000, 499'999, 500'000, 600'000}) {
    options.tailLines = count;
    EXPECT_EQ(readAll(options), lines(std::max(0, 500'000 - static_cast<int>(count)), 500'000))
        << count;
  }
  append("and a half");
  options.tailLines = 2;
  EXPECT_EQ(readAll(options), "line 499999\nand a half");
}

TEST_F(LogsTest, ALogThatIsNotThereYetIsEmptyOrWaitedFor) {
  EXPECT_EQ(readAll({}), "");
  LogOptions options;
  options.follow = true;
  auto log = open(options);
  EXPECT_EQ(read(log), "");
  append("hello\nwor");
  EXPECT_EQ(read(log), "hello\n");
  append("ld\n");
  EXPECT_EQ(read(log), "world\n");
}

TEST_F(LogsTest, AFollowerGoesOnInTheNextFile) {
  append(lines(0, 3));
  LogOptions options;
  options.follow = true;
  options.tailLines = 1;
  auto log = open(options);
  EXPECT_EQ(read(log), "line 2\n");
  append("end of the first\n");
  ASSERT_TRUE(rotateLog(path));
  // The writer may notice the rotation late.
  std::ofstream(rotatedLog(path, 1), std::ios::app) << "late\n";
  EXPECT_EQ(read(log), "end of the first\nlate\n");
  append("second\n");
  EXPECT_EQ(read(log), "second\n");
  // Twice between two checks.
  append("second, too\n");
  ASSERT_TRUE(rotateLog(path));
  append("third\n");
  ASSERT_TRUE(rotateLog(path));
  append("fourth\n");
  EXPECT_EQ(read(log), "second, too\nthird\nfourth\n");
  runtime.exit("main", 0);
  append("last");
  bool ended = false;
  EXPECT_EQ(read(log, &ended), "last");
  EXPECT_TRUE(ended);
}

TEST_F(LogsTest, OldPartsGo) {
  for (int i = 0; i < 8; ++i) {
    append(std::to_string(i));
    ASSERT_TRUE(rotateLog(path));
  }
  EXPECT_EQ(readHead(rotatedLog(path, 1), 10), "7");
  EXPECT_EQ(readHead(rotatedLog(path, 4), 10), "4");
  EXPECT_EQ(fileSize(rotatedLog(path, 5)), -1);
  removeLog(path);
  EXPECT_EQ(fileSize(rotatedLog(path, 1)), -1);
}

TEST_F(LogsTest, APumpPutsTheLogAsideWhenItIsFull) {
  ContainerStreams pump({}, {.bytes = 4096, .files = 3});
  ASSERT_TRUE(pump.open(dir));
  const std::string log = dir + "/log";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = lines(0, 1000);
    const bool ok = pump.become() && ::write(1, text.data(), text.size()) > 0;
    ::_exit(ok ? 0 : 1);
  }
  pump.copyUntilEnd(child);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  pump.drain();
  EXPECT_EQ(status, 0);
  for (int i = 0; i < 100; ++i) {
    // More than the pipe's capacity.
    const std::string_view files[] = {"", ".1", ".2"};
    for (const auto suffix : files)
      if (fileSize(log + std::string(suffix)) >= 0)
        EXPECT_LE(fileSize(log + std::string(suffix)), 4096 + 128 * 1024);
  }
  EXPECT_EQ(fileSize(rotatedLog(log, 3)), -1);
  EXPECT_GE(fileSize(rotatedLog(log, 1)), 4096);
}

TEST_F(LogsTest, ALogHasWholeLinesAfterAFullDisk) {
  LogWriter log({});
  ASSERT_TRUE(log.open(dir + "/log"));
  log.put("one\n");
  // A limit for files stops writes in the middle, as a full disk does.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  log.put("two\nthree\n");
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  log.put("four\n");
  EXPECT_EQ(readHead(dir + "/log", 100), "one\ntwo\nfour\n");
}

TEST_F(LogsTest, LastWordsAreTheEndOfALogOfAnySize) {
  append(lines(0, 500'000));
  const auto words = terminationMessage(dir + "/none", path, true);
  EXPECT_EQ(words, lines(499'920, 500'000));
}

class KubeletServerTest : public LogsTest {
 protected:
  KubeletServerTest() {
    auto started = KubeletServer::start(
        cluster.loop, {.listen = "", .tls = nullptr, .access = [this](auto who, std::string sub) {
                         return decide(who->commonName + " " + sub, &asked, &allowed);
                       }});
    server = *std::move(started);
    server->serve(*node);
  }
  static Task<Result<bool>> decide(std::string question, std::vector<std::string>* asked,
                                   std::string* allowed) {
    asked->push_back(question);
    co_return question == *allowed;
  }
  std::shared_ptr<net::FakeResponder> get(const std::string& target,
                                          const std::string& user = "eve") {
    net::ServerRequest request;
    request.method = "GET";
    request.target = target;
    if (!user.empty())
      request.peer = std::make_shared<const net::PeerIdentity>(
          net::PeerIdentity{.commonName = user, .organizations = {}, .authority = ""});
    auto responder = std::make_shared<net::FakeResponder>();
    server->handle(std::move(request), responder);
    cluster.loop.advance(1s);
    return responder;
  }

  std::vector<std::string> asked;
  std::string allowed = "admin proxy";
  std::unique_ptr<KubeletServer> server;
};

TEST_F(KubeletServerTest, ACertificateIsNotEnough) {
  append("secret\n");
  EXPECT_EQ(get("/healthz", "")->status, 200);
  EXPECT_EQ(get("/pods", "")->status, 401);
  EXPECT_EQ(get("/pods")->status, 403);
  const auto refused = get("/containerLogs/default/p/main");
  EXPECT_EQ(refused->status, 403);
  EXPECT_EQ(refused->body,
            "Forbidden (user=eve, verb=get, resource=nodes, subresource(s)=[proxy])\n");
  const auto answered = get("/containerLogs/default/p/main", "admin");
  EXPECT_EQ(answered->status, 200);
  EXPECT_EQ(answered->body, "secret\n");
  EXPECT_TRUE(answered->ended);
  EXPECT_EQ(get("/pods", "admin")->status, 200);
  EXPECT_THAT(asked, testing::ElementsAre("eve pods", "eve proxy", "eve proxy", "admin proxy",
                                          "admin pods", "admin proxy"));
  allowed = "eve pods";
  EXPECT_EQ(get("/pods")->status, 200);
  EXPECT_EQ(get("/configz")->status, 403);
}

TEST_F(KubeletServerTest, TheApiServerIsAskedWhoMayGetWhat) {
  kube::FakeApi api(cluster.loop);
  std::string body;
  api.answer = [&](const kube::Request& request) -> Result<std::string> {
    EXPECT_EQ(request.resource, "subjectaccessreviews");
    body = request.body;
    const bool isEve = body.find("\"user\":\"eve\"") != std::string::npos;
    return std::string("{\"status\": {\"allowed\": ") + (isEve ? "true" : "false") + "}}";
  };
  const auto may = [&](const std::string& user) {
    const auto access = accessThroughApi(api, "box");
    return cluster
        .run(access(std::make_shared<const net::PeerIdentity>(net::PeerIdentity{
                        .commonName = user, .organizations = {"team"}, .authority = ""}),
                    "proxy"))
        .value();
  };
  EXPECT_FALSE(may("mallory"));
  EXPECT_TRUE(may("eve"));
  const auto asked = parseJson(body);
  ASSERT_TRUE(asked);
  EXPECT_EQ(toJson(*at(*asked, "spec", "groups")), "[\"team\",\"system:authenticated\"]");
  EXPECT_EQ(toJson(*at(*asked, "spec", "resourceAttributes")),
            "{\"verb\":\"get\",\"version\":\"v1\",\"resource\":\"nodes\","
            "\"subresource\":\"proxy\",\"name\":\"box\"}");
}

// A reader that takes nothing.
class SlowResponder final : public net::Responder {
 public:
  std::size_t written = 0;
  bool slow = true;
  bool ended = false;
  Callback closed;
  using Responder::respond;
  void respond(int, net::Headers, Bytes) override {}
  void begin(int, net::Headers) override {}
  void write(Bytes chunk) override { written += chunk->size(); }
  void end() override { ended = true; }
  std::size_t queuedBytes() const override { return slow ? written : 0; }
  void abort() override {}
  void onClosed(Callback fn) override { closed = std::move(fn); }
};

TEST_F(KubeletServerTest, ALogWaitsForItsReader) {
  append(std::string(64, 'x') + "\n");
  for (int i = 0; i < 18; ++i) append(std::string((1 << 20) - 1, 'x') + "\n");
  net::ServerRequest request;
  request.method = "GET";
  request.target = "/containerLogs/default/p/main";
  request.peer = std::make_shared<const net::PeerIdentity>(
      net::PeerIdentity{.commonName = "admin", .organizations = {}, .authority = ""});
  const auto responder = std::make_shared<SlowResponder>();
  server->handle(std::move(request), responder);
  cluster.loop.advance(5s);
  EXPECT_LE(responder->written, 6u << 20);
  responder->slow = false;
  cluster.loop.advance(5s);
  EXPECT_TRUE(responder->ended);
  EXPECT_EQ(responder->written, (18u << 20) + 65);
}

}  // namespace
}  // namespace koord::cluster
