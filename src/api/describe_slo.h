#pragma once

// The JSON shape of what slo.h shares with the manager's configuration; included by codec files
// only.

#include <boost/describe.hpp>

#include "api/slo.h"

namespace koord::api {

BOOST_DESCRIBE_STRUCT(NodeAggregatePolicy, (), (durations))

}  // namespace koord::api
