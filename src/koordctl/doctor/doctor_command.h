#pragma once

// "koordctl preflight" and "koordctl doctor": read the cluster once and print their findings.

#include <string>

namespace koord::koordctl {

enum class Examination { Preflight, Doctor };

// Returns 0 if there is no problem; 1 if there is one or the cluster cannot be read.
int runExamination(Examination which, const std::string& kubeconfig);

}  // namespace koord::koordctl
