#include "koordctl/explain/device_picture.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <set>

#include "koordctl/explain/layout.h"

namespace koord::koordctl {

namespace {

constexpr char kIdle = '.';
constexpr char kUnhealthy = 'x';
constexpr char kSeveral = '+';  // several pods, or more pods than letters
constexpr std::string_view kNames = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

int numberOf(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

template <class F>
void forEachMember(const json::value* value, F&& fn) {
  if (!value || !value->is_object()) return;
  for (const auto& [key, member] : value->get_object()) fn(std::string(key), member);
}

bool isEmptyObject(const json::value& value) {
  return !value.is_object() || value.get_object().empty();
}

// NUMA node, then switch, to device numbers.
using Places = std::map<int, std::map<std::string, std::set<int>>>;

Places placesIn(const json::value& devices, const std::string& type) {
  Places places;
  forEachMember(at(devices, "deviceTotalDetail", type), [&](const std::string& minor, const auto&) {
    const auto* place = at(devices, "devicePlaces", type, minor);
    const auto* numa = place ? at(*place, "nodeID") : nullptr;
    const int node = numa && numa->is_int64() ? static_cast<int>(numa->get_int64()) : -1;
    places[node][place ? std::string(textAt(*place, "pcieID")) : ""].insert(numberOf(minor));
  });
  return places;
}

std::string amountsText(const json::value& amounts) {
  std::string text;
  forEachMember(&amounts, [&](const std::string& name, const json::value& amount) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", scalar(&amount),
                        name.substr(name.find('/') + 1));
  });
  return text;
}

// By type and number, and a line for each pod.
struct Marks {
  std::map<std::pair<std::string, int>, char> of;
  std::vector<Row> holders{{"MARK", "POD", "DEVICES"}};
};

Marks marksIn(const json::value& devices) {
  Marks marks;
  forEachMember(at(devices, "deviceTotalDetail"), [&](const std::string& type, const auto& each) {
    forEachMember(&each, [&](const std::string& minor, const json::value& total) {
      marks.of[{type, numberOf(minor)}] = isEmptyObject(total) ? kUnhealthy : kIdle;
    });
  });
  std::map<std::string, std::string> held;  // by pod
  std::map<std::string, char> letters;
  forEachMember(at(devices, "allocateSet"), [&](const std::string& type, const auto& pods) {
    forEachMember(&pods, [&](const std::string& pod, const json::value& minors) {
      if (!letters.contains(pod))
        letters[pod] = letters.size() < kNames.size() ? kNames[letters.size()] : kSeveral;
      forEachMember(&minors, [&](const std::string& minor, const json::value& amounts) {
        char& mark = marks.of.try_emplace({type, numberOf(minor)}, kIdle).first->second;
        mark = mark == kIdle || mark == kUnhealthy ? letters[pod] : kSeveral;
        held[pod] += fmt::format("{}{} {}: {}", held[pod].empty() ? "" : "; ", type, minor,
                                 amountsText(amounts));
      });
    });
  });
  for (const auto& [pod, what] : held)
    marks.holders.push_back({std::string(1, letters[pod]), pod, what});
  return marks;
}

}  // namespace

std::string devicePicture(const json::value& answer) {
  const auto* devices = at(answer, "devices");
  if (!devices || isEmptyObject(*devices)) return "";
  const Marks marks = marksIn(*devices);
  if (marks.of.empty()) return "";
  std::string out = "\nDevices\n";
  forEachMember(at(*devices, "deviceTotalDetail"), [&](const std::string& type, const auto&) {
    std::string first = type;
    for (const auto& [numa, switches] : placesIn(*devices, type)) {
      std::string line =
          fmt::format("  {:<5} {:<8}", first,
                      numa < 0 ? std::string("anywhere") : fmt::format("NUMA {}", numa));
      first.clear();
      for (const auto& [pcie, minors] : switches) {
        line += pcie.empty() ? "  " : fmt::format("  {}:", pcie);
        for (const int minor : minors) {
          const auto mark = marks.of.find({type, minor});
          line += fmt::format(" {}{}", minor, mark == marks.of.end() ? kIdle : mark->second);
        }
      }
      out += line + "\n";
    }
  });
  out += fmt::format("{} idle, {} several pods, {} unhealthy\n", kIdle, kSeveral, kUnhealthy);
  if (marks.holders.size() > 1) addTable(out, marks.holders);
  return out;
}

}  // namespace koord::koordctl
