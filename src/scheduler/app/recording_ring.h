#pragma once

// RecordingRing: keeps an instance of the scheduler and its recording, within a limited number of
// bytes. A recording begins with all objects of the cluster, so it can be replayed. When it has
// grown enough, a second instance starts beside the first one, with a recording of its own, and
// reads the cluster, as a standby does. When it has seen everything that the first one did, it
// takes over, and the first one ends with its recording. So the files are:
//
//   FILE        what is recorded now
//   FILE.old    the segment before it, or what a previous process left
//   FILE.next   the segment of the instance that will take over
//
// A take-over is what a change of leaders is: pods that wait are tried again, and their backoff
// begins again. Without a file there is one instance, which stays.

#include <memory>
#include <string>

#include "scheduler/app/recorded_instance.h"
#include "scheduler/recording/file_writer.h"

namespace koord::scheduler {

struct RecordingOptions {
  std::string file;                    // "" = none
  std::uint64_t limit = 256ULL << 20;  // bytes of all files together
  // The smallest segment after which the next one begins; 0 = a quarter of the limit.
  std::uint64_t segment = 0;
  // For tests: records there, and `file` is "".
  recording::Writer* writer = nullptr;
};

class RecordingRing {
 public:
  // Makes the surroundings of an instance, each time one begins.
  using Surroundings = std::function<InstanceSurroundings()>;

  // The error says why the instance or the file could not be made. `random` gives the seeds of
  // later instances. Arguments must outlive it.
  static Result<std::unique_ptr<RecordingRing>> create(RecordingOptions options,
                                                       InstanceSettings settings,
                                                       std::string version,
                                                       const Registry& registry, Executor& executor,
                                                       Random random, Surroundings surroundings);
  ~RecordingRing();

  void start();
  void lead();
  void stop();
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to);
  Instance& instance() { return current_.recorded->instance(); }
  const Instance& instance() const { return current_.recorded->instance(); }
  oracle::Seam& seam() { return current_.recorded->seam(); }
  const InstanceSettings& settings() const { return settings_; }
  std::size_t takeOvers() const { return takeOvers_; }
  // True if something that was flushed is not on the disk yet.
  bool waitsForDisk() const;

 private:
  struct Segment {
    std::unique_ptr<recording::FileWriter> writer;  // nullptr: without a recording
    std::unique_ptr<RecordedInstance> recorded;
    bool synced = false;      // the objects of the cluster were read before the last check
    std::uint64_t state = 0;  // bytes of them
    bool reported = false;    // that it ended early
  };
  enum class Phase {
    Recording,
    Reading,   // the next instance reads the cluster
    Draining,  // the current one takes no more pods and ends its bindings
  };

  RecordingRing(RecordingOptions options, InstanceSettings settings, std::string version,
                const Registry& registry, Executor& executor, Random random,
                Surroundings surroundings);
  Result<Segment> makeSegment(const std::string& file);
  void watch();
  void check();
  void dropOld() const;
  void checkFile(Segment& segment);
  static void noteState(Segment& segment);
  std::uint64_t threshold() const;
  void beginNext();
  void abandonNext();
  void advance();
  enum class Assumed { Counted, Ignored };
  bool nextHasSeenAll(Assumed assumed) const;
  void takeOver();

  const RecordingOptions options_;
  InstanceSettings settings_;
  const std::string version_;
  const Registry registry_;
  Executor& executor_;
  Random random_;
  const Surroundings surroundings_;
  std::unique_ptr<recording::FileWriter> previous_;  // may still write its last bytes
  Segment current_;
  std::unique_ptr<Segment> next_;
  Phase phase_ = Phase::Recording;
  SteadyTime phaseSince_{};
  bool started_ = false;
  bool leading_ = false;
  bool stopping_ = false;
  std::size_t takeOvers_ = 0;
  TimerId timer_ = 0;
};

}  // namespace koord::scheduler
