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

// An extender that is not there.
class NoExtender final : public net::HttpTransport {
 public:
  Task<Result<net::HttpResponse>> fetch(Executor& executor, net::HttpRequest) override {
    auto pause = sleepFor(executor, 1ms);
    co_await pause;
    co_return fail(ErrorCode::Unavailable, "nobody answers");
  }
  std::unique_ptr<net::Stream> stream(Executor&, net::HttpRequest, net::StreamSink) override {
    return nullptr;
  }
};

struct RingFixture {
  VirtualLoop loop;
  apiserver::EmbeddedCluster cluster{loop};
  Metrics metrics;
  Registry registry = makeRegistry();
  std::string file = (std::filesystem::temp_directory_path() / "ring.rec").string();
  std::unique_ptr<net::HttpTransport> http;  // for extenders
  std::unique_ptr<RecordingRing> ring;
  SchedulerConfiguration configuration = defaultConfiguration();
  std::string problem;  // why the ring could not be made
  int pods = 0;

  explicit RingFixture(int nodes = 3) {
    for (const char* old : {"", ".old", ".next"}) std::filesystem::remove(file + old);
    addNodes(nodes);
  }
  ~RingFixture() { ring.reset(); }

  void open(std::uint64_t limit, std::uint64_t segment) {
    InstanceSettings settings;
    settings.scheduler.configuration = configuration;
    settings.scheduler.configuration.leaderElection.leaderElect = false;
    settings.scheduler.seed = 3;
    auto made = RecordingRing::create(
        {.file = file, .limit = limit, .segment = segment}, settings, "v1", registry, loop,
        Random(5), [this] {
          ServiceState service;
          service.unhealthy = [] { return std::string(); };
          service.stopping = [] { return false; };
          service.clientMetrics = [] { return std::string(); };
          return InstanceSurroundings{loop, cluster, http.get(), loop, metrics, nullptr, service};
        });
    if (!made) {
      problem = made.error().message;
      return;
    }
    problem.clear();
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
  // The items of the recording, one after the other.
  static std::string itemsIn(const std::string& path) {
    auto source = recording::FileSource::open(path).value();
    std::string all;
    recording::Reader reader(*source);
    for (; const recording::Record* record = reader.peek(); reader.pop()) all += record->bytes;
    return all;
  }
  Outcome replay(const std::string& path) {
    auto source = recording::FileSource::open(path).value();
    auto settings = readRecordingHeader(source->header()).value();
    ReplayedInstance replayed(*source, std::move(settings), registry, {});
    return replayed.run().value();
  }
  void closeAndExpectSame(recording::Reader::End end) {
    ring.reset();
    expectSame(file, end);
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
  f.closeAndExpectSame(recording::Reader::End::Cut);
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
  f.closeAndExpectSame(recording::Reader::End::Cut);
}

TEST(RecordingRing, a_state_that_is_too_large_ends_the_recording_and_not_the_scheduler) {
  RingFixture f;
  f.open(30'000, 20'000);
  for (int round = 0; round < 300; ++round) {
    f.addPod();
    f.pass();
  }
  EXPECT_LE(f.bytes(), 60'000U);
  EXPECT_TRUE(f.isBound(fmt::format("p{}", f.pods - 1)));
}

TEST(RecordingRing, a_next_segment_without_room_does_not_take_over) {
  RingFixture f(300);
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
  f.closeAndExpectSame(recording::Reader::End::Complete);
}

TEST(RecordingRing, what_a_client_is_refused_without_tls_is_not_replayed) {
  RingFixture f;
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
  std::ofstream(f.file) << "KOORDREC" << std::string(500'000, '.');
  f.open(400'000, 20'000);
  f.loop.advance(2s);
  EXPECT_LE(f.bytes(), 400'000U);
}

TEST(RecordingRing, a_kill_between_the_renames_of_a_take_over_loses_no_segment) {
  RingFixture f;
  std::ofstream(f.file + ".old") << "KOORDREC the segment before";
  std::ofstream(f.file + ".next") << "KOORDREC the newest";
  f.open(400'000, 20'000);
  EXPECT_EQ(readFile(f.file + ".old").value(), "KOORDREC the newest");
  EXPECT_FALSE(std::filesystem::exists(f.file + ".next"));
}

TEST(RecordingRing, files_of_other_programs_with_the_names_of_segments_are_not_replaced) {
  for (const char* suffix : {".old", ".next"}) {
    RingFixture f;
    std::ofstream(f.file + suffix) << "the only copy of something";
    f.open(400'000, 20'000);
    EXPECT_NE(f.problem.find("not a recording"), std::string::npos) << f.problem;
    EXPECT_EQ(readFile(f.file + suffix).value(), "the only copy of something");
    std::filesystem::remove(f.file + suffix);
  }
}

TEST(RecordingRing, a_second_scheduler_does_not_record_in_the_same_file) {
  RingFixture f;
  f.open(400'000, 20'000);
  const auto first = std::move(f.ring);
  f.open(400'000, 20'000);
  EXPECT_NE(f.problem.find("another process records"), std::string::npos) << f.problem;
  EXPECT_FALSE(std::filesystem::exists(f.file + ".old"));
}

TEST(RecordingRing, a_scheduler_that_does_not_start_pushes_out_no_recording) {
  RingFixture f;
  f.open(400'000, 20'000);
  f.addPod();
  f.pass(3s);
  f.ring.reset();
  f.configuration.extenders.push_back({.urlPrefix = "https://user:hush@host", .filterVerb = "f"});
  f.http = std::make_unique<NoExtender>();
  for (int restart = 0; restart < 3; ++restart) f.open(400'000, 20'000);
  EXPECT_NE(f.problem.find("user name or password"), std::string::npos) << f.problem;
  EXPECT_EQ(f.problem.find("hush"), std::string::npos) << f.problem;
  EXPECT_FALSE(f.nextIsThere());
  EXPECT_FALSE(std::filesystem::exists(f.file + ".old"));
  f.expectSame(f.file, recording::Reader::End::Cut);
}

constexpr const char* kPodWithSecrets = R"({"apiVersion": "v1", "kind": "Pod",
  "metadata": {"name": "secret", "namespace": "default", "annotations": {
    "kubectl.kubernetes.io/last-applied-configuration": "{\"value\": \"hush\"}"}},
  "spec": {"schedulerName": "default-scheduler", "containers": [{"name": "c", "image": "i",
    "args": ["--token=hush"], "env": [{"name": "TOKEN", "value": "hush"}],
    "resources": {"requests": {"cpu": "10m"}}}]}})";

TEST(RecordingRing, environment_and_arguments_of_containers_are_not_recorded) {
  for (const bool extended : {false, true}) {
    RingFixture f;
    if (extended) {
      f.configuration.extenders.push_back({.urlPrefix = "http://host", .filterVerb = "filter"});
      f.http = std::make_unique<NoExtender>();
    }
    f.open(10'000'000, 0);
    f.cluster.put(api::Pod::kType, kPodWithSecrets);
    f.addPod();
    f.pass(3s);
    f.pass(3s);
    EXPECT_EQ(f.isBound("secret"), !extended);
    f.closeAndExpectSame(recording::Reader::End::Cut);
    const std::string items = f.itemsIn(f.file);
    EXPECT_NE(items.find("secret"), std::string::npos);
    EXPECT_EQ(items.find("hush"), std::string::npos);
    EXPECT_EQ(items.find("http://host/filter") != items.npos, extended);
  }
}

TEST(RecordingRing, a_wall_clock_that_jumps_is_replayed) {
  RingFixture f;
  f.open(10'000'000, 0);
  for (const Duration jump :
       {Duration(-100h), Duration(24h * 365 * 150), Duration(-24h * 365 * 200)}) {
    f.addPod();
    f.pass(1500ms);
    f.loop.jumpWallClock(jump);
  }
  f.addPod();
  f.pass(3s);
  EXPECT_TRUE(f.isBound("p3"));
  f.closeAndExpectSame(recording::Reader::End::Cut);
}

TEST(RecordingRing, inputs_that_come_twice_are_refused) {
  for (const recording::Item twice :
       {recording::Item::Begin, recording::Item::Start, recording::Item::Lead}) {
    RingFixture f;
    f.open(400'000, 20'000);
    f.pass(2s);
    f.ring.reset();
    auto file = recording::FileSource::open(f.file).value();
    std::string bytes;
    while (file->read(bytes).value()) {
    }
    recording::MemoryWriter more;
    more.add(twice, 0, "");
    bytes += more.bytes();
    recording::MemorySource source(bytes);
    ReplayedInstance replayed(source, readRecordingHeader(file->header()).value(), f.registry, {});
    const auto outcome = replayed.run();
    ASSERT_FALSE(outcome);
    EXPECT_NE(outcome.error().message.find("twice"), std::string::npos) << outcome.error().message;
  }
}

TEST(RecordingRing, random_changes_of_a_recording_are_no_crash) {
  RingFixture f;
  f.open(10'000'000, 0);
  for (int i = 0; i < 3; ++i) f.addPod();
  f.pass(2s);
  f.ring.reset();
  auto file = recording::FileSource::open(f.file).value();
  std::string bytes;
  while (file->read(bytes).value()) {
  }
  const InstanceSettings settings = readRecordingHeader(file->header()).value();
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::string wrong = bytes;
    for (int i = 0; i < 3; ++i)
      wrong[random.below(wrong.size())] = static_cast<char>(random.below(256));
    recording::MemorySource source(wrong);
    ReplayedInstance replayed(source, settings, f.registry, {});
    (void)replayed.run();
  }
}

TEST(RecordingRing, the_header_keeps_no_password_of_an_extender) {
  InstanceSettings settings;
  settings.scheduler.configuration = defaultConfiguration();
  settings.scheduler.configuration.extenders.push_back(
      {.urlPrefix = "https://user:hush@host/x", .filterVerb = "filter"});
  const std::string header = toJson(recordingHeader(settings, "v9"));
  EXPECT_EQ(header.find("hush"), std::string::npos);
  EXPECT_NE(header.find("https://host/x"), std::string::npos);
}

TEST(RecordingRing, the_header_bounds_hostile_numbers) {
  InstanceSettings settings;
  settings.scheduler.configuration = defaultConfiguration();
  json::value header = recordingHeader(settings, "v9");
  header.get_object()["maxUnschedulableNanoseconds"] = std::numeric_limits<std::int64_t>::max();
  header.get_object()["debug"].get_object()["topScores"] = std::int64_t{1} << 40;
  header.get_object()["debug"].get_object()["diagnosisQueue"] = -7;
  const auto read = readRecordingHeader(header);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_LT(read->scheduler.maxUnschedulable, std::chrono::hours(24 * 365 * 30));
  EXPECT_EQ(read->debug.topScores, std::numeric_limits<int>::max());
  EXPECT_EQ(read->debug.diagnosisQueue, 0);
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
