#include "kube/process_usage.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"

namespace koord::kube {
namespace {

// The fields of /proc/self/stat after the name, which may hold anything: state is [0].
std::vector<double> statFields() {
  const auto text = readFile("/proc/self/stat");
  if (!text) return {};
  std::istringstream in(text->substr(text->rfind(')') + 2));
  std::vector<double> fields;
  for (std::string word; in >> word;) fields.push_back(std::strtod(word.c_str(), nullptr));
  return fields;
}

// Seconds since the epoch at which the machine started.
double bootTime() {
  const auto text = readFile("/proc/stat");
  const auto at = text ? text->find("\nbtime ") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtod(text->c_str() + at + 7, nullptr);
}

// The line of values below the line of names: "IpExt: InOctets OutOctets", "IpExt: 12 34".
double networkCounter(const std::string& netstat, std::string_view name) {
  const auto names = netstat.find("IpExt: ");
  const auto values = names == netstat.npos ? names : netstat.find("\nIpExt: ", names);
  if (values == netstat.npos) return 0;
  std::istringstream titles(netstat.substr(names, values - names));
  std::istringstream numbers(netstat.substr(values + 1));
  for (std::string title, number; titles >> title && numbers >> number;)
    if (title == name) return std::strtod(number.c_str(), nullptr);
  return 0;
}

double limitOf(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return 0;
  return limit.rlim_cur == RLIM_INFINITY ? -1 : static_cast<double>(limit.rlim_cur);
}

}  // namespace

ProcessUsage processUsage() {
  ProcessUsage usage;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const auto fields = statFields(); fields.size() > 21) {
    usage.cpuSeconds = (fields[11] + fields[12]) / ticks;
    usage.threads = fields[17];
    usage.startTime = bootTime() + fields[19] / ticks;
    usage.virtualBytes = fields[20];
    usage.residentBytes = fields[21] * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }
  if (const auto netstat = readFile("/proc/self/net/netstat")) {
    usage.receivedBytes = networkCounter(*netstat, "InOctets");
    usage.sentBytes = networkCounter(*netstat, "OutOctets");
  }
  std::error_code ignored;
  for (auto it = std::filesystem::directory_iterator("/proc/self/fd", ignored);
       it != std::filesystem::directory_iterator(); it.increment(ignored))
    ++usage.openFiles;
  usage.maxFiles = limitOf(RLIMIT_NOFILE);
  usage.maxVirtualBytes = limitOf(RLIMIT_AS);
  return usage;
}

}  // namespace koord::kube
