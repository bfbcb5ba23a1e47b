#pragma once

// RecordedInstance: an instance whose inputs and decisions a recording keeps, or one without a
// recording. ReplayedInstance: an instance that a recording drives.

#include <memory>

#include "scheduler/app/instance.h"
#include "scheduler/oracle/seam.h"
#include "scheduler/recording/recorder.h"
#include "scheduler/recording/replayer.h"

namespace koord::scheduler {

class RecordedInstance {
 public:
  // writer: nullptr = without a recording; it must outlive the instance.
  static Result<std::unique_ptr<RecordedInstance>> create(InstanceSettings settings,
                                                          const Registry& registry,
                                                          InstanceSurroundings surroundings,
                                                          recording::Writer* writer);

  void start();
  void lead();
  void stop();
  void handle(net::ServerRequest request, std::shared_ptr<net::Responder> to);

  Instance& instance() { return *instance_; }
  const Instance& instance() const { return *instance_; }
  // Where a copy of the process cuts the instance off (oracle/).
  oracle::Seam& seam() { return *seam_; }

 private:
  RecordedInstance() = default;
  InstanceSurroundings behindSeam(InstanceSurroundings surroundings);
  // Runs fn as an input of the recording, if there is one.
  template <class Fn>
  void input(recording::Item item, std::string_view bytes, Fn&& fn);
  // A request that may change what the scheduler does next.
  bool isInput(const net::ServerRequest& request) const;

  bool openDebugFlags_ = false;  // without TLS
  std::unique_ptr<recording::Recorder> recorder_;
  std::unique_ptr<recording::RecordingApi> api_;
  std::unique_ptr<recording::RecordingTransport> http_;
  std::unique_ptr<oracle::Seam> seam_;
  std::unique_ptr<Instance> instance_;
};

class ReplayedInstance {
 public:
  struct Hooks {
    // Before the search for a pod.
    std::function<void(Instance& instance, const PodInfo& pod, int attempt)> attempting = {};
    std::function<void(Instance& instance, const std::string& pod, const Decision& decision)>
        decided = {};
    // The API of the instance, made from that of the recording; empty: that itself.
    std::function<kube::Api&(kube::Api& api, const recording::Replayer& clock)> wrapApi = {};
  };

  ReplayedInstance(recording::Source& source, InstanceSettings settings, const Registry& registry,
                   Hooks hooks);
  ~ReplayedInstance();

  // Runs the recording. The error says why the instance could not be made.
  Result<recording::Replayer::Outcome> run();
  // From within a hook.
  void stop() { replayer_.stop(); }
  recording::Replayer& replayer() { return replayer_; }

 private:
  recording::Inputs inputs();
  void begin();
  // Ends the run with this problem, from within a turn.
  void refuse(std::string why);

  struct Idle;  // surroundings of which nothing comes
  InstanceSettings settings_;
  const Registry& registry_;
  const Hooks hooks_;
  recording::Replayer replayer_;
  recording::ReplayApi api_;
  recording::ReplayTransport http_;
  std::unique_ptr<Idle> idle_;
  std::unique_ptr<Instance> instance_;
  std::string problem_;
};

}  // namespace koord::scheduler
