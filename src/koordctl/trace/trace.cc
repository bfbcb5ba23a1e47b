#include "koordctl/trace/trace.h"

#include <algorithm>

#include "base/file.h"
#include "base/split.h"
#include "koordctl/trace/csv_table.h"

namespace koord::koordctl {

namespace {

// Assigns the value, or keeps the first failure.
class Reader {
 public:
  template <class T>
  void into(T& slot, Result<T> value) {
    if (failure_) return;
    if (value) {
      slot = *std::move(value);
    } else {
      failure_ = std::move(value.error());
    }
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  std::optional<Error> failure_;
};

void readNode(const CsvTable& table, std::size_t row, Reader& read, TraceNode& node) {
  if (table.has("sn")) {
    read.into(node.name, table.required(row, "sn"));
    read.into(node.cpu, table.number(row, "cpu_milli"));
    read.into(node.memory, table.number(row, "memory_mib"));
    read.into(node.gpus, table.number(row, "gpu"));
    node.model = table.text(row, "model");
    return;
  }
  read.into(node.name, table.required(row, "name"));
  read.into(node.cpu, table.milli(row, "cpu"));
  read.into(node.memory, table.amount(row, "memory"));
  node.memory /= kBytesOfMib;
  read.into(node.gpus, table.number(row, "gpus"));
  node.model = table.text(row, "gpu_model");
}

void readPublished(const CsvTable& table, std::size_t row, Reader& read, TraceTask& task) {
  read.into(task.cpu, table.number(row, "cpu_milli"));
  read.into(task.memory, table.number(row, "memory_mib"));
  read.into(task.gpus, table.number(row, "num_gpu"));
  read.into(task.share, table.number(row, "gpu_milli", 1000));
  task.models = splitWords(table.text(row, "gpu_spec"), '|');
  read.into(task.arrival, table.number(row, "creation_time"));
  if (table.text(row, "deletion_time").empty()) return;
  std::int64_t begin = 0, end = 0;
  read.into(begin, table.number(row, "scheduled_time", task.arrival));
  read.into(end, table.number(row, "deletion_time"));
  task.duration = std::max<std::int64_t>(end - begin, 0);
}

void readOwn(const CsvTable& table, std::size_t row, Reader& read, TraceTask& task) {
  read.into(task.cpu, table.milli(row, "cpu"));
  read.into(task.memory, table.amount(row, "memory"));
  task.memory /= kBytesOfMib;
  read.into(task.gpus, table.number(row, "gpus"));
  std::int64_t percent = 0;
  read.into(percent, table.number(row, "gpu_percent", 100));
  task.share = percent * 10;
  task.models = splitWords(table.text(row, "gpu_models"), '|');
  read.into(task.priority, table.number(row, "priority"));
  read.into(task.arrival, table.number(row, "arrival"));
  if (table.text(row, "duration").empty()) return;
  std::int64_t duration = 0;
  read.into(duration, table.number(row, "duration"));
  task.duration = duration;
}

template <class T, class ReadRow>
Result<std::vector<T>> parseRows(std::string_view text, std::string_view file, ReadRow&& readRow) {
  const auto table = CsvTable::parse(text, file);
  if (!table) return fail(table.error());
  std::vector<T> rows(table->rows());
  Reader read;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    readRow(*table, row, read, rows[row]);
    if (read.failure()) return fail(*read.failure());
  }
  return rows;
}

template <class T>
Result<std::vector<T>> readRows(const std::string& path,
                                Result<std::vector<T>> (*parse)(std::string_view,
                                                                std::string_view)) {
  const auto text = readFile(path);
  if (!text) return fail(text.error());
  return parse(*text, path);
}

}  // namespace

Result<std::vector<TraceNode>> parseTraceNodes(std::string_view text, std::string_view file) {
  return parseRows<TraceNode>(text, file, readNode);
}

Result<std::vector<TraceTask>> parseTraceTasks(std::string_view text, std::string_view file) {
  const auto readTask = [](const CsvTable& table, std::size_t row, Reader& read, TraceTask& task) {
    read.into(task.name, table.required(row, "name"));
    task.qos = table.text(row, "qos");
    if (table.has("cpu_milli")) {
      readPublished(table, row, read, task);
    } else {
      readOwn(table, row, read, task);
    }
    if (task.gpus == 0) task.share = 0;
  };
  return parseRows<TraceTask>(text, file, readTask);
}

Result<std::vector<TraceNode>> readTraceNodes(const std::string& path) {
  return readRows<TraceNode>(path, parseTraceNodes);
}

Result<std::vector<TraceTask>> readTraceTasks(const std::string& path) {
  return readRows<TraceTask>(path, parseTraceTasks);
}

}  // namespace koord::koordctl
