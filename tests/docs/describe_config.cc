// Prints what the programs read of their configuration, as JSON, for scripts/reference.py:
// {"plugins": {"koord-scheduler": [object, ...], "koord-descheduler": [...]}, "slo": [...],
// "names": [...]}; base/field_help.h has the objects, model/name_help.h the names. Ends with 1 if a
// field has no help, or if help names a field that no reader asks for.

#include <cstdio>

#include "descheduler/app/arguments.h"
#include "manager/webhook/config/config_help.h"
#include "model/name_help.h"
#include "scheduler/plugins/arguments.h"

namespace {

using Objects = std::vector<koord::ObjectHelp>;

bool isComplete(const Objects& objects) {
  bool complete = true;
  for (const auto& object : objects) {
    for (const std::string& missing : koord::missingHelp(object)) {
      std::fprintf(stderr, "%s\n", missing.c_str());
      complete = false;
    }
  }
  return complete;
}

koord::json::array documents(const Objects& objects) {
  koord::json::array list;
  for (const auto& object : objects) list.push_back(koord::toDocument(object));
  return list;
}

}  // namespace

int main() {
  const Objects scheduler = koord::scheduler::describeArguments();
  const Objects descheduler = koord::descheduler::describeArguments();
  const Objects slo = koord::manager::describeSloConfig();
  const koord::json::value document = koord::json::object{
      {"plugins", koord::json::object{{"koord-scheduler", documents(scheduler)},
                                      {"koord-descheduler", documents(descheduler)}}},
      {"slo", documents(slo)},
      {"names", koord::model::describeNames()}};
  std::puts(koord::toJson(document).c_str());
  const bool complete[] = {isComplete(scheduler), isComplete(descheduler), isComplete(slo)};
  return complete[0] && complete[1] && complete[2] ? 0 : 1;
}
