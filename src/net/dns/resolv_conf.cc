#include <sstream>

#include "net/dns/server.h"

namespace koord::net::dns {

namespace {
constexpr std::size_t kMostServers = 3;
}

std::vector<std::string> nameserversIn(std::string_view resolvConf) {
  std::vector<std::string> servers;
  std::istringstream lines{std::string(resolvConf)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    if (words >> key >> value && key == "nameserver" && servers.size() < kMostServers)
      servers.push_back(value);
  }
  return servers;
}

std::vector<std::string> searchIn(std::string_view resolvConf) {
  std::vector<std::string> domains;
  std::istringstream lines{std::string(resolvConf)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    if (!(words >> key) || (key != "search" && key != "domain")) continue;
    domains.clear();
    for (std::string domain; words >> domain;)
      if (domain != ".") domains.push_back(domain);
  }
  return domains;
}

}  // namespace koord::net::dns
