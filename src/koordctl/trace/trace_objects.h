#pragma once

// The objects of the API that stand for a trace's nodes and tasks.

#include <memory>

#include "api/core.h"
#include "api/device.h"
#include "koordctl/trace/trace.h"

namespace koord::koordctl {

std::shared_ptr<const api::Node> nodeOf(const TraceNode& node);
// nullptr if the node has no GPUs.
std::shared_ptr<const api::Device> deviceOf(const TraceNode& node);
// `name` must be unique; it is the pod's uid, too. Tasks that are equal but for their names become
// pods that the scheduler treats as pods of one template. `scheduler` is the profile that serves
// the pod.
std::shared_ptr<const api::Pod> podOf(const TraceTask& task, const std::string& name,
                                      const std::string& scheduler);

}  // namespace koord::koordctl
