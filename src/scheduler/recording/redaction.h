#pragma once

// Redaction: what a recording leaves out of the objects that the scheduler receives, because it may
// be secret and no decision reads it. Of containers: command, arguments, environment, probes and
// hooks. Of objects that have containers: the annotation in which kubectl keeps the applied object,
// which repeats them. Container names, images, ports and resources stay.
//
// The scheduler itself receives everything. Its decisions on the rest are the same: no plugin reads
// these fields, and the shapes of pods (engine/pod_shapes.h) do not compare them. The simulation
// checks this with every replay.
//
// Cost: one pass over a protobuf message. JSON is parsed and written again, but only if it has
// containers.

#include <string>
#include <string_view>

namespace koord::scheduler::recording {

// Returns an answer, an event of a watch or a request's body without these fields: `text` itself if
// it has none of them, else `storage`. Text that is neither JSON nor protobuf stays as it is. For
// any thread.
std::string_view redacted(std::string_view text, std::string& storage);

}  // namespace koord::scheduler::recording
