#include "scheduler/app/recording_ring.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "apiserver/embedded_cluster.h"
#include "base/file.h"
#include "net/fake_responder.h"
#include "scheduler/app/recording_header.h"
#include "scheduler/plugins/registry.h"

namespace koord::scheduler {
namespace {

using namespace std::chrono_literals;
using Outcome = recording::Replayer::Outcome;

struct RingFixture {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster{loop};
  Metrics metrics;
  Registry registry = makeRegistry();
  std::string file = (std::filesystem::temp_directory_path() / "ring.rec").string();
  std::unique_ptr<RecordingRing> ring;
  SchedulerConfiguration configuration = defaultConfiguration();
  std::string problem;  // why the ring could not be made
  int pods = 0;

  RingFixture() {
    for (const char* old : {"", ".old", ".next"}) std::filesystem::remove(file + old);
  }
  ~RingFixture() { ring.reset(); }

  void open(std::uint64_t limit, std::uint64_t segment) {
    InstanceSettings settings;
    settings.scheduler.configuration = configuration;
    settings.scheduler.configuration.leaderElection.leaderElect = false;
    settings.scheduler.seed = 3;
    auto made = RecordingRing::create({.file = file, .limit = limit, .segment = segment}, settings,
                                      "v1", registry, loop, Random(5), [this] {
                                        ServiceState service;
                                        service.unhealthy = [] { return std::string(); };
                                        service.stopping = [] { return false; };
                                        service.clientMetrics = [] { return std::string(); };
                                        return InstanceSurroundings{loop,    cluster, nullptr, loop,
                                                                    metrics, nullptr, service};
                                      });
    if (!made) {
      problem = made.error().message;
      return;
    }
    ring = *std::move(made);
    ring->start();
    ring->lead();
  }
  // The disk is never behind, however busy the host is.
  void pass(Duration time = 1s) {
    loop.advance(time);
    while (ring->waitsForDisk()) std::this_thread::sleep_for(1ms);
  }
  bool nextIsThere() const { return std::filesystem::exists(file + ".next"); }
  void addNodes(int count) {
    for (int i = 0; i < count; ++i)
      cluster.put(
          api::Node::kType,
          fmt::format(R"({{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "n{}"}},
                    "status": {{"allocatable": {{"cpu": "64", "memory": "64Gi", "pods": "500"}}}}}})",
                      i));
  }
  void addPod() { addPod(fmt::format("p{}", pods++)); }
  void addPod(const std::string& name) {
    cluster.put(api::Pod::kType, fmt::format(R"({{"apiVersion": "v1", "kind": "Pod",
                  "metadata": {{"name": "{}", "namespace": "default"}},
                  "spec": {{"schedulerName": "default-scheduler", "containers": [{{"name": "c", "image": "i",
                    "resources": {{"requests": {{"cpu": "10m"}}}}}}]}}}})",
                                             name));
  }
  bool isBound(const std::string& name) {
    const auto pod = cluster.get(api::Pod::kType, name, "default");
    return pod && !textAt(*pod, "spec", "nodeName").empty();
  }
  Outcome replay(const std::string& path) {
    auto source = recording::FileSource::open(path).value();
    auto settings = readRecordingHeader(source->header()).value();
    ReplayedInstance replayed(*source, std::move(settings), registry, {});
    return replayed.run().value();
  }
  void expectSame(const std::string& path, recording::Reader::End end) {
    const Outcome outcome = replay(path);
    EXPECT_EQ(outcome.kind, Outcome::Kind::Same)
        << path << ": recorded: " << outcome.recorded << "; replayed: " << outcome.replayed;
    EXPECT_EQ(outcome.source, end) << outcome.why;
    EXPECT_GT(outcome.decisions, 0U);
  }
  std::uint64_t bytes() {
    std::uint64_t all = 0;
    for (const char* part : {"", ".old", ".next"}) {
      std::error_code ec;
      const auto size = std::filesystem::file_size(file + part, ec);
      if (!ec) all += size;
    }
    return all;
  }
};

TEST(RecordingRing, every_segment_can_be_replayed_and_together_they_are_bounded) {
  RingFixture f;
  f.addNodes(3);
  f.open(400'000, 20'000);
  for (int round = 0; round < 400; ++round) {
    f.addPod();
    f.pass(700ms);
    EXPECT_LE(f.bytes(), 400'000U);
  }
  // Until the current segment has a decision, and the next one has not begun.
  std::size_t before = 0;
  for (int round = 0; round < 1000; ++round) {
    before = f.ring->takeOvers();
    f.addPod();
    f.pass();
    if (!f.nextIsThere() && f.ring->takeOvers() == before) break;
  }
  EXPECT_GE(f.ring->takeOvers(), 2U);
  f.ring.reset();
  f.expectSame(f.file, recording::Reader::End::Cut);
  f.expectSame(f.file + ".old", recording::Reader::End::Complete);
  int bound = 0;
  for (int i = 0; i < f.pods; ++i) bound += f.isBound(fmt::format("p{}", i));
  EXPECT_EQ(bound, f.pods);
}

// Each pod "waiting" keeps its node and is never bound, as a member of a gang that stays alone.
struct WaitingAlone final : Plugin, PermitPlugin {
  std::string_view name() const override { return "Waiting"; }
  PermitResult permit(CycleState&, const PodPtr& pod, NodeId) override {
    if (pod->pod->metadata.name != "waiting") return {};
    return {{Code::Wait, {}, {}}, 10min};
  }
};

TEST(RecordingRing, a_pod_that_waits_for_others_does_not_keep_the_next_segment_from_taking_over) {
  RingFixture f;
  f.registry["Waiting"] = [](Fields&, Handle&) { return std::make_unique<WaitingAlone>(); };
  f.configuration.profiles.front().plugins["permit"].enabled.push_back({"Waiting", 0});
  f.addNodes(3);
  f.open(400'000, 20'000);
  f.addPod("waiting");
  for (int round = 0; round < 1000 && f.ring->takeOvers() == 0; ++round) {
    f.addPod();
    f.pass();
  }
  EXPECT_EQ(f.ring->takeOvers(), 1U);
  f.addPod();
  f.loop.advance(5s);
  EXPECT_TRUE(f.isBound(fmt::format("p{}", f.pods - 1)));
  f.ring.reset();
  f.expectSame(f.file, recording::Reader::End::Cut);
}

TEST(RecordingRing, a_state_that_is_too_large_ends_the_recording_and_not_the_scheduler) {
  RingFixture f;
  f.addNodes(3);
  f.open(30'000, 20'000);
  for (int round = 0; round < 300; ++round) {
    f.addPod();
    f.pass();
  }
  EXPECT_LE(f.bytes(), 60'000U);
  EXPECT_TRUE(f.isBound(fmt::format("p{}", f.pods - 1)));
}

TEST(RecordingRing, a_next_segment_without_room_does_not_take_over) {
  RingFixture f;
  f.addNodes(300);
  f.open(10'000'000, 0);
  for (int second = 0; second < 3; ++second) f.pass();
  f.ring.reset();
  const std::uint64_t state = std::filesystem::file_size(f.file);
  f.open(state * 5 / 2, 1);
  bool begun = false;
  for (int round = 0; round < 3000 && (!begun || f.nextIsThere()); ++round) {
    f.addPod();
    f.pass();
    begun = begun || f.nextIsThere();
  }
  EXPECT_TRUE(begun);
  EXPECT_EQ(f.ring->takeOvers(), 0U);
  EXPECT_FALSE(f.nextIsThere());
  f.ring.reset();
  f.expectSame(f.file, recording::Reader::End::Complete);
}

TEST(RecordingRing, what_a_client_is_refused_without_tls_is_not_replayed) {
  RingFixture f;
  f.addNodes(3);
  f.open(400'000, 20'000);
  f.loop.advance(1s);
  net::ServerRequest request;
  request.method = "PUT";
  request.target = "/debug/flags/d";
  request.body = "true";
  const auto answer = std::make_shared<net::FakeResponder>();
  f.ring->handle(request, answer);
  EXPECT_EQ(answer->status, 403);
  f.addPod();
  f.loop.advance(3s);
  f.ring.reset();
  auto source = recording::FileSource::open(f.file).value();
  bool diagnoses = true;
  ReplayedInstance replayed(
      *source, readRecordingHeader(source->header()).value(), f.registry,
      {.decided = [&](Instance& instance, const std::string&, const Decision&) {
        diagnoses = instance.scheduler().debug().diagnosis;
      }});
  EXPECT_EQ(replayed.run().value().kind, Outcome::Kind::Same);
  EXPECT_FALSE(diagnoses);
}

TEST(RecordingRing, what_is_not_a_recording_is_not_replaced) {
  RingFixture f;
  std::ofstream(f.file) << "the only copy of something";
  f.open(400'000, 20'000);
  EXPECT_NE(f.problem.find("not a recording"), std::string::npos) << f.problem;
  EXPECT_EQ(readFile(f.file).value(), "the only copy of something");
  std::filesystem::remove(f.file);
  std::filesystem::create_directory(f.file);
  f.problem.clear();
  f.open(400'000, 20'000);
  EXPECT_NE(f.problem.find("not a recording"), std::string::npos) << f.problem;
  EXPECT_TRUE(std::filesystem::is_directory(f.file));
  std::filesystem::remove(f.file);
}

TEST(RecordingRing, what_a_previous_process_left_counts_for_the_limit) {
  RingFixture f;
  f.addNodes(3);
  std::ofstream(f.file) << "KOORDREC" << std::string(500'000, '.');
  f.open(400'000, 20'000);
  f.loop.advance(2s);
  EXPECT_LE(f.bytes(), 400'000U);
}

TEST(RecordingRing, a_kill_between_the_renames_of_a_take_over_loses_no_segment) {
  RingFixture f;
  f.addNodes(3);
  std::ofstream(f.file + ".old") << "KOORDREC the segment before";
  std::ofstream(f.file + ".next") << "KOORDREC the newest";
  f.open(400'000, 20'000);
  EXPECT_EQ(readFile(f.file + ".old").value(), "KOORDREC the newest");
  EXPECT_FALSE(std::filesystem::exists(f.file + ".next"));
}

TEST(RecordingRing, the_header_keeps_the_settings) {
  InstanceSettings settings;
  settings.scheduler.configuration = defaultConfiguration();
  settings.scheduler.configuration.extenders.push_back({.urlPrefix = "https://x",
                                                        .filterVerb = "filter",
                                                        .enableHttps = true,
                                                        .tls = {.keyData = "c2VjcmV0"}});
  settings.scheduler.seed = 0xffffffffffffffffU;
  settings.seed = 7;
  settings.scheduler.gates = {"A", "B"};
  settings.debug.topScores = 4;
  settings.barrier.enabled = true;
  const json::value header = recordingHeader(settings, "v9");
  EXPECT_EQ(toJson(header).find("c2VjcmV0"), std::string::npos);
  const auto read = readRecordingHeader(header);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(toJson(recordingHeader(*read, "v9")).find("c2VjcmV0"), std::string::npos);
  EXPECT_EQ(read->scheduler.seed, settings.scheduler.seed);
  EXPECT_EQ(read->seed, 7U);
  EXPECT_EQ(read->scheduler.gates, settings.scheduler.gates);
  EXPECT_EQ(read->debug.topScores, 4);
  EXPECT_TRUE(read->barrier.enabled);
  EXPECT_EQ(versionOfRecording(header), "v9");
  EXPECT_FALSE(readRecordingHeader(json::object{}));
}

}  // namespace
}  // namespace koord::scheduler
