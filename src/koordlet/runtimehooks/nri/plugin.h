#pragma once

// koordlet as an NRI plugin: its replies to the runtime's calls. Uses no sockets (connection.h) and
// runs on koordlet's thread.
//
// It subscribes to the start and removal of pods and to the creation and update of containers. All
// versions of NRI are served: newer runtimes call a method per event, older ones send StateChange.
// When it connects, the runtime sends all pods and containers, and the reply has the values that
// containers should have got when they were created.

#include <string>
#include <vector>

#include "koordlet/runtimehooks/hook_runner.h"
#include "nri.pb.h"

namespace koord::koordlet::nri {

inline constexpr std::string_view kPluginService = "nri.pkg.api.v1alpha1.Plugin";
inline constexpr std::string_view kRuntimeServiceName = "nri.pkg.api.v1alpha1.Runtime";

// Bit e-1 for event number e.
using EventMask = std::int32_t;
inline constexpr EventMask kOwnEvents = 0x8d;  // RunPodSandbox, RemovePodSandbox, Create-, Update-
                                               // Container

// Parses the plugin's configuration, "events: [RunPodSandbox, CreateContainer]"; kOwnEvents for "".
Result<EventMask> eventsIn(const std::string& config);

class Plugin {
 public:
  // `disabledStages`: stages whose hooks are disabled, named as in the flag.
  Plugin(HookRunner& runner, std::set<std::string> disabledStages)
      : runner_(runner), disabled_(std::move(disabledStages)) {}

  // Returns the reply to one call. The code of an error maps to a ttrpc status: NotFound to
  // Unimplemented, BadRequest to InvalidArgument, others to Unknown.
  Result<std::string> answer(std::string_view method, const std::string& payload);
  // Called for a new connection: drops the state of the last one.
  void reset() { synchronizing_.Clear(); }

 private:
  Result<std::string> configure(const std::string& payload);
  Result<std::string> synchronize(const std::string& payload);
  Result<std::string> createContainer(const EventRequest& request);
  Result<std::string> updateContainer(const EventRequest& request);
  Result<std::string> stateChange(const std::string& payload);
  Result<std::string> runPod(const PodSandbox& pod);
  Result<std::string> podRemoved(const PodSandbox& pod);
  bool off(const char* stage) const { return disabled_.contains(stage); }

  HookRunner& runner_;
  std::set<std::string> disabled_;
  SynchronizeRequest synchronizing_;  // the parts received so far
};

}  // namespace koord::koordlet::nri
