#pragma once

// What the scheduler's plugins for jobs say: of a pod's gang, quota and reservations, and of one gang, quota
// or reservation. As text of at most 80 columns; nothing of it fails, whatever the document is.

#include <string>

#include "base/json.h"

namespace koord::koordctl {

// Of a pod: answer["gang"], ["quota"] and ["reservations"], as the plugins gave them
// (/apis/v1/plugins/PLUGIN/explain/...). What is not there is not mentioned.
void addPluginAnswers(std::string& out, const json::value& answer);

// /apis/v1/plugins/Coscheduling/gang/NS/NAME, as upstream has it.
std::string gangText(const json::value& answer);
// /apis/v1/plugins/ElasticQuota/explain/NAME, or quotas/NAME as upstream has it.
std::string quotaText(const json::value& answer);
// /apis/v1/plugins/Reservation/reservations/NAME
std::string reservationText(const json::value& answer);

}  // namespace koord::koordctl
