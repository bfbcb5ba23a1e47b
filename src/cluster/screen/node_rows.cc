#include "cluster/screen/object_rows.h"

namespace koord::cluster {

// The first columns matter most: others are beyond the right edge of a narrow screen.
const std::vector<Column>& nodeColumns() {
  using Kind = Column::Kind;
  static const std::vector<Column> columns = {{"NODE"},
                                              {"STATE"},
                                              {"USED/CORES", Kind::Amount, 11},
                                              {"BATCH-CPU", Kind::Amount, 11},
                                              {"BE-CPU", Kind::Amount, 6},
                                              {"DATA", Kind::Age, 4},
                                              {"LOAD", Kind::Text, 10},
                                              {"MEMORY", Kind::Amount, 13},
                                              {"BATCH-MEMORY", Kind::Amount, 13},
                                              {"LS", Kind::Amount, 3},
                                              {"BE", Kind::Amount, 3},
                                              {"PODS", Kind::Amount, 4},
                                              {"AGE", Kind::Age, 4}};
  return columns;
}

std::string stateOfNode(const NodeLine& node) {
  if (!node.ready) return "NotReady";
  if (node.cordoned) return "cordoned";
  return node.host ? "this host" : node.simulated ? "simulated" : "Ready";
}

std::vector<Row> nodeRows(const ClusterStatus& status) {
  std::vector<Row> rows;
  rows.reserve(status.nodes.size());
  for (const auto& node : status.nodes) {
    using Some = std::optional<std::int64_t>;
    const Some cpu = node.used ? Some(node.used->cpuMilli) : std::nullopt;
    const Some memory = node.used ? Some(node.used->memoryBytes) : std::nullopt;
    Row row{{Subject::Kind::Node, "", node.name}, {}, node.ready ? Style::Normal : Style::Bad};
    row.values = {textValue(node.name),
                  textValue(stateOfNode(node)),
                  coresOfValue(cpu, node.allocatable.cpuMilli),
                  coresOfValue(node.batchRequested.cpuMilli, node.batch.cpuMilli),
                  coresValue(node.beUsed.cpuMilli),
                  sinceValue(node.reported),
                  barValue(cpu, node.allocatable.cpuMilli),
                  bytesOfValue(memory, node.allocatable.memoryBytes),
                  bytesOfValue(node.batchRequested.memoryBytes, node.batch.memoryBytes),
                  numberValue(node.lsPods),
                  numberValue(node.bePods),
                  numberValue(node.pods),
                  sinceValue(node.created)};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace koord::cluster
