#pragma once

// What of the console's history a Prometheus has, if it scrapes koordlet, koord-scheduler and
// koord-manager (docs/reference/metrics.md), and for the capacity kube-state-metrics or
// node-exporter: the query of each column, in the units of history.h. Pure functions.
//
// Several replicas may export the same value, so each is taken once ("max by") before it is summed
// up. Names come from objects and become string literals of PromQL.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace koord::console {

// A column and the query that has it.
using ColumnQuery = std::pair<std::string, std::string>;

// "a\"b" with quotes, as PromQL reads it.
std::string promText(std::string_view text);

std::vector<ColumnQuery> clusterQueries();
// cpu, memory: what the node offers now, in thousandths of a core and MiB, of which the columns are
// shares; 0 = no column of it.
std::vector<ColumnQuery> nodeQueries(std::string_view node, std::int64_t cpu, std::int64_t memory);
// name: of the quota, which is one of its kind in the cluster.
std::vector<ColumnQuery> quotaQueries(std::string_view name);

}  // namespace koord::console
