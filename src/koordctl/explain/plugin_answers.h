#pragma once

// Answers of the scheduler's plugins for jobs: about a pod's gang, quota and reservations, and
// about one gang, quota or reservation. As text of at most 80 columns. Never fails, for any
// document.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// For a pod: answer["gang"], ["quota"] and ["reservations"], as the plugins return them
// (/apis/v1/plugins/PLUGIN/explain/...). Missing members are skipped.
void addPluginAnswers(std::string& out, const json::value& answer);

// /apis/v1/plugins/Coscheduling/gang/NS/NAME, in upstream's format.
std::string gangText(const json::value& answer);
// /apis/v1/plugins/ElasticQuota/explain/NAME, or quotas/NAME in upstream's format.
std::string quotaText(const json::value& answer);
// /apis/v1/plugins/Reservation/reservations/NAME
std::string reservationText(const json::value& answer);

}  // namespace koord::koordctl
