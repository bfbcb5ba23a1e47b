#include "net/dns/message.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>

#include <algorithm>

#include "base/ascii.h"

// glibc's reader of messages (ns_initparse) checks every length and compression pointer of the
// input. Responses are appended byte by byte: the header and question of the query, then records
// whose owner is a pointer to the question's name.

namespace koord::net::dns {

namespace {

constexpr std::uint32_t kTtl = 5;  // seconds, as CoreDNS for services
constexpr std::size_t kHeader = 12;
constexpr std::uint16_t kOwner = 0xc00c;  // a pointer to the name after the header
constexpr std::size_t kUdpDefault = 512;
constexpr std::size_t kUdpMost = 1232;  // fits into a packet of any network

const unsigned char* bytesOf(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

void put16(std::string& out, std::uint32_t value) {
  out += static_cast<char>(value >> 8 & 0xff);
  out += static_cast<char>(value & 0xff);
}
void put32(std::string& out, std::uint32_t value) {
  put16(out, value >> 16);
  put16(out, value & 0xffff);
}

// A name without compression; "" for a name that DNS cannot have.
std::string wireName(std::string_view name) {
  unsigned char bytes[NS_MAXCDNAME];
  const int size = ::ns_name_pton(std::string(name).c_str(), bytes, sizeof(bytes));
  if (size < 0) return {};
  std::size_t length = 0;
  while (length < sizeof(bytes) && bytes[length] != 0) length += bytes[length] + 1U;
  return {reinterpret_cast<const char*>(bytes), length + 1};
}

void putRecord(std::string& out, std::string_view owner, Type type, std::string_view data) {
  out += owner;
  put16(out, static_cast<std::uint16_t>(type));
  put16(out, ns_c_in);
  put32(out, kTtl);
  put16(out, static_cast<std::uint32_t>(data.size()));
  out += data;
}

std::string ownerPointer() {
  std::string out;
  put16(out, kOwner);
  return out;
}

std::string addressData(const std::string& address) {
  in_addr bytes{};
  if (::inet_pton(AF_INET, address.c_str(), &bytes) != 1) return {};
  return {reinterpret_cast<const char*>(&bytes), sizeof(bytes)};
}

// The end of the question in a query whose question was read.
std::size_t questionEnd(std::string_view query) {
  const auto* start = bytesOf(query);
  const int name = ::dn_skipname(start + kHeader, start + query.size());
  return kHeader + static_cast<std::size_t>(std::max(name, 0)) + 4;
}

std::string startOf(std::string_view query, bool found) {
  std::string out(query.substr(0, questionEnd(query)));
  // A response with authority; recursion as desired, and available.
  out[2] = static_cast<char>(0x84 | (query[2] & 0x01));
  out[3] = static_cast<char>(0x80 | (found ? 0 : ns_r_nxdomain));
  std::fill(out.begin() + 6, out.begin() + kHeader, '\0');  // no records yet
  return out;
}

void count(std::string& message, std::size_t position, std::uint32_t records) {
  message[position] = static_cast<char>(records >> 8 & 0xff);
  message[position + 1] = static_cast<char>(records & 0xff);
}

// The size of responses that a query asks for by EDNS (RFC 6891); nullopt: it does not use EDNS.
std::optional<std::size_t> ednsSize(std::string_view query) {
  ns_msg message{};
  if (::ns_initparse(bytesOf(query), static_cast<int>(query.size()), &message) != 0)
    return std::nullopt;
  for (int i = 0; i < ns_msg_count(message, ns_s_ar); ++i) {
    ns_rr record{};
    if (::ns_parserr(&message, ns_s_ar, i, &record) != 0) return std::nullopt;
    if (ns_rr_type(record) == ns_t_opt) return ns_rr_class(record);
  }
  return std::nullopt;
}

// The record by which a response says that its server knows EDNS.
std::string optRecord() {
  std::string out(1, '\0');
  put16(out, ns_t_opt);
  put16(out, kUdpMost);
  put32(out, 0);
  put16(out, 0);
  return out;
}

std::string soaOf(std::string_view zone) {
  std::string data = wireName("ns.dns." + std::string(zone));
  data += wireName("hostmaster." + std::string(zone));
  for (const std::uint32_t value : {1U, 7200U, 1800U, 86400U, kTtl}) put32(data, value);
  return data;
}

}  // namespace

std::optional<Question> questionOf(std::string_view query) {
  ns_msg message{};
  if (::ns_initparse(bytesOf(query), static_cast<int>(query.size()), &message) != 0)
    return std::nullopt;
  if (ns_msg_getflag(message, ns_f_qr) != 0 || ns_msg_getflag(message, ns_f_opcode) != ns_o_query ||
      ns_msg_count(message, ns_s_qd) != 1)
    return std::nullopt;
  ns_rr record{};
  if (::ns_parserr(&message, ns_s_qd, 0, &record) != 0 || ns_rr_class(record) != ns_c_in)
    return std::nullopt;
  std::string name = lowered(ns_rr_name(record));
  if (name.ends_with('.')) name.pop_back();
  return Question{std::move(name), static_cast<std::uint16_t>(ns_rr_type(record))};
}

std::string responseTo(std::string_view query, const Question& question, const Answer& answer,
                       std::string_view zone, std::size_t limit) {
  std::string out = startOf(query, answer.exists);
  const std::string owner = ownerPointer();
  const std::string opt = ednsSize(query) ? optRecord() : std::string();
  const auto type = static_cast<Type>(question.type);
  const auto wants = [&](Type kind) { return type == kind || type == Type::Any; };
  std::uint32_t answers = 0;
  bool cut = false;
  const auto addFor = [&](std::string_view name, Type kind, std::string_view data) {
    if (data.empty() || cut) return;
    const std::size_t before = out.size();
    putRecord(out, name, kind, data);
    cut = out.size() + opt.size() > limit;
    if (cut)
      out.resize(before);
    else
      ++answers;
  };
  const auto add = [&](Type kind, std::string_view data) { addFor(owner, kind, data); };
  if (!answer.alias.empty()) {
    const std::string target = wireName(answer.alias);
    add(Type::Cname, target);
    for (const auto& data : answer.aliasRecords) addFor(target, type, data);
  }
  if (wants(Type::A))
    for (const auto& address : answer.addresses) add(Type::A, addressData(address));
  if (wants(Type::Ptr) && !answer.pointer.empty()) add(Type::Ptr, wireName(answer.pointer));
  if (wants(Type::Srv)) {
    const auto share = static_cast<std::uint32_t>(
        100 / std::max<std::size_t>(answer.services.size(), 1));  // the weights' sum is 100
    for (const auto& service : answer.services) {
      std::string data;
      put16(data, 0);
      put16(data, std::max(share, 1U));
      put16(data, service.port);
      data += wireName(service.target);
      add(Type::Srv, data);
    }
  }
  if (answers == 0 && !cut) {
    putRecord(out, wireName(zone), Type::Soa, soaOf(zone));
    count(out, 8, 1);
  }
  count(out, 6, answers);
  if (cut) out[2] = static_cast<char>(out[2] | 0x02);
  out += opt;
  if (!opt.empty()) count(out, 10, 1);
  return out;
}

std::string failureOf(std::string_view query, Failure failure) {
  if (query.size() < kHeader || (query[2] & 0x80) != 0) return {};
  std::string out(query.substr(0, kHeader));
  out[2] = static_cast<char>(0x80 | (query[2] & 0x79));
  out[3] = static_cast<char>(0x80 | static_cast<int>(failure));
  std::fill(out.begin() + 4, out.end(), '\0');
  if (!questionOf(query)) return out;
  out += query.substr(kHeader, questionEnd(query) - kHeader);
  count(out, 4, 1);
  return out;
}

std::string queryFor(std::uint16_t id, std::string_view name, std::uint16_t type) {
  const std::string wire = wireName(name);
  if (wire.empty()) return {};
  std::string out;
  put16(out, id);
  put16(out, 0x0100);  // recursion desired
  put16(out, 1);
  out += std::string(6, '\0');
  out += wire;
  put16(out, type);
  put16(out, ns_c_in);
  return out;
}

std::vector<std::string> addressRecordsIn(std::string_view response, std::uint16_t type) {
  std::vector<std::string> found;
  const int size = type == static_cast<std::uint16_t>(Type::A)      ? NS_INADDRSZ
                   : type == static_cast<std::uint16_t>(Type::Aaaa) ? NS_IN6ADDRSZ
                                                                    : 0;
  if (size == 0) return found;
  ns_msg message{};
  if (::ns_initparse(bytesOf(response), static_cast<int>(response.size()), &message) != 0)
    return found;
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr record{};
    if (::ns_parserr(&message, ns_s_an, i, &record) != 0) break;
    if (ns_rr_type(record) == type && ns_rr_class(record) == ns_c_in && ns_rr_rdlen(record) == size)
      found.emplace_back(reinterpret_cast<const char*>(ns_rr_rdata(record)), ns_rr_rdlen(record));
  }
  return found;
}

std::size_t udpLimit(std::string_view query) {
  return std::clamp(ednsSize(query).value_or(kUdpDefault), kUdpDefault, kUdpMost);
}

}  // namespace koord::net::dns
