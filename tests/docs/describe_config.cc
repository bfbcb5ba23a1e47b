// Prints what the programs read of their configuration, as JSON, for scripts/reference.py:
// {"plugins": {"koord-scheduler": [object, ...], "koord-descheduler": [...]}, "slo": [...]}; base/field_help.h has the objects.

#include <cstdio>

#include "descheduler/app/arguments.h"
#include "manager/webhook/config/config_help.h"
#include "scheduler/plugins/arguments.h"

int main() {
  const auto documents = [](const std::vector<koord::ObjectHelp>& objects) {
    koord::json::array list;
    for (const auto& object : objects) list.push_back(koord::toDocument(object));
    return list;
  };
  const koord::json::value document = koord::json::object{
      {"plugins", koord::json::object{{"koord-scheduler", documents(koord::scheduler::describeArguments())},
                                      {"koord-descheduler", documents(koord::descheduler::describeArguments())}}},
      {"slo", documents(koord::manager::describeSloConfig())}};
  std::puts(koord::toJson(document).c_str());
  return 0;
}
