#pragma once

// Columns of the built-in kinds; used by tables.cc.

#include <optional>

#include "apiserver/tables/tables.h"

namespace koord::apiserver {

struct BuiltinTable {
  std::vector<TableColumn> columns;
  CellWriter cells;
  bool nameFirst = true;  // the name column comes before these columns
};

// nullopt for kinds that show name and age only.
std::optional<BuiltinTable> builtinTable(const Resource& resource);

json::array podCells(const json::value& pod, WallTime now);
json::array nodeCells(const json::value& node, WallTime now);

}  // namespace koord::apiserver
