#pragma once

// The row of an object of each kind. Pure functions; the columns of each are in the .cc file, in
// order.

#include <optional>

#include "api/core.h"
#include "api/elasticquota.h"
#include "api/migration.h"
#include "api/pod.h"
#include "api/podgroup.h"
#include "api/reservation.h"
#include "api/slo.h"
#include "console/rows/row.h"

namespace koord::console {

Row rowOf(const api::Pod& pod);
Row rowOf(const api::Node& node);
// nullopt before the first measurement: koord-manager creates the object, koordlet measures.
std::optional<Row> rowOf(const api::NodeMetric& metric);
Row rowOf(const api::ElasticQuota& quota);
Row rowOf(const api::PodGroup& group);
Row rowOf(const api::PodMigrationJob& job);
Row rowOf(const api::Reservation& reservation);

}  // namespace koord::console
