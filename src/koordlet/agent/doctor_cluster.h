#pragma once

// The half of `koordlet doctor` that asks others: whether the API server and kubelet answer who asks, and what koordlet
// does where they do not. Reads only.

#include <string>
#include <vector>

#include "koordlet/agent/doctor.h"
#include "koordlet/states/kubelet.h"
#include "kube/api.h"

namespace koord::koordlet {

// Whom to ask; all outlive the answer.
struct DoctorSources {
  kube::Api* api = nullptr;
  PodSource* kubelet = nullptr;
  KubeletConfigSource* config = nullptr;  // null: it is not to be asked
};
Task<std::vector<Finding>> examineCluster(DoctorSources sources, std::string nodeName);

}  // namespace koord::koordlet
