#pragma once

// "koordctl preflight" and "koordctl doctor": read the cluster once and say what they found.

#include <string>

namespace koord::koordctl {

enum class Examination { Preflight, Doctor };

// 0 when there is no problem, 1 otherwise or when the cluster cannot be read.
int runExamination(Examination which, const std::string& kubeconfig);

}  // namespace koord::koordctl
