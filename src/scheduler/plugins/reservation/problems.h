#pragma once

// The fields of a Reservation that cannot be parsed or that other fields override.

#include <string>
#include <vector>

#include "api/reservation.h"

namespace koord::scheduler {

// One sentence per problem, beginning with the field. The reservation is placed and used as if
// these fields were absent.
std::vector<std::string> problemsOf(const api::Reservation& reservation);

}  // namespace koord::scheduler
