#include "cluster/join/invitation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>

#include "api/names.h"
#include "base/yaml.h"
#include "cluster/up/components.h"
#include "cluster/up/credentials.h"

namespace koord::cluster {

namespace {

constexpr std::string_view kKind = "Invitation";
constexpr std::string_view kApiVersion = "koordctl.koordinator.sh/v1";

json::value toJson(const net::CertKey& pair) {
  return json::object{{"certificate", pair.certPem}, {"key", pair.keyPem}};
}

Result<std::string> textOf(const json::value& in, const char* field) {
  const auto text = textAt(in, field);
  if (text.empty()) return fail(ErrorCode::Invalid, fmt::format("{}: is missing", field));
  return std::string(text);
}

Result<net::CertKey> pairOf(const json::value& in, const char* field) {
  net::CertKey pair{std::string(textAt(in, field, "certificate")),
                    std::string(textAt(in, field, "key"))};
  if (auto match = net::checkCertKey(pair); !match)
    return fail(std::move(match.error()).within(field));
  return pair;
}

}  // namespace

Result<Invitation> makeInvitation(const std::string& dataDir, const std::string& node,
                                  const std::string& server, WallTime now) {
  if (const auto wrong = api::checkDnsSubdomain(node); !wrong.empty())
    return fail(ErrorCode::Invalid, fmt::format("NODE \"{}\": {}", node, wrong));
  if (!server.starts_with("https://"))
    return fail(ErrorCode::Invalid,
                fmt::format("--server \"{}\": must begin with https://", server));
  if (::access((dataDir + "/pki/ca.key").c_str(), R_OK) != 0)
    return fail(ErrorCode::NotFound,
                fmt::format("{}/pki/ca.key cannot be read: is this the data folder of 'koordctl "
                            "up', and are you its user?",
                            dataDir));
  auto credentials = Credentials::open(dataDir, now);
  if (!credentials) return fail(std::move(credentials.error()));
  Invitation invitation{node, server, credentials->caPem(), {}, {}, {}};
  const auto client = [&](net::CertKey& out, ComponentUser user) -> Result<> {
    auto pair = credentials->client(user.name, std::move(user.groups));
    if (!pair) return fail(std::move(pair.error()));
    out = *std::move(pair);
    return {};
  };
  if (auto done = client(invitation.kubelet, {"system:node:" + node, {"system:nodes"}}); !done)
    return fail(std::move(done.error()));
  if (auto done = client(invitation.koordlet, userOf("koordlet")); !done)
    return fail(std::move(done.error()));
  auto serving = credentials->serving("system:node:" + node, {node, "localhost", "127.0.0.1"});
  if (!serving) return fail(std::move(serving.error()));
  invitation.serving = *std::move(serving);
  return invitation;
}

std::string toYaml(const Invitation& invitation) {
  return koord::toYaml(json::object{{"apiVersion", kApiVersion},
                                    {"kind", kKind},
                                    {"node", invitation.node},
                                    {"server", invitation.server},
                                    {"authority", invitation.authority},
                                    {"kubelet", toJson(invitation.kubelet)},
                                    {"koordlet", toJson(invitation.koordlet)},
                                    {"serving", toJson(invitation.serving)}});
}

Result<Invitation> parseInvitation(std::string_view yaml) {
  auto document = parseYaml(yaml);
  if (!document) return fail(std::move(document.error()));
  if (textAt(*document, "kind") != kKind || textAt(*document, "apiVersion") != kApiVersion)
    return fail(
        ErrorCode::Invalid,
        fmt::format("expected the output of 'koordctl invite': kind {} of {}", kKind, kApiVersion));
  Invitation out;
  for (const auto& [field, text] : {std::pair{"node", &out.node}, std::pair{"server", &out.server},
                                    std::pair{"authority", &out.authority}}) {
    auto value = textOf(*document, field);
    if (!value) return fail(std::move(value.error()));
    *text = *std::move(value);
  }
  for (const auto& [field, pair] :
       {std::pair{"kubelet", &out.kubelet}, std::pair{"koordlet", &out.koordlet},
        std::pair{"serving", &out.serving}}) {
    auto value = pairOf(*document, field);
    if (!value) return fail(std::move(value.error()));
    *pair = *std::move(value);
  }
  if (const auto wrong = api::checkDnsSubdomain(out.node); !wrong.empty())
    return fail(ErrorCode::Invalid, "node: " + wrong);
  if (!out.server.starts_with("https://"))
    return fail(ErrorCode::Invalid, "server: must begin with https://");
  return out;
}

}  // namespace koord::cluster
