#pragma once

// The tables of kubectl get: columns and cells of each kind.

#include <functional>
#include <string>
#include <vector>

#include "apiserver/registry/resource.h"
#include "base/executor.h"
#include "base/json.h"

namespace koord::apiserver {

struct TableColumn {
  std::string name;
  std::string type;    // string, integer, date, ...
  std::string format;  // "name" for the first one
  std::string description;
  int priority = 0;
};

// The cells of one object, one for each column.
using CellWriter = std::function<json::array(const json::value& object, WallTime now)>;

class TableWriter {
 public:
  TableWriter(const Resource& resource, const ResourceVersion& version);

  const std::vector<TableColumn>& columns() const { return columns_; }
  json::array cells(const json::value& object, WallTime now) const { return cells_(object, now); }

 private:
  std::vector<TableColumn> columns_;
  CellWriter cells_;
};

// "5d3h", as kubectl prints ages.
std::string humanDuration(Duration duration);
// The age of a time in an object; "<unknown>" without a time.
std::string age(const json::value* time, WallTime now);

}  // namespace koord::apiserver
