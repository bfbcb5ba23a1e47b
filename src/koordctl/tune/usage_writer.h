#pragma once

// UsageWriter: the samples of NodeMetrics, at the end of a file of usage_record.h.

#include <cstdio>
#include <memory>
#include <string>
#include <unordered_map>

#include "api/slo.h"
#include "base/result.h"

namespace koord::koordctl {

class UsageWriter {
 public:
  // A file that exists is continued. A last line without end, of a writer that was killed, is
  // removed. Invalid: the file is something else.
  static Result<UsageWriter> open(const std::string& file);

  // Writes the report's pods, unless it has the time of the node's last one. Names that no pod may
  // have are left out.
  Result<> add(const api::NodeMetric& metric);
  std::size_t samples() const { return samples_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  UsageWriter(std::string name, std::FILE* file) : name_(std::move(name)), file_(file) {}

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unordered_map<std::string, std::int64_t> last_;  // time of the last report, by node
  std::size_t samples_ = 0;
};

}  // namespace koord::koordctl
