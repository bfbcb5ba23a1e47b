#pragma once

// Columns of custom resources of Koordinator that a JSONPath cannot express, as counts. Only this
// server shows them, after the columns of the CustomResourceDefinition; a kube-apiserver shows the
// latter.

#include <functional>
#include <utility>
#include <vector>

#include "apiserver/tables/tables.h"

namespace koord::apiserver {

using ComputedColumn =
    std::pair<TableColumn, std::function<json::value(const json::value& object)>>;

// Empty for most kinds. A cell is null if the object does not have what the column shows.
std::vector<ComputedColumn> computedColumns(const Resource& resource);

}  // namespace koord::apiserver
