#include "scheduler/plugins/nodenumaresource/cpus/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/json.h"

namespace koord::scheduler {

namespace {

// The numbers of sockets and cores share one word: socket << 16 | core.
constexpr int kMaxNumber = 1 << 15;

std::string topologyProblem(const CpuRecord& record) {
  if (record.id < 0 || record.id >= CpuSet::kMaxCpus)
    return fmt::format("id: {} is not a CPU number", record.id);
  for (const auto& [name, number] :
       {std::pair{"core", record.core}, std::pair{"socket", record.socket},
        std::pair{"node", record.numa}}) {
    if (number < 0 || number >= kMaxNumber)
      return fmt::format("{}: {} is not between 0 and {}", name, number, kMaxNumber - 1);
  }
  return "";
}

int position(const std::vector<int>& sorted, int value) {
  return static_cast<int>(std::ranges::lower_bound(sorted, value) - sorted.begin());
}

std::vector<int> distinct(const std::vector<CpuRecord>& records, int CpuRecord::* field) {
  std::set<int> values;
  for (const CpuRecord& record : records) values.insert(record.*field);
  return {values.begin(), values.end()};
}

}  // namespace

CpuTopology::CpuTopology(std::span<const CpuRecord> records) {
  std::map<int, CpuRecord> byId;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (const std::string wrong = topologyProblem(records[i]); !wrong.empty()) {
      problems_.push_back(fmt::format("detail[{}].{}", i, wrong));
      continue;
    }
    if (!byId.insert_or_assign(records[i].id, records[i]).second)
      problems_.push_back(fmt::format("detail[{}].id: duplicate {}", i, records[i].id));
  }
  std::vector<CpuRecord> kept;
  kept.reserve(byId.size());
  for (const auto& [id, record] : byId) kept.push_back(record);
  if (!kept.empty()) index(std::move(kept));
}

// Records are ascending by id, without repeats.
void CpuTopology::index(std::vector<CpuRecord> records) {
  numaIds_ = distinct(records, &CpuRecord::numa);
  socketIds_ = distinct(records, &CpuRecord::socket);
  numaCpus_.resize(numaIds_.size());
  indexOf_.assign(static_cast<std::size_t>(records.back().id) + 1, -1);
  std::set<std::pair<int, int>> pairs;
  for (const CpuRecord& record : records) {
    const int numa = position(numaIds_, record.numa);
    indexOf_[static_cast<std::size_t>(record.id)] = static_cast<int>(ids_.size());
    ids_.push_back(record.id);
    numas_.push_back(static_cast<Index>(numa));
    sockets_.push_back(static_cast<Index>(position(socketIds_, record.socket)));
    all_.add(record.id);
    numaCpus_[static_cast<std::size_t>(numa)].add(record.id);
    pairs.emplace(record.socket, record.numa);
  }
  numaPairs_ = static_cast<int>(pairs.size());
  indexCores(records);
}

void CpuTopology::indexCores(const std::vector<CpuRecord>& records) {
  std::map<std::tuple<int, int, int>, std::vector<Index>> cores;
  for (std::size_t i = 0; i < records.size(); ++i) {
    cores[{records[i].socket, records[i].core, records[i].numa}].push_back(static_cast<Index>(i));
  }
  cores_.resize(records.size());
  for (const auto& [key, cpus] : cores) {
    for (const Index cpu : cpus) cores_[cpu] = static_cast<Index>(coreIds_.size());
    coreIds_.push_back(std::get<0>(key) << 16 | std::get<1>(key));
    byCore_.insert(byCore_.end(), cpus.begin(), cpus.end());
    coreStart_.push_back(byCore_.size());
  }
}

const CpuSet& CpuTopology::cpusOfNuma(int id) const {
  static const CpuSet kNone;
  const auto at = std::ranges::lower_bound(numaIds_, id);
  if (at == numaIds_.end() || *at != id) return kNone;
  return numaCpus_[static_cast<std::size_t>(at - numaIds_.begin())];
}

Result<CpuTopology> CpuTopology::parse(std::string_view annotation) {
  const auto document = parseJson(annotation);
  if (!document) return fail(document.error());
  if (document->is_null()) return CpuTopology();
  if (!document->is_object()) return fail(ErrorCode::Invalid, "cpu-topology: expected an object");
  const json::value* detail = find(*document, "detail");
  if (!detail || detail->is_null()) return CpuTopology();
  if (!detail->is_array()) return fail(ErrorCode::Invalid, "detail: expected a list");
  std::vector<CpuRecord> records;
  for (std::size_t i = 0; i < detail->get_array().size(); ++i) {
    const json::value& entry = detail->get_array()[i];
    if (!entry.is_object())
      return fail(ErrorCode::Invalid, fmt::format("detail[{}]: expected an object", i));
    CpuRecord& record = records.emplace_back();
    for (const auto& [name, field] :
         {std::pair{"id", &CpuRecord::id}, std::pair{"core", &CpuRecord::core},
          std::pair{"socket", &CpuRecord::socket}, std::pair{"node", &CpuRecord::numa}}) {
      const json::value* value = find(entry, name);
      if (!value || value->is_null()) continue;  // as Go parses it: 0
      const auto number = wholeNumber(*value);
      if (!number || !std::in_range<int>(*number)) {
        return fail(ErrorCode::Invalid, fmt::format("detail[{}].{}: expected a number, got {}", i,
                                                    name, toJson(*value)));
      }
      record.*field = static_cast<int>(*number);
    }
  }
  return CpuTopology(records);
}

}  // namespace koord::scheduler
