#include "cluster/screen/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "base/time.h"
#include "base/utf8.h"
#include "cluster/screen/object_rows.h"
#include "cluster/screen/text_table.h"

namespace koord::cluster {

namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMostSentences = 20;  // of one kind
constexpr int kRoomy = 30;  // rows of a screen with a table of components and blank lines

// Names and reasons come from other programs and may contain line breaks.
std::string inOneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return printable(text);
}

Lines nodeLines(std::span<const NodeLine> nodes, int width) {
  TextTable table({{"NODE", false, 0, true},
                   {"STATE", false, 3},
                   {"LOAD", false, 7},
                   {"USED/CORES", true, 2},
                   {"MEMORY", true, 6},
                   {"BATCH-CPU", true},
                   {"BATCH-MEMORY", true},
                   {"BE-CPU", true, 1},
                   {"LS", true, 5},
                   {"BE", true, 4},
                   {"DATA", true}});
  for (const auto& node : nodes) {
    const Amounts used = node.used.value_or(Amounts{});
    table.add(
        {node.name, stateOfNode(node),
         node.used ? textOf(barValue(used.cpuMilli, node.allocatable.cpuMilli), {}) : "",
         fmt::format("{}/{}", node.used ? cores(used.cpuMilli) : "-",
                     cores(node.allocatable.cpuMilli)),
         fmt::format("{}/{}", node.used ? bytesText(used.memoryBytes) : "-",
                     bytesText(node.allocatable.memoryBytes)),
         fmt::format("{}/{}", cores(node.batchRequested.cpuMilli), cores(node.batch.cpuMilli)),
         fmt::format("{}/{}", bytesText(node.batchRequested.memoryBytes),
                     bytesText(node.batch.memoryBytes)),
         cores(node.beUsed.cpuMilli), std::to_string(node.lsPods), std::to_string(node.bePods),
         node.age ? ageText(*node.age) : "-"});
  }
  return table.lines(width);
}

Lines componentLines(const std::vector<ComponentLine>& components, int width) {
  TextTable table({{"COMPONENT", false, 0, true},
                   {"STATE", false, 0, true},
                   {"RESTARTS", true, 2},
                   {"AGE", true, 1},
                   {"WHERE", false, 3}});
  for (const auto& one : components)
    table.add({one.name, one.state, one.restarts ? std::to_string(*one.restarts) : "-",
               one.age ? ageText(*one.age) : "-", one.where});
  return table.lines(width);
}

// Writes the sections one below the other.
class Overview {
 public:
  Overview(const ClusterStatus& status, int width, int height)
      : status_(status), width_(width), height_(height) {}

  Document write() {
    head();
    components();
    nodes();
    koordlets();
    pods();
    moves();
    return std::move(out_);
  }

 private:
  bool roomy() const { return height_ == 0 || height_ >= kRoomy; }
  // How many rows a list may have.
  std::size_t most(int share, std::size_t least) const {
    if (height_ == 0) return SIZE_MAX;
    return std::max(static_cast<std::size_t>(height_ / share), least);
  }
  void add(std::string text, Style style = Style::Normal) {
    out_.push_back({inOneLine(std::move(text)), style});
  }
  void addWrapped(const std::string& text, int indent, Style style = Style::Normal) {
    for (auto& line : wrapped(inOneLine(text), width_, indent)) add(std::move(line), style);
  }
  void gap() {
    if (roomy() && !out_.empty()) out_.emplace_back();
  }
  // The rows of a list, then the number of those that are missing.
  template <class Add>
  void list(std::size_t count, std::size_t most, std::string_view missing, const Add& addRow) {
    const std::size_t shown = count <= most ? count : most - 1;
    for (std::size_t i = 0; i < shown; ++i) addRow(i);
    if (shown < count)
      addWrapped(fmt::format("... and {} more {}", count - shown, missing), 4, Style::Dim);
  }

  void head() {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(status_.uptime);
    const std::string up = seconds.count() > 0 ? "  up " + formatDuration(seconds) : std::string();
    addWrapped("API server " + status_.server + up, 2);
    if (!status_.kubeconfig.empty()) addWrapped("kubeconfig " + status_.kubeconfig, 2);
    if (!status_.console.empty()) addWrapped("console " + status_.console, 2);
    if (!status_.hint.empty()) addWrapped(status_.hint, 2);
    for (const auto& note : status_.notes) addWrapped("note: " + note, 6, Style::Warning);
  }

  void components() {
    if (status_.components.empty()) return;
    gap();
    if (!roomy()) {
      std::string line;
      for (const auto& one : status_.components)
        line += (line.empty() ? "" : ", ") + one.name + " " + one.state;
      addWrapped(line, 2);
      return;
    }
    const Lines lines = componentLines(status_.components, width_);
    add(lines.front(), Style::Strong);
    for (std::size_t i = 1; i < lines.size(); ++i)
      add(lines[i],
          status_.components[i - 1].state.starts_with("down") ? Style::Bad : Style::Normal);
  }

  void nodes() {
    gap();
    const auto rows = most(3, 3);
    const std::span all(status_.nodes);
    const Lines lines = nodeLines(all.first(std::min(all.size(), rows)), width_);
    add(lines.front(), Style::Strong);
    list(all.size(), rows, "nodes (key 2)",
         [&](std::size_t i) { add(lines[i + 1], all[i].ready ? Style::Normal : Style::Bad); });
    list(status_.littleBatch.size(), std::min(most(6, 2), kMostSentences),
         "nodes with little batch-cpu",
         [&](std::size_t i) { addWrapped(status_.littleBatch[i].why, 2); });
  }

  void pods() {
    gap();
    std::string line = "PODS";
    for (const auto& [phase, count] : status_.pods) line += fmt::format("  {} {}", count, phase);
    if (status_.pods.empty()) line += "  none";
    addWrapped(line, 2, Style::Strong);
    list(status_.pending.size(), most(6, 2), "waiting (key 3)",
         [&](std::size_t i) { addWrapped("  waiting: " + status_.pending[i], 4, Style::Warning); });
  }

  void moves() {
    const Moves& moves = status_.moves;
    if (moves.lines.empty()) return;
    gap();
    addWrapped(fmt::format("MOVES  {} in progress  {} done  {} failed", moves.open, moves.done,
                           moves.failed),
               2, Style::Strong);
    list(moves.lines.size(), std::min(most(8, 2), kMostSentences), "moves (key 4)",
         [&](std::size_t i) { addWrapped("  " + moves.lines[i], 4); });
  }

  void koordlets() {
    for (const auto& qos : status_.qos) {
      gap();
      addWrapped(fmt::format("koordlet on {} ({} ago)", qos.node, ageText(qos.age)), 2,
                 Style::Strong);
      for (const auto& line : qos.lines) addWrapped("  " + line, 4);
    }
  }

  const ClusterStatus& status_;
  const int width_;
  const int height_;
  Document out_;
};

}  // namespace

Document overviewOf(const ClusterStatus& status, int width, int height) {
  return Overview(status, width, height).write();
}

std::string statusLine(const ClusterStatus& status) {
  std::size_t ready = 0;
  int ls = 0;
  int be = 0;
  std::int64_t cpuMilli = 0;
  std::int64_t memoryBytes = 0;
  for (const auto& node : status.nodes) {
    ready += node.ready ? 1 : 0;
    ls += node.lsPods;
    be += node.bePods;
    cpuMilli += node.batch.cpuMilli;
    memoryBytes += node.batch.memoryBytes;
  }
  std::string line =
      fmt::format("nodes {}/{} ready, batch {} cores {}, LS pods {}, BE pods {}", ready,
                  status.nodes.size(), cores(cpuMilli), bytesText(memoryBytes), ls, be);
  for (const auto& component : status.components)
    if (component.state != "leading" && component.state != "running")
      line += fmt::format(", {} {}", component.name, component.state);
  if (const Moves& moves = status.moves; !moves.lines.empty())
    line += fmt::format(", moves {} in progress {} done {} failed", moves.open, moves.done,
                        moves.failed);
  for (const auto& little : status.littleBatch) line += "; " + little.why;
  for (const auto& qos : status.qos)
    if (!qos.lines.empty()) line += "; " + qos.lines.front();
  return inOneLine(std::move(line));
}

}  // namespace koord::cluster
