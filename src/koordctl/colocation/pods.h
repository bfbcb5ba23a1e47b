#pragma once

// The objects of the API that stand for the study's nodes, services and jobs.

#include <memory>
#include <string>

#include "api/core.h"
#include "koordctl/colocation/arm.h"

namespace koord::koordctl::colocation {

std::shared_ptr<const api::Node> nodeObject(const Parameters& parameters, const std::string& name);
std::shared_ptr<const api::Pod> servicePod(const Parameters& parameters, const ServicePod& service,
                                           const std::string& name, const std::string& scheduler);
// True if the job runs on mid resources.
bool isMidJob(const Parameters& parameters, const Arm& arm, const Job& job);
// A job requests native, batch or mid resources, by the arm and its length.
std::shared_ptr<const api::Pod> jobPod(const Parameters& parameters, const Arm& arm, const Job& job,
                                       const std::string& name, const std::string& scheduler);

}  // namespace koord::koordctl::colocation
