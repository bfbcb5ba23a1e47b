#include <algorithm>

#include "cluster/screen/object_rows.h"

namespace koord::cluster {

const std::vector<Column>& eventColumns() {
  using Kind = Column::Kind;
  static const std::vector<Column> columns = {{"LAST", Kind::Age, 4},
                                              {"TYPE", Kind::Text, 7},
                                              {"REASON"},
                                              {"OBJECT"},
                                              {"COUNT", Kind::Amount, 5},
                                              {"MESSAGE"},
                                              {"FROM"}};
  return columns;
}

std::optional<WallTime> timeOf(const api::Event& event) {
  std::optional<WallTime> last = event.lastTimestamp;
  const auto later = [&](std::optional<WallTime> time) {
    if (time && (!last || *time > *last)) last = time;
  };
  if (event.series && event.series->lastObservedTime) later(event.series->lastObservedTime->time);
  if (event.eventTime) later(event.eventTime->time);
  if (!last) later(event.metadata.creationTimestamp);
  return last;
}

std::vector<Row> eventRows(const Objects& objects) {
  std::vector<Row> rows;
  rows.reserve(objects.events.size());
  for (const auto& event : objects.events) {
    const auto& about = event->involvedObject;
    const std::string object =
        about.kind + " " + (about.namespace_.empty() ? "" : about.namespace_ + "/") + about.name;
    const int count = event->series ? event->series->count : std::max(event->count, 1);
    Row row{{Subject::Kind::Event, event->metadata.namespace_, event->metadata.name},
            {},
            event->type == "Warning" ? Style::Warning : Style::Normal};
    row.values = {sinceValue(timeOf(*event)),
                  textValue(event->type),
                  textValue(event->reason),
                  textValue(object),
                  numberValue(count),
                  textValue(event->message),
                  textValue(event->reportingComponent.empty() ? event->source.component
                                                              : event->reportingComponent)};
    rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(
      rows, [](const Row& a, const Row& b) { return compare(a.values[0], b.values[0]) < 0; });
  return rows;
}

}  // namespace koord::cluster
