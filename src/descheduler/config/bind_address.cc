#include "descheduler/config/bind_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace koord::descheduler {

namespace {

constexpr const char* kDefaultPort = "10251";

bool isIp(const std::string& text) {
  unsigned char buffer[16];
  return inet_pton(AF_INET, text.c_str(), buffer) == 1 ||
         inet_pton(AF_INET6, text.c_str(), buffer) == 1;
}

bool isHostName(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.';
  });
}

struct HostPort {
  std::string host;
  std::string port;
};
HostPort split(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return {std::move(host), address.substr(colon + 1)};
}

}  // namespace

std::string completeBindAddress(std::string address) {
  if (isIp(address))
    return (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
           kDefaultPort;
  if (address.starts_with(':')) return "0.0.0.0" + address;
  return address;
}

std::string checkBindAddress(const std::string& address) {
  constexpr const char* kHow = "must be HOST:PORT, as 0.0.0.0:10251; 0.0.0.0:0 serves nothing";
  const auto [host, port] = split(address);
  if (host.empty() || port.empty()) return kHow;
  if (!isIp(host) && !isHostName(host)) return kHow;
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size()) return kHow;
  return {};
}

bool isServed(const std::string& address) {
  return split(address).port != "0";
}

}  // namespace koord::descheduler
