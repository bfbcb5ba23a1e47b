#pragma once

// The objects of the API that stand for the study's nodes, services and jobs.

#include <memory>
#include <string>

#include "api/core.h"
#include "koordctl/colocation/arm.h"

namespace koord::koordctl::colocation {

std::shared_ptr<const api::Node> nodeObject(const NodeSize& size);
std::shared_ptr<const api::Pod> servicePod(const ServicePod& service, const std::string& name,
                                           const std::string& scheduler);
// A job requests native resources, or batch or mid resources. kind: not None.
std::shared_ptr<const api::Pod> jobPod(JobKind kind, const Job& job, const std::string& name,
                                       const std::string& scheduler);

}  // namespace koord::koordctl::colocation
