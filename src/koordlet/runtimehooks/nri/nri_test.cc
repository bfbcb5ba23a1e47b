#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/virtual_loop.h"
#include "base/yaml.h"
#include "koordlet/hooks/batchresource/batch_resource.h"
#include "koordlet/runtimehooks/nri/connection.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet::nri {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<FrameReader::Arrived> readAll(FrameReader& reader) {
  std::vector<FrameReader::Arrived> frames;
  for (;;) {
    auto next = reader.next();
    EXPECT_TRUE(next) << next.error().message;
    if (!next || !*next) return frames;
    frames.push_back(*std::move(*next));
  }
}

TEST(NriFraming, AFrameLooksAsTheProtocolSays) {
  RegisterPluginRequest request;
  request.set_plugin_name("koordlet_nri");
  request.set_plugin_idx("00");
  const std::string payload = request.SerializeAsString();
  EXPECT_EQ(payload,
            "\x0a\x0ckoordlet_nri\x12\x02"
            "00");
  const std::string bytes = encode(kRuntimeStream, {1, kTtrpcRequest, 0, payload});
  EXPECT_EQ(bytes.substr(0, 8), std::string("\0\0\0\2\0\0\0\x1c", 8));
  EXPECT_EQ(bytes.substr(8, 10), std::string("\0\0\0\x12\0\0\0\1\1\0", 10));
  ConfigureResponse response;
  response.set_events(kOwnEvents);
  EXPECT_EQ(response.SerializeAsString(), "\x10\x8d\x01");
}

TEST(NriFraming, FramesAreFoundHoweverTheirBytesCome) {
  const TtrpcFrame small{3, kTtrpcRequest, 0, "abc"};
  const TtrpcFrame large{5, kTtrpcResponse, 0, std::string(100'000, 'x')};
  const std::string bytes = encode(kPluginStream, large) + encode(77, small) +
                            encode(kRuntimeStream, small) + encode(kPluginStream, small);
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    FrameReader reader;
    std::vector<FrameReader::Arrived> frames;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.add(std::string_view(bytes).substr(at, step));
      for (auto& frame : readAll(reader)) frames.push_back(std::move(frame));
    }
    ASSERT_EQ(frames.size(), 3u);  // that of an unknown stream is dropped
    EXPECT_EQ(frames[0].frame, large);
    EXPECT_EQ(frames[1].stream, kRuntimeStream);
    EXPECT_EQ(frames[2].frame, small);
  }
}

TEST(NriFraming, NoPieceIsLargerThanGosBuffer) {
  const std::string bytes = encode(kPluginStream, {1, kTtrpcResponse, 0, std::string(10'000, 'x')});
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = static_cast<unsigned char>(bytes[at + 6]) * 256U +
                             static_cast<unsigned char>(bytes[at + 7]);
    EXPECT_LE(size, 4096u);
    at += 8 + size;
  }
}

TEST(NriFraming, WhatCannotBeTheProtocolIsAnError) {
  FrameReader piece;
  piece.add(std::string("\0\0\0\1\xff\xff\xff\xff", 8));
  EXPECT_FALSE(piece.next());
  FrameReader frame;
  frame.add(std::string("\0\0\0\1\0\0\0\x0a\x7f\xff\xff\xff\0\0\0\1\1\0", 18));
  EXPECT_FALSE(frame.next());
}

TEST(NriEvents, AreThoseOfTheConfiguration) {
  EXPECT_EQ(eventsIn("").value(), 0x8d);
  EXPECT_EQ(eventsIn("events: [RunPodSandbox, updatecontainer]").value(), 0x81);
  EXPECT_EQ(eventsIn("events: [pod]").value(), 0x7);
  EXPECT_EQ(eventsIn("events: ['RunPodSandbox,CreateContainer']").value(), 0x9);
  EXPECT_EQ(eventsIn("events: [all]").value() & 0x8d, 0x8d);
  for (const char* bad : {"events: [Nothing]", "events: x", "x: 1", "[", "events: [{}]",
                          "events: [ValidateContainerAdjustment]"})
    EXPECT_FALSE(eventsIn(bad)) << bad;
}

constexpr const char* kContainerSpec =
    R"({"containers":{"main":{"requests":{"kubernetes.io/batch-cpu":"1000"},
        "limits":{"kubernetes.io/batch-cpu":"2000","kubernetes.io/batch-memory":"4Gi"}}}})";

// koordlet's plugin, with a hook for the batch resources of pods.
class NriTest : public testing::Test {
 protected:
  NriTest()
      : files_(CgroupVersion::V1, {}),
        host_(*Host::detect(files_.dirs())),
        resources_(host_, clock_, {}, audit_),
        reconciler_(clock_, states_, resources_, 10s),
        podDir_(files_.addPod(KubeQos::BestEffort, "u1", {})),
        runner_(clock_, host_, states_, reconciler_, resources_, {}),
        plugin_(runner_, {}) {
    reconciler_.add("BatchResource", std::make_unique<BatchResourceHook>(host_));
  }

  PodSandbox pod() const {
    PodSandbox made;
    made.set_id("s1");
    made.set_uid("u1");
    made.set_name("be-1");
    (*made.mutable_labels())["koordinator.sh/qosClass"] = "BE";
    (*made.mutable_annotations())["node.koordinator.sh/extended-resource-spec"] = kContainerSpec;
    made.mutable_linux()->set_cgroup_parent("/" + podDir_);
    return made;
  }
  static Container container(const std::string& id, int state) {
    Container made;
    made.set_id(id);
    made.set_pod_sandbox_id("s1");
    made.set_name("main");
    made.set_state(state);
    return made;
  }
  template <class Response>
  Response ask(const std::string& method, const google::protobuf::MessageLite& request) {
    Response response;
    const auto answer = plugin_.answer(method, request.SerializeAsString());
    EXPECT_TRUE(answer && response.ParseFromString(*answer))
        << (answer ? "" : answer.error().message);
    return response;
  }

  VirtualLoop clock_;
  FakeHost files_;
  Host host_;
  AuditRing audit_;
  States states_;
  ResourceExecutor resources_;
  Reconciler reconciler_;
  std::string podDir_;
  HookRunner runner_;
  Plugin plugin_;
};

TEST_F(NriTest, AContainerThatIsMadeGetsItsValues) {
  EventRequest request;
  *request.mutable_pod() = pod();
  *request.mutable_container() = container("c1", 1);
  const auto made = ask<CreateContainerResponse>("CreateContainer", request);
  const auto& resources = made.adjust().linux().resources();
  EXPECT_EQ(resources.cpu().shares().value(), 1024u);
  EXPECT_EQ(resources.cpu().quota().value(), 200'000);
  EXPECT_EQ(resources.memory().limit().value(), std::int64_t{4} << 30);
  const auto updated = ask<UpdateContainerResponse>("UpdateContainer", request);
  ASSERT_EQ(updated.update_size(), 1);
  EXPECT_EQ(updated.update(0).container_id(), "c1");
  EXPECT_EQ(updated.update(0).linux().resources().cpu().quota().value(), 200'000);
}

TEST_F(NriTest, TheQuotaOfANewContainerIsForThePeriodThatKubeletAskedFor) {
  EventRequest request;
  *request.mutable_pod() = pod();
  *request.mutable_container() = container("c1", 1);
  auto& cpu = *request.mutable_container()->mutable_linux()->mutable_resources()->mutable_cpu();
  cpu.mutable_period()->set_value(10'000);
  const auto created = ask<CreateContainerResponse>("CreateContainer", request);
  EXPECT_EQ(created.adjust().linux().resources().cpu().quota().value(), 20'000);
}

TEST_F(NriTest, AContainerThatNoHookSpeaksAboutIsNotTouched) {
  EventRequest request;
  request.mutable_pod()->set_uid("other");
  *request.mutable_container() = container("c1", 1);
  const auto made = ask<CreateContainerResponse>("CreateContainer", request);
  EXPECT_FALSE(made.adjust().has_linux());
  EXPECT_EQ(ask<UpdateContainerResponse>("UpdateContainer", request).update_size(), 0);
}

TEST_F(NriTest, PodsAreToldInTheOldWayAndInTheNew) {
  for (const bool old : {true, false}) {
    files_.setCgroupText(CgroupFile::CpuShares, podDir_, "2");
    EventRequest request;
    *request.mutable_pod() = pod();
    StateChangeEvent event;
    event.set_event(1);
    *event.mutable_pod() = pod();
    clock_.advance(10min);  // what was written is looked at again
    EXPECT_TRUE(old ? plugin_.answer("StateChange", event.SerializeAsString())
                    : plugin_.answer("RunPodSandbox", request.SerializeAsString()));
    EXPECT_EQ(files_.cgroupText(CgroupFile::CpuShares, podDir_), "1024") << old;
  }
}

TEST_F(NriTest, SynchronizingInPartsGivesValuesToWhatRuns) {
  SynchronizeRequest first;
  *first.add_pods() = pod();
  *first.add_containers() = container("running", 3);
  first.set_more(true);
  const auto half = ask<SynchronizeResponse>("Synchronize", first);
  EXPECT_TRUE(half.more());
  EXPECT_EQ(half.update_size(), 0);
  SynchronizeRequest last;
  *last.add_containers() = container("stopped", 4);
  *last.add_containers() = container("made", 1);
  Container stray = container("stray", 3);
  stray.set_pod_sandbox_id("nobody");
  *last.add_containers() = stray;
  const auto all = ask<SynchronizeResponse>("Synchronize", last);
  EXPECT_FALSE(all.more());
  std::vector<std::string> updated;
  for (const auto& update : all.update()) updated.push_back(update.container_id());
  EXPECT_THAT(updated, ElementsAre("running", "made"));
  EXPECT_TRUE(all.update(0).ignore_failure());
  // The next synchronization starts empty.
  EXPECT_EQ(ask<SynchronizeResponse>("Synchronize", SynchronizeRequest()).update_size(), 0);
}

TEST_F(NriTest, StagesThatAreSwitchedOffAnswerNothing) {
  Plugin off(runner_, {"PreCreateContainer", "PreRunPodSandbox"});
  EventRequest request;
  *request.mutable_pod() = pod();
  *request.mutable_container() = container("c1", 1);
  EXPECT_EQ(off.answer("CreateContainer", request.SerializeAsString()).value(), "");
  EXPECT_NE(off.answer("UpdateContainer", request.SerializeAsString()).value(), "");
}

TEST_F(NriTest, WhatIsUnknownIsUnimplementedAndWhatIsBrokenInvalid) {
  EXPECT_EQ(plugin_.answer("ValidateContainerAdjustment", "").error().code, ErrorCode::NotFound);
  EXPECT_EQ(plugin_.answer("CreateContainer", "\xff").error().code, ErrorCode::BadRequest);
  EXPECT_EQ(plugin_.answer("Configure", std::string("\x0a\x03[[[", 5)).error().code,
            parseYaml("[[[").error().code);
  EXPECT_TRUE(plugin_.answer("Shutdown", ""));
  EXPECT_TRUE(plugin_.answer("RemoveContainer", ""));
}

// The runtime's end of the socket, on the plugin's loop.
class FakeNriRuntime {
 public:
  FakeNriRuntime(net::IoLoop& loop, const std::string& path)
      : loop_(loop), path_(path), listener_(net::listenUnix(path).value()) {
    watch_ = loop.watch(listener_.get(), [this](net::IoLoop::Ready) { accept(); });
    watch_->want({.read = true});
  }
  ~FakeNriRuntime() { ::unlink(path_.c_str()); }

  void call(std::uint32_t number, const std::string& method, const std::string& payload,
            std::string_view service = kPluginService) {
    TtrpcRequest request;
    request.set_service(std::string(service));
    request.set_method(method);
    request.set_payload(payload);
    write(encode(kPluginStream, {number, kTtrpcRequest, 0, request.SerializeAsString()}));
  }
  void write(const std::string& bytes) {
    EXPECT_EQ(::send(peer_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  void drop() {
    peerWatch_.reset();
    peer_ = Fd();
  }

  int connections = 0;
  int status = 0;       // of RegisterPlugin
  bool silent = false;  // no answer to it
  std::vector<std::string> registered;
  std::map<std::uint32_t, TtrpcResponse> answers;  // by call
  std::function<void()> changed;

 private:
  void accept() {
    auto taken = net::acceptUnix(listener_);
    if (!taken) return;
    drop();
    ++connections;
    reader_ = {};
    peer_ = *std::move(taken);
    peerWatch_ = loop_.watch(peer_.get(), [this](net::IoLoop::Ready) { read(); });
    peerWatch_->want({.read = true});
  }
  void read() {
    char buffer[65536];
    const ssize_t size = ::recv(peer_.get(), buffer, sizeof buffer, 0);
    if (size <= 0) return drop();
    reader_.add({buffer, static_cast<std::size_t>(size)});
    for (auto& [stream, frame] : readAll(reader_)) {
      if (stream == kRuntimeStream) {
        TtrpcRequest request;
        EXPECT_TRUE(request.ParseFromString(frame.data));
        EXPECT_EQ(request.service(), kRuntimeServiceName);
        RegisterPluginRequest plugin;
        EXPECT_TRUE(plugin.ParseFromString(request.payload()));
        registered.push_back(plugin.plugin_idx() + "-" + plugin.plugin_name());
        TtrpcResponse response;
        if (status != 0) response.mutable_status()->set_code(status);  // as containerd does
        if (!silent)
          write(encode(kRuntimeStream,
                       {frame.call, kTtrpcResponse, 0, response.SerializeAsString()}));
      } else {
        EXPECT_TRUE(answers[frame.call].ParseFromString(frame.data));
      }
    }
    if (changed) changed();
  }

  net::IoLoop& loop_;
  std::string path_;
  Fd listener_;
  std::unique_ptr<net::IoLoop::Watch> watch_;
  Fd peer_;
  std::unique_ptr<net::IoLoop::Watch> peerWatch_;
  FrameReader reader_;
};

class NriConnectionTest : public NriTest {
 protected:
  Options options() const {
    Options made;
    made.socket = path_;
    made.backoff = 1ms;
    made.backoffCap = 5ms;
    made.connectTimeout = 50ms;
    return made;
  }
  // Runs the loop until the condition holds. Only events of the loop can change it.
  template <class Condition>
  void runUntil(Condition condition) {
    while (!condition()) {
      loop_.runAfter(1ms, [this] { loop_.stop(); });
      loop_.run();
    }
  }

  net::IoLoop loop_;
  std::string path_ = testing::TempDir() + "nri.sock";
};

TEST_F(NriConnectionTest, AfterSoManyTriesInARowItIsLeft) {
  auto few = options();
  few.backoffSteps = 3;
  Connection connection(loop_, loop_, plugin_, few);
  connection.start();
  runUntil([&] { return connection.gaveUp(); });
  FakeNriRuntime late(loop_, path_);
  bool quiet = false;
  loop_.runAfter(50ms, [&] { quiet = true; });
  runUntil([&] { return quiet; });
  EXPECT_TRUE(late.registered.empty());
}

TEST_F(NriConnectionTest, ItRegistersAnswersAndComesBackAfterTheRuntimeWasGone) {
  std::vector<std::string> told;
  auto observed = options();
  observed.onConnected = [&](bool connected) { told.push_back(connected ? "there" : "gone"); };
  observed.onCalled = [&](std::string_view method, bool ok) {
    told.push_back(std::string(method) + (ok ? "" : " failed"));
  };
  Connection connection(loop_, loop_, plugin_, observed);
  connection.start();  // no runtime listens yet
  std::optional<FakeNriRuntime> runtime;
  for (int round = 1; round <= 2; ++round) {
    runtime.emplace(loop_, path_);
    runUntil([&] { return !runtime->registered.empty(); });
    EXPECT_THAT(runtime->registered, ElementsAre("00-koordlet_nri"));
    runtime->call(1, "Configure", "");
    runtime->call(3, "Synchronize", "");
    EventRequest request;
    *request.mutable_pod() = pod();
    *request.mutable_container() = container("c1", 1);
    runtime->call(5, "CreateContainer", request.SerializeAsString());
    runUntil([&] { return runtime->answers.size() == 3; });
    EXPECT_EQ(runtime->answers[1].payload(), "\x10\x8d\x01");
    EXPECT_TRUE(runtime->answers[5].has_status());
    CreateContainerResponse made;
    ASSERT_TRUE(made.ParseFromString(runtime->answers[5].payload()));
    EXPECT_EQ(made.adjust().linux().resources().cpu().shares().value(), 1024u);
    runtime->call(7, "NoSuchThing", "");
    runUntil([&] { return runtime->answers.size() == 4; });
    runtime.reset();
    runUntil([&] { return told.back() == "gone"; });
    EXPECT_THAT(told, ElementsAre("there", "Configure", "Synchronize", "CreateContainer",
                                  "unknown failed", "gone"));
    told.clear();
  }
}

TEST_F(NriConnectionTest, CallsThatBreakTheRulesGetAnError) {
  FakeNriRuntime runtime(loop_, path_);
  Connection connection(loop_, loop_, plugin_, options());
  connection.start();
  runUntil([&] { return !runtime.registered.empty(); });
  runtime.call(3, "Configure", "");
  runtime.call(2, "Configure", "");
  runtime.call(1, "Configure", "");
  runtime.call(5, "Configure", "", "some.Other");
  runtime.call(7, "NoSuchThing", "");
  runUntil([&] { return runtime.answers.size() == 5; });
  EXPECT_EQ(runtime.answers[3].status().code(), 0);
  EXPECT_EQ(runtime.answers[2].status().code(), 3);
  EXPECT_EQ(runtime.answers[1].status().code(), 3);
  EXPECT_EQ(runtime.answers[5].status().code(), 12);
  EXPECT_EQ(runtime.answers[7].status().code(), 12);
}

TEST_F(NriConnectionTest, ARuntimeThatRefusesIsSilentOrTalksNonsenseIsTriedAgain) {
  FakeNriRuntime runtime(loop_, path_);
  Connection connection(loop_, loop_, plugin_, options());
  runtime.status = 3;
  connection.start();
  runUntil([&] { return runtime.connections >= 3; });
  runtime.status = 0;
  runtime.silent = true;
  const int before = runtime.connections;
  runUntil([&] { return runtime.connections >= before + 2; });
  runtime.silent = false;
  const std::size_t registrations = runtime.registered.size();
  runUntil([&] { return runtime.registered.size() > registrations; });
  const int good = runtime.connections;
  runtime.write(std::string("\0\0\0\1\xff\xff\xff\xff", 8));
  runUntil([&] { return runtime.connections > good; });
}

TEST(NriOptions, NamesAndPlacesAreChecked) {
  EXPECT_TRUE(check({}));
  EXPECT_FALSE(check({.name = ""}));
  EXPECT_FALSE(check({.name = "a/b"}));
  EXPECT_FALSE(check({.index = "1"}));
  EXPECT_FALSE(check({.index = "1a"}));
}

}  // namespace
}  // namespace koord::koordlet::nri
