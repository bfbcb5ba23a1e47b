#pragma once

// The folder of one container of the ProcessRuntime, <data>/containers/<id>/. It is the whole state
// of a container, so that a restarted koordctl finds it again:
//
//   config.json   what to run and where; written by the runtime before the shim starts
//   lock          held (flock) by the shim while it lives
//   started.json  written by the shim when the command is running
//   exit.json     written when no process of the container runs
//   log           standard output and error
//
// Each JSON file is written atomically, by rename.

#include <string>
#include <vector>

#include "base/json.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

struct ContainerRecord {
  ContainerConfig config;
  std::vector<std::string> joinFiles;  // where the process writes its id before exec
  std::string oomFile;                 // has a line "oom_kill <n>"; "" = none
};
struct StartRecord {
  int pid = 0;
  WallTime startedAt{};
};
struct ExitRecord {
  int exitCode = 0;
  int signal = 0;
  WallTime finishedAt{};
  std::string reason;
  std::string message;
};

std::string encodeRecord(const ContainerRecord& record);
std::string encodeRecord(const StartRecord& record);
std::string encodeRecord(const ExitRecord& record);
Result<ContainerRecord> decodeContainerRecord(std::string_view text);
Result<StartRecord> decodeStartRecord(std::string_view text);
Result<ExitRecord> decodeExitRecord(std::string_view text);

}  // namespace koord::cluster
