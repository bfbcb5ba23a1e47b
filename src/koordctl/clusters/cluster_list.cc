#include "koordctl/clusters/cluster_list.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "base/json.h"
#include "base/time.h"
#include "cluster/screen/text_table.h"
#include "cluster/up/clusters.h"
#include "cluster/up/control.h"

namespace koord::koordctl {

namespace {

std::int64_t numberAt(const json::value& object, std::string_view key) {
  const auto* value = find(object, key);
  return value ? wholeNumber(*value).value_or(0) : 0;
}

ClusterLine lineOf(const std::string& name) {
  ClusterLine line;
  line.name = name;
  line.dataDir = cluster::dataDirOf(name);
  if (cluster::runningProcess(line.dataDir) == 0) {
    const auto whole = cluster::checkRestored(line.dataDir);
    line.state = whole ? "stopped" : "incomplete";
    if (!whole) line.problem = whole.error().message;
    return line;
  }
  const bool cluster = ::access((line.dataDir + "/control.sock").c_str(), F_OK) == 0;
  const auto status =
      cluster ? cluster::askCluster(line.dataDir, "GET", "/status") : fail(ErrorCode::NotFound, "");
  if (!status) {
    // A cluster that starts, a restore, or 'koordctl join'.
    line.state = cluster ? "running" : "busy";
    line.problem = status.error().message;
    return line;
  }
  line.state = textAt(*status, "state");
  line.server = textAt(*status, "server");
  line.kubeconfig = textAt(*status, "kubeconfig");
  line.nodes = numberAt(*status, "nodes");
  line.pods = numberAt(*status, "pods");
  line.uptimeSeconds = numberAt(*status, "uptimeSeconds");
  return line;
}

}  // namespace

std::vector<ClusterLine> listClusters() {
  std::vector<ClusterLine> lines;
  for (const auto& name : cluster::clusterNames()) lines.push_back(lineOf(name));
  return lines;
}

std::string clustersText(const std::vector<ClusterLine>& clusters) {
  if (clusters.empty()) return "no clusters: 'koordctl up' starts one\n";
  cluster::TextTable table(
      {{"NAME"}, {"STATE"}, {"NODES"}, {"PODS"}, {"UP"}, {"SERVER"}, {"KUBECONFIG"}});
  std::string problems;
  for (const auto& line : clusters) {
    const bool known = !line.server.empty();
    table.add({line.name, line.state, known ? std::to_string(line.nodes) : "-",
               known ? std::to_string(line.pods) : "-",
               known ? formatDuration(std::chrono::seconds(line.uptimeSeconds)) : "-",
               known ? line.server : "-", known ? line.kubeconfig : "-"});
    if (!line.problem.empty()) problems += fmt::format("{}: {}\n", line.name, line.problem);
  }
  std::string text;
  for (const auto& line : table.lines(0)) text += line + "\n";
  return text + problems;
}

std::string clustersJson(const std::vector<ClusterLine>& clusters) {
  json::array items;
  for (const auto& line : clusters) {
    json::object item{{"name", line.name}, {"state", line.state}, {"dataDir", line.dataDir}};
    if (!line.server.empty()) {
      item["server"] = line.server;
      item["kubeconfig"] = line.kubeconfig;
      item["nodes"] = line.nodes;
      item["pods"] = line.pods;
      item["uptimeSeconds"] = line.uptimeSeconds;
    }
    if (!line.problem.empty()) item["problem"] = line.problem;
    items.push_back(std::move(item));
  }
  return toPrettyJson(json::object{{"clusters", std::move(items)}}) + "\n";
}

}  // namespace koord::koordctl
