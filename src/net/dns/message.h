#pragma once

// DNS messages (RFC 1035) as a small server needs them: the question of a query, and answers about
// names that the server knows itself.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace koord::net::dns {

enum class Type : std::uint16_t {
  A = 1,
  Cname = 5,
  Soa = 6,
  Ptr = 12,
  Aaaa = 28,
  Srv = 33,
  Any = 255
};

struct Question {
  std::string name;  // in lower case, without the last dot
  std::uint16_t type = 0;
};

// The question of a standard query of class IN with one question; nullopt for any other message,
// which may be malformed.
std::optional<Question> questionOf(std::string_view query);

struct Service {
  std::uint16_t port = 0;
  std::string target;
  bool operator==(const Service&) const = default;
};

// What a server knows of a name.
struct Answer {
  bool exists = true;                  // false: no such name, of any type
  std::vector<std::string> addresses;  // IPv4
  std::string alias;                   // the name that this one stands for
  // The records of the alias with the type of the question, as they are in a message: stub
  // resolvers do not ask for them.
  std::vector<std::string> aliasRecords;
  std::string pointer;  // the name of an address
  std::vector<Service> services;
  bool operator==(const Answer&) const = default;
};

// The response to `query`, whose question was read by questionOf. An answer without records of the
// type says that there are none, for the zone of `zone`. A response has the records that fit into
// `limit` bytes, and says if there are more: clients ask again by TCP, or take those.
std::string responseTo(std::string_view query, const Question& question, const Answer& answer,
                       std::string_view zone, std::size_t limit);
// The response codes of errors.
enum class Failure { Malformed = 1, ServerFailure = 2, NotImplemented = 4 };

// A response with an error. "" for a message without a header, and for a response: two servers must
// not answer each other.
std::string failureOf(std::string_view query, Failure failure);

// A query for a name, with recursion.
std::string queryFor(std::uint16_t id, std::string_view name, std::uint16_t type);
// The data of the records of a type in the answer of a response: addresses as 4 or 16 bytes,
// without records of another size. Empty for other types than A and AAAA, since names in the data
// may be compressed.
std::vector<std::string> addressRecordsIn(std::string_view response, std::uint16_t type);

// The size of a response that the sender of a query takes by UDP: 512, or as EDNS says.
std::size_t udpLimit(std::string_view query);

}  // namespace koord::net::dns
