#include "scheduler/app/recording_ring.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "scheduler/app/recording_header.h"
#include "scheduler/recording/file_format.h"

namespace koord::scheduler {

using namespace std::chrono_literals;

namespace {

// What was not written when the process is killed is lost.
constexpr Duration kFlushPeriod = 1s;
constexpr Duration kDrainPeriod = 20ms;
// A take-over waits so long for a moment without running bindings, and then so long for those that
// run. Gangs may wait for members for longer; they are placed again.
constexpr Duration kQuietPatience = 60s;
constexpr Duration kDrainPatience = 5s;

std::string oldOf(const std::string& file) {
  return file + ".old";
}
std::string nextOf(const std::string& file) {
  return file + ".next";
}

// Whatever else has this name must stay: a folder, a device, a file of another program.
Result<> mayReplace(const std::string& file) {
  struct stat status{};
  if (::lstat(file.c_str(), &status) != 0)
    return errno == ENOENT ? Result<>() : fail(errnoError("open " + file, errno));
  std::string begin(recording::kMagic.size(), '\0');
  if (S_ISREG(status.st_mode)) {
    std::ifstream in(file, std::ios::binary);
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(in.gcount()));
  }
  if (!recording::kMagic.starts_with(begin))
    return fail(ErrorCode::Invalid, file + " exists and is not a recording");
  if (recording::isWritten(file))
    return fail(ErrorCode::Invalid, "another process records in " + file);
  return {};
}

std::uint64_t sizeOf(const std::string& file) {
  std::error_code ec;
  const auto size = std::filesystem::file_size(file, ec);
  return ec ? 0 : size;
}

void renameFile(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
    log::error("{}", errnoError("rename " + from + " to " + to, errno).message);
}

// Fails if one of the files must stay. Completes a take-over that a kill interrupted between its
// renames.
Result<> prepareFiles(const std::string& file) {
  for (const std::string& name : {file, oldOf(file), nextOf(file)})
    if (auto free = mayReplace(name); !free) return free;
  if (sizeOf(file) == 0) renameFile(nextOf(file), file);
  return {};
}

// The next segment becomes the current one, and that the old one.
void moveUp(const std::string& file) {
  renameFile(file, oldOf(file));
  renameFile(nextOf(file), file);
}

}  // namespace

RecordingRing::RecordingRing(RecordingOptions options, InstanceSettings settings,
                             std::string version, const Registry& registry, Executor& executor,
                             Random random, Surroundings surroundings)
    : options_(std::move(options)),
      settings_(std::move(settings)),
      version_(std::move(version)),
      registry_(registry),
      executor_(executor),
      random_(random),
      surroundings_(std::move(surroundings)) {}

RecordingRing::~RecordingRing() {
  executor_.cancel(timer_);
  current_.recorded.reset();
  if (current_.writer) current_.writer->end(stopping_ ? "koord-scheduler was stopped" : "");
}

Result<std::unique_ptr<RecordingRing>> RecordingRing::create(
    RecordingOptions options, InstanceSettings settings, std::string version,
    const Registry& registry, Executor& executor, Random random, Surroundings surroundings) {
  std::unique_ptr<RecordingRing> ring(new RecordingRing(std::move(options), std::move(settings),
                                                        std::move(version), registry, executor,
                                                        random, std::move(surroundings)));
  const std::string& file = ring->options_.file;
  const bool records = !file.empty();
  if (records)
    if (auto ready = prepareFiles(file); !ready)
      return fail(std::move(ready.error()).within("--record"));
  // The new segment is FILE.next until the instance is there: a scheduler that does not start
  // pushes out no recording.
  auto segment = ring->makeSegment(records ? nextOf(file) : "");
  if (!segment) {
    if (records) std::remove(nextOf(file).c_str());
    return fail(std::move(segment.error()));
  }
  ring->current_ = *std::move(segment);
  if (!records) return ring;
  moveUp(file);
  ring->watch();
  return ring;
}

Result<RecordingRing::Segment> RecordingRing::makeSegment(const std::string& file) {
  Segment segment;
  if (!file.empty()) {
    auto writer = recording::FileWriter::create(file, recordingHeader(settings_, version_));
    if (!writer) return fail(std::move(writer.error()).within("--record"));
    segment.writer = *std::move(writer);
  }
  recording::Writer* writer = options_.writer;
  if (segment.writer) writer = segment.writer.get();
  auto recorded = RecordedInstance::create(settings_, registry_, surroundings_(), writer);
  if (!recorded) return fail(std::move(recorded.error()));
  segment.recorded = *std::move(recorded);
  return segment;
}

bool RecordingRing::waitsForDisk() const {
  return (current_.writer && current_.writer->waits()) || (next_ && next_->writer->waits());
}

void RecordingRing::start() {
  started_ = true;
  current_.recorded->start();
  if (next_) next_->recorded->start();
}

void RecordingRing::lead() {
  leading_ = true;
  current_.recorded->lead();
}

void RecordingRing::stop() {
  stopping_ = true;
  current_.recorded->stop();
}

void RecordingRing::handle(net::ServerRequest request, std::shared_ptr<net::Responder> to) {
  current_.recorded->handle(std::move(request), std::move(to));
}

void RecordingRing::watch() {
  const bool soon = phase_ == Phase::Draining;
  timer_ = executor_.runAfter(soon ? kDrainPeriod : kFlushPeriod, [this] {
    check();
    watch();
  });
}

void RecordingRing::check() {
  const std::uint64_t next = next_ ? next_->writer->size() : 0;
  const std::uint64_t old = sizeOf(oldOf(options_.file));
  if (old > 0 && old + current_.writer->size() + next > options_.limit) dropOld();
  checkFile(current_);
  if (next_) checkFile(*next_);
  if (stopping_) return;
  if (phase_ == Phase::Reading && next_->reported) return abandonNext();
  if (phase_ != Phase::Recording) return advance();
  const bool grown = current_.writer && current_.state > 0 && !current_.reported &&
                     current_.writer->size() >= threshold();
  if (grown) beginNext();
}

void RecordingRing::dropOld() const {
  std::remove(oldOf(options_.file).c_str());
}

void RecordingRing::checkFile(Segment& segment) {
  if (!segment.writer || segment.reported) return;
  noteState(segment);
  segment.writer->flush();
  std::string problem = segment.writer->failure();
  const std::uint64_t others = &segment == &current_ ? 0 : current_.writer->size();
  if (problem.empty() && segment.writer->size() + others > options_.limit)
    problem = fmt::format(
        "{}: the limit of --record-size is reached; the state of the cluster takes {} KiB, and a "
        "ring needs at least four times as much",
        options_.file, (segment.state > 0 ? segment.state : segment.writer->size()) >> 10);
  if (problem.empty()) return;
  segment.reported = true;
  log::error("the recording ends: {}", problem);
  segment.writer->end(problem);
}

// Everything up to the last check is in the file when nothing waits.
void RecordingRing::noteState(Segment& segment) {
  if (segment.state == 0 && segment.synced && !segment.writer->waits())
    segment.state = segment.writer->size();
  segment.synced = segment.recorded->instance().synced();
}

std::uint64_t RecordingRing::threshold() const {
  const std::uint64_t smallest = options_.segment > 0 ? options_.segment : options_.limit / 4;
  return std::max(smallest, 2 * current_.state);
}

void RecordingRing::beginNext() {
  dropOld();
  settings_.scheduler.seed = random_.next();
  settings_.seed = random_.next();
  auto segment = makeSegment(nextOf(options_.file));
  if (!segment) {
    log::error("the recording ends: {}", segment.error().message);
    current_.reported = true;
    return current_.writer->end(segment.error().message);
  }
  next_ = std::make_unique<Segment>(*std::move(segment));
  phase_ = Phase::Reading;
  phaseSince_ = executor_.steadyNow();
  if (started_) next_->recorded->start();
}

// The next segment would have nothing of use: what is recorded stays, and nothing takes over.
void RecordingRing::abandonNext() {
  next_->recorded.reset();
  previous_ = std::move(next_->writer);
  next_.reset();
  std::remove(nextOf(options_.file).c_str());
  phase_ = Phase::Recording;
  current_.reported = true;
  current_.writer->end("the next segment could not be written");
}

void RecordingRing::advance() {
  const Duration since = executor_.steadyNow() - phaseSince_;
  Scheduler& scheduler = current_.recorded->instance().scheduler();
  if (phase_ == Phase::Reading) {
    if (next_->state == 0) return;
    if (!leading_) return takeOver();
    if (!nextHasSeenAll(Assumed::Ignored)) return;
    if (scheduler.bindingsInFlight() > 0 && since < kQuietPatience) return;
    current_.recorded->stop();
    phase_ = Phase::Draining;
    phaseSince_ = executor_.steadyNow();
    return;
  }
  if (since < kDrainPatience) {
    if (scheduler.bindingsInFlight() == 0 && nextHasSeenAll(Assumed::Counted)) takeOver();
    return;
  }
  if (nextHasSeenAll(Assumed::Ignored)) takeOver();
}

// The informers of both follow the same API server, but not at the same moment. A pod that only one
// of them has seen on its node would be placed twice, or its resources used twice. Assumed pods:
// the current instance has chosen their nodes, and has not seen them there yet. Under load, and
// with gangs that wait, there are always some.
bool RecordingRing::nextHasSeenAll(Assumed assumed) const {
  const Cluster& now = current_.recorded->instance().scheduler().cluster();
  const Cluster& then = next_->recorded->instance().scheduler().cluster();
  return std::ranges::all_of(now.pods(), [&](const Cluster::PodRecord& pod) {
    if (pod.assumed && assumed == Assumed::Ignored) return true;
    const auto* seen = then.findPod(pod.info->uid());
    return seen && then.node(seen->node).name == now.node(pod.node).name;
  });
}

void RecordingRing::takeOver() {
  log::info("recording {}: the next segment begins after {} KiB", options_.file,
            current_.writer->size() >> 10);
  Segment old = std::exchange(current_, std::move(*next_));
  next_.reset();
  phase_ = Phase::Recording;
  ++takeOvers_;
  if (leading_) current_.recorded->lead();
  old.recorded.reset();
  old.writer->end("the next segment has what follows");
  previous_ = std::move(old.writer);
  moveUp(options_.file);
}

}  // namespace koord::scheduler
