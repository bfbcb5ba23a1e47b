#pragma once

// koordlet as an NRI plugin: what it answers to the runtime's calls. No sockets here
// (connection.h); on koordlet's thread.
//
// It subscribes to pods that begin and end and to containers that are made and changed. All versions
// of NRI are served: newer runtimes call a method per event, older ones tell events by StateChange.
// As it connects, the runtime shows it all pods and containers, and gets back the values that
// containers should have had since they were made.

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

// From the plugin's configuration, "events: [RunPodSandbox, CreateContainer]"; kOwnEvents for "".
Result<EventMask> eventsIn(const std::string& config);

class Plugin {
 public:
  // `stages`: hooks that are switched off, by the names that the flag has.
  Plugin(HookRunner& runner, std::set<std::string> disabledStages)
      : runner_(runner), disabled_(std::move(disabledStages)) {}

  // An error's code says which status of ttrpc it is: NotFound is Unimplemented, BadRequest
  // InvalidArgument, the others Unknown.
  Result<std::string> answer(std::string_view method, const std::string& payload);
  // A new connection begins with nothing.
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
  SynchronizeRequest synchronizing_;  // the parts that have come
};

}  // namespace koord::koordlet::nri
