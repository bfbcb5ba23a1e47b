#include "cluster/screen/details.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/screen/columns.h"
#include "cluster/screen/object_rows.h"
#include "cluster/screen/text_table.h"

namespace koord::cluster {

namespace {

constexpr int kWidest = 100;  // of a table's columns beside the last

// Writes titles, fields and rows.
class Details {
 public:
  Details(const Objects& objects, const ClusterStatus& status, const Document& answers)
      : objects_(objects), status_(status), answers_(answers) {}

  Document take() { return std::move(out_); }

  void node(const std::string& name) {
    const auto line = std::ranges::find(status_.nodes, name, &NodeLine::name);
    if (line == status_.nodes.end()) return add("This node does not exist.", Style::Bad);
    fields(nodeColumns(), nodeRows(ClusterStatus{.nodes = {*line}}).front());
    for (const auto& node : objects_.nodes)
      if (node->metadata.name == name) taintsAndConditions(*node);
    for (const auto& little : status_.littleBatch)
      if (little.node == name) add(little.why);
    for (const auto& qos : status_.qos) {
      if (qos.node != name) continue;
      title(fmt::format("koordlet ({} ago)", ageText(qos.age)));
      for (const auto& what : qos.lines) add("  " + what);
    }
    answers();
    title("PODS");
    Objects here;
    here.metrics = objects_.metrics;
    for (const auto& pod : objects_.pods)
      if (pod->spec.nodeName == name && !api::isTerminal(*pod)) here.pods.push_back(pod);
    auto rows = podRows(here);
    std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
      return compare(a.values[kPodCpu], b.values[kPodCpu]) > 0;
    });
    table(podColumns(), rows, 6);
  }

  void pod(const Subject& subject) {
    const auto pod = std::ranges::find_if(objects_.pods, [&](const auto& one) {
      return one->metadata.namespace_ == subject.namespace_ && one->metadata.name == subject.name;
    });
    if (pod == objects_.pods.end()) return add("This pod does not exist.", Style::Bad);
    Objects alone;
    alone.metrics = objects_.metrics;
    alone.pods = {*pod};
    fields(podColumns(), podRows(alone).front());
    for (const auto& container : (*pod)->status.containerStatuses) this->container(container);
    for (const auto& condition : (*pod)->status.conditions)
      if (condition.status != "True")
        add(fmt::format("{} is {}: {} {}", condition.type, condition.status, condition.reason,
                        condition.message));
    answers();
    Objects about;
    for (const auto& event : objects_.events)
      if (event->involvedObject.uid == (*pod)->metadata.uid) about.events.push_back(event);
    if (about.events.empty()) return;
    title("EVENTS");
    table(eventColumns(), eventRows(about), 6);
  }

  // The row of another kind.
  void row(const Subject& subject, const std::vector<Column>& columns,
           const std::vector<Row>& rows) {
    const auto found = std::ranges::find(rows, subject, &Row::subject);
    if (found == rows.end()) return add("This object does not exist.", Style::Bad);
    fields(columns, *found);
    answers();
  }

 private:
  void answers() {
    if (!answers_.empty()) out_.emplace_back();
    out_.insert(out_.end(), answers_.begin(), answers_.end());
  }
  void add(std::string text, Style style = Style::Normal) {
    std::ranges::replace(text, '\n', ' ');
    out_.push_back({std::move(text), style});
  }
  void title(const std::string& text) {
    out_.emplace_back();
    add(text, Style::Strong);
  }
  void fields(const std::vector<Column>& columns, const Row& row) {
    for (std::size_t i = 0; i < columns.size() && i < row.values.size(); ++i)
      if (row.values[i].known || row.values[i].kind != Value::Kind::Text)
        add(fmt::format("{:<14} {}", columns[i].title, textOf(row.values[i], objects_.now)),
            i == 0 ? Style::Strong : Style::Normal);
  }
  // The first columns, then what is left as text.
  void table(const std::vector<Column>& columns, const std::vector<Row>& rows, std::size_t most) {
    if (rows.empty()) return add("  none");
    std::vector<std::size_t> widths(most);
    std::vector<std::vector<std::string>> cells;
    for (const auto& row : rows) {
      auto& line = cells.emplace_back();
      for (std::size_t i = 0; i < most; ++i) {
        std::string text = textOf(row.values[i], objects_.now);
        line.push_back(i + 1 < most ? ellipsized(std::move(text), kWidest) : std::move(text));
        widths[i] = std::max(
            {widths[i], static_cast<std::size_t>(columnsIn(line[i])), columns[i].title.size()});
      }
    }
    const auto write = [&](const auto& cellOf, Style style) {
      std::string line = " ";
      for (std::size_t i = 0; i < most; ++i)
        line += columns[i].isRight()
                    ? fmt::format(" {:>{}}", cellOf(i), widths[i])
                    : fmt::format(" {:<{}}", cellOf(i), i + 1 < most ? widths[i] : 0);
      add(std::move(line), style);
    };
    write([&](std::size_t i) { return columns[i].title; }, Style::Dim);
    for (std::size_t row = 0; row < rows.size(); ++row)
      write([&](std::size_t i) { return cells[row][i]; }, rows[row].style);
  }
  void taintsAndConditions(const api::Node& node) {
    for (const auto& taint : node.spec.taints)
      add(fmt::format("{:<14} {}{}{}:{}", "TAINT", taint.key, taint.value.empty() ? "" : "=",
                      taint.value, taint.effect));
    for (const auto& condition : node.status.conditions) {
      const bool good = (condition.type == "Ready") == (condition.status == "True");
      if (!good)
        add(fmt::format("{} is {}: {} {}", condition.type.view(), condition.status.view(),
                        condition.reason.view(), condition.message.view()),
            Style::Bad);
    }
  }
  void container(const api::ContainerStatus& status) {
    const auto& state = status.state;
    std::string what = "no state yet";
    if (state.running)
      what = state.running->startedAt
                 ? "running for " + ageText(objects_.now - *state.running->startedAt)
                 : "running";
    if (state.waiting)
      what = fmt::format("waiting: {} {}", state.waiting->reason, state.waiting->message);
    if (state.terminated)
      what = fmt::format("ended with {}: {} {}", state.terminated->exitCode,
                         state.terminated->reason, state.terminated->message);
    add(fmt::format(
        "{:<14} {}: {}{}", "CONTAINER", status.name, what,
        status.restartCount > 0 ? fmt::format(", {} restarts", status.restartCount) : ""));
  }

  const Objects& objects_;
  const ClusterStatus& status_;
  const Document& answers_;
  Document out_;
};

}  // namespace

std::string titleOf(const Subject& subject) {
  static constexpr const char* kinds[] = {"node", "pod", "migration", "quota", "event"};
  return fmt::format("{} {}{}{}", kinds[static_cast<std::size_t>(subject.kind)], subject.namespace_,
                     subject.namespace_.empty() ? "" : "/", subject.name);
}

Document detailsOf(const Subject& subject, const Objects& objects, const ClusterStatus& status,
                   const Document& answers) {
  Details details(objects, status, answers);
  using Kind = Subject::Kind;
  if (subject.kind == Kind::Node) details.node(subject.name);
  if (subject.kind == Kind::Pod) details.pod(subject);
  if (subject.kind == Kind::Move) details.row(subject, moveColumns(), moveRows(objects));
  if (subject.kind == Kind::Quota) details.row(subject, quotaColumns(), quotaRows(objects));
  if (subject.kind == Kind::Event) details.row(subject, eventColumns(), eventRows(objects));
  return details.take();
}

Document documentOf(const std::string& text, Style style) {
  Document document;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    document.push_back({text.substr(at, end - at), style});
    at = end + 1;
  }
  return document;
}

}  // namespace koord::cluster
