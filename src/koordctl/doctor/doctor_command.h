#pragma once

// "koordctl preflight" and "koordctl doctor": read the cluster once and print their findings. The
// exit status is 1 if there is a problem or the cluster cannot be read. "koordctl doctor node" runs
// 'koordlet doctor'.

#include <string>

#include "base/flags/command.h"

namespace koord::koordctl {

enum class Examination { Preflight, Doctor };

// `kubeconfig` must outlive the commands. `program`: the path of koordctl; koordlet is beside it.
void addDoctorCommands(flags::Commands& commands, std::string& kubeconfig,
                       const std::string& program);

}  // namespace koord::koordctl
