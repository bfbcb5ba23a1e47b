#pragma once

// What a Reservation says of itself that cannot be read, or that other fields make void.

#include <string>
#include <vector>

#include "api/reservation.h"

namespace koord::scheduler {

// One sentence each, beginning with the field. It is placed and used all the same: as if these fields
// were not there.
std::vector<std::string> problemsOf(const api::Reservation& reservation);

}  // namespace koord::scheduler
