#include "koordctl/trace/trace_report.h"

#include "base/json.h"

namespace koord::koordctl {

std::string traceReportJson(const std::vector<ReplayReport>& reports) {
  json::array configurations;
  for (const ReplayReport& report : reports) {
    json::array points;
    for (const ReplayPoint& point : report.points) {
      points.push_back(json::object{{"seconds", point.time},
                                    {"gpuAllocated", point.gpuAllocated},
                                    {"cpuAllocated", point.cpuAllocated},
                                    {"fragmentation", point.fragmentation},
                                    {"waiting", point.waiting},
                                    {"preemptions", point.preemptions}});
    }
    configurations.push_back(json::object{{"name", report.name},
                                          {"tasks", report.tasks},
                                          {"placed", report.placed},
                                          {"preemptions", report.preemptions},
                                          {"waitSeconds", json::object{{"mean", report.waitMean},
                                                                       {"p50", report.waitMedian},
                                                                       {"p99", report.waitP99}}},
                                          {"gpuAllocatedMean", report.gpuMean},
                                          {"cpuAllocatedMean", report.cpuMean},
                                          {"fragmentationMean", report.fragmentationMean},
                                          {"points", std::move(points)}});
  }
  return toJson(json::object{{"configurations", std::move(configurations)}});
}

}  // namespace koord::koordctl
