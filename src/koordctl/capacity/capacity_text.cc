#include "koordctl/capacity/capacity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/quantity.h"
#include "koordctl/explain/layout.h"
#include "koordctl/simulate/simulation_text.h"

namespace koord::koordctl {

namespace {

std::string nameOfPool(const json::value& pool) {
  const std::string_view name = textAt(pool, "name");
  return name.empty() ? "-" : std::string(name);
}

// "koordinator.sh/gpu-core": "GPU-CORE".
std::string titleOf(std::string_view resource) {
  std::string title(resource.substr(resource.rfind('/') + 1));
  for (char& c : title)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return title;
}

// The resources of which a pool has any.
std::vector<std::string> resourcesOf(const json::value& pools) {
  std::vector<std::string> resources;
  for (const json::value& pool : arrayAt(pools, "list"))
    for (const auto& [name, amount] : membersOf(memberOf(pool, "allocatable")))
      if (scalar(&amount) != "0" && std::ranges::find(resources, name) == resources.end())
        resources.emplace_back(name);
  return resources;
}

std::string amountAt(const json::value& amounts, const std::string& resource) {
  return shortAmount(textAt(amounts, resource));
}

void addPools(std::string& out, const json::value& pools,
              const std::vector<std::string>& resources) {
  const auto& list = arrayAt(pools, "list");
  if (list.empty()) return;
  Row titles{"POOL", "NODES", "PODS"};
  for (const std::string& resource : resources)
    titles.insert(titles.end(), {titleOf(resource) + " FREE", "THEN"});
  std::vector<Row> rows{std::move(titles)};
  for (const json::value& pool : list) {
    Row row{nameOfPool(pool), scalar(find(pool, "nodes")), scalar(find(pool, "pods"))};
    for (const std::string& resource : resources)
      for (const char* when : {"before", "after"})
        row.push_back(amountAt(memberOf(pool, when), resource));
    rows.push_back(std::move(row));
  }
  out += '\n';
  if (const auto label = textAt(pools, "label"); !label.empty())
    out += fmt::format("Pools by label {}\n\n", label);
  addTable(out, rows);
  if (const std::int64_t more = countAt(pools, "notShown"); more > 0)
    out += fmt::format("  {} not shown\n", counted(more, "more pool"));
}

void addUnusable(std::string& out, const json::value& pools,
                 const std::vector<std::string>& resources) {
  Row titles{"POOL", "NODES"};
  for (const std::string& resource : resources) titles.push_back(titleOf(resource));
  titles.emplace_back("WHY NO FURTHER POD FITS");
  std::vector<Row> rows{std::move(titles)};
  for (const json::value& pool : arrayAt(pools, "list"))
    for (const json::value& rest : arrayAt(pool, "unusable")) {
      Row row{nameOfPool(pool), scalar(find(rest, "nodes"))};
      for (const std::string& resource : resources)
        row.push_back(amountAt(memberOf(rest, "free"), resource));
      const auto plugin = textAt(rest, "plugin");
      row.push_back(fmt::format("{}{}{}", plugin, plugin.empty() ? "" : ": ",
                                joined(arrayAt(rest, "reasons"))));
      rows.push_back(std::move(row));
    }
  if (rows.size() == 1) return;
  out += "\nWhat stays free\n\n";
  addTable(out, rows);
}

std::string fillText(const json::value& status, const json::value& fill) {
  const std::int64_t copies = countAt(fill, "copies"), size = countAt(fill, "podsPerCopy");
  const std::string_view of = textAt(fill, "of");
  const bool full = memberOf(fill, "full") == json::value(true);
  std::string out = full ? "" : "at least ";
  const char* const what = size == 1     ? (copies == 1 ? "pod" : "pods")
                           : copies == 1 ? "copy"
                                         : "copies";
  out += copies == 0 && full ? fmt::format("no more {}", what)
                             : fmt::format("{} more {}", copies, what);
  if (size > 1) out += fmt::format(" of {} pods", size);
  if (!of.empty()) out += fmt::format(" of {}", of);
  out += copies == 1 ? " fits\n" : " fit\n";
  const json::value& pools = memberOf(fill, "pools");
  const std::vector<std::string> resources = resourcesOf(pools);
  addPools(out, pools, resources);
  addUnusable(out, pools, resources);
  if (const auto message = textAt(fill, "message"); !message.empty()) {
    out += '\n';
    addParagraph(out, "Rejected ", message);
  }
  addQuotas(out, status);
  addStatusNotes(out, status);
  return out;
}

std::string nodesText(const json::value& status, const json::value& needed) {
  const json::value* count = find(needed, "count");
  const std::int64_t nodes = countAt(needed, "count"), tooFew = countAt(needed, "tooFew");
  const std::int64_t bound = countAt(needed, "lowerBound");
  const std::string pods = counted(countAt(needed, "pods"), "pod");
  const bool complete = memberOf(status, "complete") == json::value(true);
  std::string out;
  if (count && nodes - tooFew == 1) {
    out = fmt::format("{} for {}; {} too few\n", counted(nodes, "node"), pods,
                      tooFew == 1 ? "1 is" : fmt::format("{} are", tooFew));
  } else if (count) {
    out = fmt::format("at most {} for {}; {} are too few\n", counted(nodes, "node"), pods, tooFew);
  } else if (complete) {
    out = fmt::format("no number of nodes is known to be enough for {}; {} are too few\n", pods,
                      std::max(tooFew, bound - 1));
  } else {
    out = fmt::format("more than {} for {}\n", counted(std::max(tooFew, bound - 1), "node"), pods);
  }
  out += fmt::format("no scheduler needs less than {}\n\n", bound);
  std::vector<Row> rows{{"RESOURCE", "REQUESTED", "PER NODE", "NODES AT LEAST", "USE"}};
  for (const json::value& resource : arrayAt(needed, "resources")) {
    const auto use = realNumber(memberOf(resource, "use"));
    rows.push_back({std::string(textAt(resource, "name")), amountAt(resource, "requested"),
                    amountAt(resource, "perNode"), scalar(find(resource, "nodes")),
                    use ? fmt::format("{:.0f} %", *use) : std::string("-")});
  }
  if (rows.size() > 1) addTable(out, rows);
  if (const auto message = textAt(needed, "message"); !message.empty()) {
    out += '\n';
    addParagraph(out, "Rejected ",
                 tooFew > 0 ? fmt::format("on {}, {} of {}: {}", counted(tooFew, "node"),
                                          countAt(needed, "pending"), pods, message)
                            : std::string(message));
  }
  addStatusNotes(out, status);
  return out;
}

}  // namespace

std::string shortAmount(std::string_view quantity) {
  const auto parsed = Quantity::parse(quantity);
  if (!parsed) return std::string(quantity);
  const bool binary = parsed->format() == Quantity::Format::BinarySI;
  const double base = binary ? 1024 : 1000;
  constexpr std::array<const char*, 6> kBinary{"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  constexpr std::array<const char*, 6> kDecimal{"", "k", "M", "G", "T", "P"};
  double amount = parsed->toDouble();
  std::size_t unit = 0;
  while (amount >= (binary ? base : 10 * base) && unit + 1 < kBinary.size()) {
    amount /= base;
    ++unit;
  }
  return fmt::format("{:.4g}{}", amount, (binary ? kBinary : kDecimal)[unit]);
}

std::string capacityText(const json::value& result) {
  const json::value& status = memberOf(result, "status");
  const json::value& fill = memberOf(status, "fill");
  if (!fill.is_null()) return fillText(status, fill);
  const json::value& needed = memberOf(status, "nodesFor");
  if (!needed.is_null()) return nodesText(status, needed);
  std::string out = "there is no result\n";
  addStatusNotes(out, status);
  return out;
}

bool hasQuota(const json::value& result, std::string_view quota) {
  const json::value* quotas = at(result, "status", "quotas");
  if (!quotas || !quotas->is_array()) return true;
  return std::ranges::any_of(quotas->get_array(),
                             [&](const json::value& one) { return textAt(one, "name") == quota; });
}

bool hasCapacity(const json::value& result) {
  const json::value& status = memberOf(result, "status");
  return countAt(memberOf(status, "fill"), "copies") > 0 ||
         find(memberOf(status, "nodesFor"), "count") != nullptr;
}

}  // namespace koord::koordctl
