#pragma once

// The checks of `koordlet doctor` over the network: whether the API server and kubelet answer with
// these credentials, and what koordlet does if they do not. Reads only.

#include <string>
#include <vector>

#include "koordlet/agent/doctor.h"
#include "koordlet/states/kubelet.h"
#include "kube/api.h"

namespace koord::koordlet {

// The servers to check. They must outlive the task of examineCluster().
struct DoctorSources {
  kube::Api* api = nullptr;
  PodSource* kubelet = nullptr;
  KubeletConfigSource* config = nullptr;  // null: kubelet's configuration is not checked
};
// The findings on kubelet, its configuration and the node's API objects.
Task<std::vector<Finding>> examineCluster(DoctorSources sources, std::string nodeName);

}  // namespace koord::koordlet
