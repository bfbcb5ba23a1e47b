#include "koordctl/explain/plugin_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "koordctl/explain/layout.h"
#include "koordctl/explain/starts_text.h"

namespace koord::koordctl {

namespace {

constexpr std::size_t kMostShown = 10;  // of what may be hundreds

std::string pods(const std::string& count) {
  return count + (count == "1" ? " pod" : " pods");
}

// "3 more" below a shortened list.
void addRest(std::string& out, std::size_t all) {
  if (all > kMostShown) out += fmt::format("  and {} more\n", all - kMostShown);
}

// A set of names: a list, or an object with these keys, as Go writes its sets.
std::vector<std::string> namesIn(const json::value* value) {
  std::vector<std::string> names;
  if (!value) return names;
  if (const auto* list = value->if_array())
    for (const auto& name : *list) names.push_back(scalar(&name));
  if (const auto* set = value->if_object())
    for (const auto& member : *set) names.emplace_back(member.key().data(), member.key().size());
  std::ranges::sort(names);
  return names;
}

// The state of each gang of the group: members, failures, and what is wrong or missing.
void addGroups(std::string& out, const json::value& gang) {
  const auto& groups = arrayAt(gang, "groups");
  std::vector<Row> rows{{"GROUP", "NEEDS", "PRESENT", "BOUND", "MISSING"}};
  for (const auto& group : groups) {
    Row& row = rows.emplace_back(Row{std::string(textAt(group, "name"))});
    for (const char* count : {"minMember", "present", "bound", "missing"})
      row.push_back(scalar(at(group, count)));
  }
  if (rows.size() > 1) addTable(out, rows);
  std::size_t failed = 0;
  for (const auto& group : groups) {
    for (const auto& pod : arrayAt(group, "failed")) {
      if (failed++ < kMostShown)
        addParagraph(out, "  ", fmt::format("{}: {}", textAt(pod, "pod"), textAt(pod, "reason")));
    }
  }
  addRest(out, failed);
  for (const auto& group : groups)
    for (const auto& problem : arrayAt(group, "problems"))
      addParagraph(out,
                   "Problem: ", fmt::format("{}: {}", textAt(group, "name"), scalar(&problem)));
  if (const auto waits = textAt(gang, "waitingFor"); !waits.empty())
    addParagraph(out, "It waits for ", waits);
}

void addGang(std::string& out, const json::value& gang) {
  const std::string name(textAt(gang, "gang"));
  if (name.empty()) return;
  out += fmt::format("\nGang   {}\n", name);
  addGroups(out, gang);
}

void addReservations(std::string& out, const json::value& answer) {
  const auto& reservations = arrayAt(answer, "reservations");
  if (reservations.empty()) return;
  out += "\nReservations\n";
  // Matching reservations first.
  std::vector<const json::value*> order;
  for (const auto& reservation : reservations) order.push_back(&reservation);
  std::ranges::stable_partition(order, [](const json::value* reservation) {
    const auto* matched = at(*reservation, "matched");
    return matched && matched->is_bool() && matched->get_bool();
  });
  for (std::size_t i = 0; i < std::min(order.size(), kMostShown); ++i) {
    const json::value& reservation = *order[i];
    const auto* matched = at(reservation, "matched");
    std::string text(textAt(reservation, "name"));
    if (const auto node = textAt(reservation, "node"); !node.empty())
      text += fmt::format(" on {}", node);
    text += matched && *matched == true ? " matches" : " does not match";
    if (const auto reason = textAt(reservation, "reason"); !reason.empty())
      text += fmt::format(": {}", reason);
    addParagraph(out, "  ", text);
  }
  addRest(out, order.size());
}

// "0,1: idle; 2: 50 gpu-core free", from the text of each device of a type.
std::string devicesText(const json::value& devices) {
  std::vector<std::pair<std::string, std::string>> groups;  // text, and its devices
  if (!devices.is_object()) return "";
  for (const auto& [minor, said] : devices.get_object()) {
    const std::string text = scalar(&said);
    const auto same = std::ranges::find(groups, text, &std::pair<std::string, std::string>::first);
    if (same == groups.end()) {
      groups.emplace_back(text, std::string(minor));
    } else {
      same->second += "," + std::string(minor);
    }
  }
  std::string all;
  for (const auto& [text, minors] : groups)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", minors, text);
  return all;
}

// "it would get gpu 0,1: ..."
std::string wouldGetText(const json::value& node) {
  const auto* types = at(node, "wouldGet");
  if (!types || !types->is_object()) return "";
  std::string what;
  for (const auto& [type, minors] : types->get_object()) {
    std::string numbers;
    for (const auto& minor : minors.is_array() ? minors.get_array() : json::array())
      numbers += (numbers.empty() ? "" : ",") + scalar(&minor);
    what += fmt::format("{}{} {}", what.empty() ? "" : ", ", std::string(type), numbers);
  }
  const std::string_view why = textAt(node, "because");
  return fmt::format("it would get {}{}{}", what, why.empty() ? "" : ": ", why);
}

// Adds fields of the pod that no plugin understands.
void addIgnored(std::string& out, const json::value& facts) {
  for (const auto& each : arrayAt(facts, "ignored"))
    addParagraph(out, "  ignored: ", scalar(&each));
}

// For a pod: its devices, or the nodes with some.
void addDevices(std::string& out, const json::value& answer) {
  const auto* facts = at(answer, "plugins", "DeviceShare");
  if (!facts || !facts->is_object()) return;
  if (!at(*facts, "message") && !at(*facts, "devices") && arrayAt(*facts, "nodes").empty()) return;
  out += "\nDevices\n";
  addIgnored(out, *facts);
  if (const auto message = textAt(*facts, "message"); !message.empty())
    addParagraph(out, "  ", message);
  const auto* devices = at(*facts, "devices");
  if (devices && devices->is_object()) {
    std::vector<Row> rows{{"TYPE", "NUMBER", "ID", "HAS"}};
    for (const auto& [type, list] : devices->get_object()) {
      for (const auto& device : list.is_array() ? list.get_array() : json::array()) {
        std::string amounts;
        if (const auto* resources = at(device, "resources"); resources && resources->is_object())
          for (const auto& [name, amount] : resources->get_object()) {
            const std::string full(name);
            amounts += fmt::format("{}{} {}", amounts.empty() ? "" : ", ", scalar(&amount),
                                   full.substr(full.find('/') + 1));
          }
        rows.push_back({std::string(type), scalar(at(device, "minor")),
                        std::string(textAt(device, "id")), amounts});
      }
    }
    addTable(out, rows);
    if (const auto name = textAt(*facts, "reservation"); !name.empty())
      out += fmt::format("  of reservation {}\n", name);
    if (const auto why = textAt(*facts, "because"); !why.empty()) addParagraph(out, "  ", why);
  }
  const auto& nodes = arrayAt(*facts, "nodes");
  for (const auto& node : nodes) {
    const auto* fits = at(node, "fits");
    std::string text = fmt::format("{}: {}", textAt(node, "node"),
                                   fits && *fits == true ? "enough" : textAt(node, "reason"));
    if (const auto* types = at(node, "devices"); types && types->is_object())
      for (const auto& [type, each] : types->get_object())
        text += fmt::format("; {} {}", std::string(type), devicesText(each));
    addParagraph(out, "  ", text);
    if (const std::string would = wouldGetText(node); !would.empty())
      addParagraph(out, "    ", would);
  }
  const auto* all = at(*facts, "nodesWithDevices");
  if (all && all->is_int64() && all->get_int64() > static_cast<std::int64_t>(nodes.size()))
    out += fmt::format("  and {} more nodes with less\n",
                       all->get_int64() - static_cast<std::int64_t>(nodes.size()));
}

struct Column {
  const char* field;
  const char* title;
};

// Amounts of resources: a row for each resource, a column for each present field.
void addAmounts(std::string& out, const json::value& object, std::span<const Column> fields) {
  std::vector<const Column*> columns;
  std::set<std::string> resources;
  for (const Column& column : fields) {
    const auto* amounts = at(object, column.field);
    if (!amounts || !amounts->is_object() || amounts->get_object().empty()) continue;
    columns.push_back(&column);
    for (const auto& name : namesIn(amounts)) resources.insert(name);
  }
  if (resources.empty()) return;
  std::vector<Row> rows{{"RESOURCE"}};
  for (const Column* column : columns) rows.front().emplace_back(column->title);
  for (const std::string& resource : resources) {
    Row& row = rows.emplace_back(Row{resource});
    for (const Column* column : columns) {
      const std::string amount = scalar(at(object, column->field, resource));
      row.push_back(amount.empty() ? "-" : amount);
    }
  }
  addTable(out, rows);
}

void addQuota(std::string& out, const json::value& quota) {
  std::string title(textAt(quota, "name"));
  if (title.empty()) title = textAt(quota, "quota");
  if (title.empty()) return;
  if (const auto parent = textAt(quota, "parentName"); !parent.empty())
    title += fmt::format(", below {}", parent);
  if (const auto tree = textAt(quota, "tree"); !tree.empty())
    title += fmt::format(", in tree {}", tree);
  out += fmt::format("Quota  {}\n", title);
  static constexpr Column kColumns[] = {{"used", "USED"},         {"runtime", "RUNTIME"},
                                        {"min", "MIN"},           {"max", "MAX"},
                                        {"request", "REQUESTED"}, {"sharedWeight", "WEIGHT"}};
  addAmounts(out, quota, kColumns);
}

// A level of quotas: its amounts, the exhausted ones, and the computation of its runtime.
void addLevel(std::string& out, const json::value& level) {
  addQuota(out, level);
  for (const auto& line : arrayAt(level, "full")) addParagraph(out, "  full: ", scalar(&line));
  for (const auto& line : arrayAt(level, "arithmetic")) addParagraph(out, "  ", scalar(&line));
}

// The pods that use most of a quota.
void addUsers(std::string& out, const json::value& answer) {
  const auto& users = arrayAt(answer, "biggestUsers");
  if (users.empty()) return;
  out += "Largest users\n";
  std::vector<Row> rows{{"POD", "QUOTA", "PRIORITY", "REQUESTS"}};
  for (const auto& user : users) {
    std::string requests;
    if (const auto* amounts = at(user, "request"))
      for (const auto& resource : namesIn(amounts))
        requests +=
            (requests.empty() ? "" : ", ") + resource + " " + scalar(at(*amounts, resource));
    rows.push_back({std::string(textAt(user, "pod")), std::string(textAt(user, "quota")),
                    scalar(at(user, "priority")), requests});
  }
  addTable(out, rows);
}

// For a pod: its quota, the exhausted levels, and their users.
void addPodQuota(std::string& out, const json::value& answer) {
  const auto* facts = at(answer, "plugins", "ElasticQuota");
  const std::string name(facts ? textAt(*facts, "quota") : std::string_view());
  if (name.empty()) return;
  out += fmt::format("\nQuota  {}\n", name);
  const auto full = textAt(*facts, "fullAt");
  if (!full.empty()) out += fmt::format("It waits for quota {}.\n", full);
  if (const auto message = textAt(*facts, "message"); !message.empty())
    addParagraph(out, "  ", message);
  const auto* quota = at(answer, "quota");
  if (!quota) return;
  for (const auto& level : arrayAt(*quota, "levels"))
    if (!arrayAt(level, "full").empty() || (!full.empty() && textAt(level, "name") == full))
      addLevel(out, level);
  addUsers(out, *facts);
}

// For a pod: its CPUs and NUMA nodes, or the available ones.
void addPodCpus(std::string& out, const json::value& answer) {
  const auto* facts = at(answer, "plugins", "NodeNUMAResource");
  if (!facts || !facts->is_object()) return;
  std::string what = scalar(at(*facts, "cpuset"));
  if (what.empty() && at(*facts, "cpus")) {
    const auto* required = at(*facts, "required");
    what = fmt::format("{}, {} {}", scalar(at(*facts, "cpus")),
                       required && *required == true ? "which must be" : "if possible",
                       textAt(*facts, "cpuBindPolicy"));
  }
  if (!what.empty()) {
    out += "\n";
    addParagraph(out, "CPUs   ", what);
  }
  if (const auto why = textAt(*facts, "because"); !why.empty()) addParagraph(out, "       ", why);
  addIgnored(out, *facts);
  if (const auto policy = textAt(*facts, "numaTopologyPolicy"); !policy.empty())
    out += fmt::format("NUMA   {}\n", policy);
  for (const auto& part : arrayAt(*facts, "numaNodeResources")) {
    std::string amounts;
    if (const auto* resources = at(part, "resources"); resources && resources->is_object())
      for (const auto& [name, amount] : resources->get_object())
        amounts += fmt::format("{}{} {}", amounts.empty() ? "" : ", ", std::string_view(name),
                               scalar(&amount));
    out += fmt::format("  on NUMA node {}: {}\n", scalar(at(part, "node")), amounts);
  }
  std::vector<Row> rows{{"NODE", "USABLE", "OF", "NUMA", "FREE", "IN WHOLE CORES"}};
  for (const auto& node : arrayAt(*facts, "nodes")) {
    if (rows.front().size() == 6 && at(node, "wouldGet")) rows.front().emplace_back("WOULD GET");
    Row row{std::string(textAt(node, "name")), scalar(at(node, "usable")),
            scalar(at(node, "cpus"))};
    for (const auto& zone : arrayAt(node, "numa")) {
      for (const char* column : {"node", "free", "inWholeCores"})
        row.push_back(scalar(at(zone, column)));
      if (!row.front().empty()) row.push_back(scalar(at(node, "wouldGet")));
      rows.push_back(std::exchange(row, Row{"", "", ""}));
    }
  }
  if (rows.size() > 1) addTable(out, rows);
}

void addProblems(std::string& out, const json::value& answer) {
  for (const auto& problem : arrayAt(answer, "problems"))
    addParagraph(out, "Problem: ", scalar(&problem));
}

void addMembers(std::string& out, const char* what, const json::value* members) {
  const auto names = namesIn(members);
  if (names.empty()) return;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i)
    list += (list.empty() ? "" : ", ") + names[i];
  if (names.size() > kMostShown) list += fmt::format(" and {} more", names.size() - kMostShown);
  addParagraph(out, "       ",
               fmt::format("{} {}: {}", pods(std::to_string(names.size())), what, list));
}

}  // namespace

void addPluginAnswers(std::string& out, const json::value& answer) {
  if (const auto* gang = at(answer, "gang")) addGang(out, *gang);
  addPodQuota(out, answer);
  addPodCpus(out, answer);
  if (const auto* reservations = at(answer, "reservations"); reservations)
    addReservations(out, *reservations);
  addDevices(out, answer);
}

std::string gangText(const json::value& answer) {
  std::string out = fmt::format("Gang   {}\n", textAt(answer, "name"));
  std::string what(textAt(answer, "mode"));
  if (const auto policy = textAt(answer, "gangMatchPolicy"); !policy.empty())
    what += fmt::format(", {}", policy);
  if (const auto from = textAt(answer, "gangFrom"); !from.empty())
    what += fmt::format(", made of {}", from);
  if (!what.empty()) addParagraph(out, "Kind   ", what);
  const std::string needed = scalar(at(answer, "minRequiredNumber"));
  const std::string total = scalar(at(answer, "totalChildrenNum"));
  if (!needed.empty()) {
    out += fmt::format("Needs  {} at a time", pods(needed));
    out += total.empty() ? "\n" : fmt::format(", of {} in all\n", total);
  }
  const auto group = namesIn(at(answer, "gangGroup"));
  if (group.size() > 1)
    addParagraph(out, "Group  ", fmt::format("with {}", fmt::join(group, ", ")));
  addMembers(out, "bound", at(answer, "boundChildren"));
  addMembers(out, "waiting to be bound", at(answer, "waitingForBindChildren"));
  addMembers(out, "pending", at(answer, "pendingChildren"));
  out += startsText(memberOf(answer, "starts"));
  const auto* satisfied = at(answer, "onceResourceSatisfied");
  if (satisfied && *satisfied == true)
    addParagraph(out, "", "The gang was complete before; later pods do not wait.");
  addGroups(out, answer);
  return out;
}

std::string quotaText(const json::value& answer) {
  std::string out;
  const auto& levels = arrayAt(answer, "levels");
  if (levels.empty()) addQuota(out, answer);
  for (const auto& level : levels) addLevel(out, level);
  if (const auto* count = at(answer, "pods"); count && count->is_object())
    out += fmt::format("{} in it, {} waiting\n", pods(scalar(at(*count, "assigned"))),
                       scalar(at(*count, "waiting")));
  out += startsText(memberOf(answer, "starts"));
  addUsers(out, answer);
  addProblems(out, answer);
  return out;
}

std::string reservationText(const json::value& answer) {
  std::string out = fmt::format("Reservation  {}\n", textAt(answer, "name"));
  const auto add = [&](const char* title, const std::string& text) {
    if (!text.empty()) addParagraph(out, fmt::format("{:<13}", title), text);
  };
  std::string phase(textAt(answer, "phase"));
  if (const auto* closed = at(answer, "unschedulable"); closed && *closed == true)
    phase += ", closed for new pods";
  add("Phase", phase);
  add("Node", std::string(textAt(answer, "node")));
  add("Expires", std::string(textAt(answer, "expires")));
  std::string rules(textAt(answer, "allocatePolicy"));
  if (const auto* once = at(answer, "allocateOnce"); once && *once == true)
    rules += std::string(rules.empty() ? "" : ", ") + "for one owner (allocateOnce)";
  add("Rules", rules);
  static constexpr Column kColumns[] = {
      {"allocatable", "RESERVED"}, {"allocated", "USED"}, {"remaining", "LEFT"}};
  addAmounts(out, answer, kColumns);
  std::vector<std::string> owners;
  for (const auto& pod : arrayAt(answer, "assignedPods"))
    owners.push_back(fmt::format("{}/{}", textAt(pod, "Namespace"), textAt(pod, "Name")));
  const std::size_t shown = std::min(owners.size(), kMostShown);
  std::string list =
      fmt::format("{}", fmt::join(owners.begin(), owners.begin() + static_cast<int>(shown), ", "));
  if (owners.size() > shown) list += fmt::format(" and {} more", owners.size() - shown);
  add("Used by", list);
  for (const auto& condition : arrayAt(answer, "conditions")) {
    const auto message = textAt(condition, "message");
    if (message.empty()) continue;
    add(std::string(textAt(condition, "type")).c_str(),
        fmt::format("{}: {}", textAt(condition, "reason"), message));
  }
  addProblems(out, answer);
  return out;
}

}  // namespace koord::koordctl
