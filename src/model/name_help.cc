#include "model/name_help.h"

#include "model/name_help_tables.h"

namespace koord::model {

std::span<const NameGroup> nameGroups() {
  static const NameGroup kGroups[] = {
      {"Pods", names::kPods},
      {"Nodes", names::kNodes},
      {"Reservations", names::kReservations},
      {"Gangs", names::kGangs},
      {"Quotas", names::kQuotas},
      {"Descheduling and migration", names::kMigration},
      {"Devices", names::kDevices},
      {"Resources", names::kResources},
      {"Other objects, and koordctl up", names::kOthers},
  };
  return kGroups;
}

json::array describeNames() {
  json::array groups;
  for (const NameGroup& group : nameGroups()) {
    json::array list;
    for (const NameHelp& one : group.names) {
      json::object row;
      for (const auto& [key, text] : {std::pair("name", one.name),
                                      {"kind", one.kind},
                                      {"on", one.on},
                                      {"writer", one.writer},
                                      {"format", one.format},
                                      {"meaning", one.meaning},
                                      {"example", one.example},
                                      {"absent", one.absent},
                                      {"values", one.values},
                                      {"unit", one.unit}})
        row[key] = json::string(text);
      list.push_back(std::move(row));
    }
    groups.push_back(
        json::object{{"title", json::string(group.title)}, {"names", std::move(list)}});
  }
  return groups;
}

}  // namespace koord::model
