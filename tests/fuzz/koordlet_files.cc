// Files of the kernel and messages of the runtime that koordlet reads: any text is read or refused,
// and what was read prints to text that means the same.

#include "fuzz.h"
#include "koordlet/hooks/resctrl/pod_resctrl.h"
#include "koordlet/runtime/container_runtime.h"
#include "koordlet/system/cgroup_file.h"
#include "koordlet/system/pressure.h"
#include "koordlet/system/resctrl.h"

namespace koord::fuzz {

void koordletFiles(std::string_view input) {
  using namespace koord::koordlet;
  if (const auto schemata = resctrl::parseSchemata(input)) {
    const auto l3 = resctrl::l3Line(schemata->l3), mb = resctrl::mbLine(schemata->mb);
    const auto again = resctrl::parseSchemata(l3 + mb);
    check(again && again->l3 == schemata->l3 && again->mb == schemata->mb,
          "the lines of schemata read as the schemata");
    check(resctrl::hasLine(input, l3) && resctrl::hasLine(input, mb),
          "schemata say what was read in them");
  }
  const resctrl::Machine machine{
      .allWays = 0x7ff, .rootL3 = {{0, 0x7ff}, {4, 0x7ff}}, .rootMb = {{0, 100}, {4, 100}}};
  if (const auto wanted = podSchemata(machine, input))
    check(resctrl::parseSchemata(wanted->l3) && resctrl::parseSchemata(wanted->mb),
          "what a pod asks for can be written");
  if (const auto pressure = parsePressure(input))
    check(pressure->some.avg10 >= 0 && pressure->some.avg300 <= 100, "pressures are percents");
  (void)containersInReply(input);
  const auto [current, wanted] = firstLine(input);
  (void)sameCgroupValue(CgroupFile::IoMax, CgroupVersion::V2, current, wanted);
}

}  // namespace koord::fuzz
