#include "cluster/screen/object_rows.h"

namespace koord::cluster {

const std::vector<Column>& moveColumns() {
  using Kind = Column::Kind;
  static const std::vector<Column> columns = {
      {"POD"}, {"STATE"}, {"LAST", Kind::Age, 4}, {"FROM"}, {"TO"}, {"MESSAGE"}, {"WHY"}, {"JOB"}};
  return columns;
}

std::vector<Row> moveRows(const Objects& objects) {
  std::vector<Row> rows;
  for (auto& move : movesOf(objects.migrations)) {
    const bool open = move.phase == Move::Phase::Open;
    const bool done = move.phase == Move::Phase::Done;
    Row row{{Subject::Kind::Move, "", move.job},
            {},
            open   ? Style::Normal
            : done ? Style::Good
                   : Style::Bad};
    row.values = {textValue(std::move(move.pod)),
                  textValue(done   ? "moved"
                            : open ? (move.begun ? "in progress" : "waits")
                                   : "failed"),
                  sinceValue(move.lastStep),
                  textValue(std::move(move.from)),
                  textValue(std::move(move.to)),
                  textValue(std::move(move.message)),
                  textValue(std::move(move.why)),
                  textValue(std::move(move.job))};
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace koord::cluster
