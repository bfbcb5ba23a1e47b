#pragma once

// The settings of an instance in the header of its recording. Keys of extenders' certificates are
// left out: a replay does not connect to them.

#include "base/json.h"
#include "scheduler/app/instance.h"

namespace koord::scheduler {

// version: of the program.
json::value recordingHeader(const InstanceSettings& settings, const std::string& version);
Result<InstanceSettings> readRecordingHeader(const json::value& header);
// "v1.2.3"; "" if the header does not say it.
std::string versionOfRecording(const json::value& header);

}  // namespace koord::scheduler
