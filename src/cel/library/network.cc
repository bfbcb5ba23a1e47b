#include "cel/library/network.h"

#include "cel/syntax/macro.h"
#include "cel/value_access.h"

namespace koord::cel {

namespace {

class IpOpaque final : public Opaque {
 public:
  explicit IpOpaque(const IpAddress& held) : address(held) {}
  const Type& type() const override { return ipType(); }
  bool equals(const Opaque& other) const override {
    return address == static_cast<const IpOpaque&>(other).address;
  }
  std::size_t costSize() const override { return address.v4 ? 4 : 16; }  // bytes
  std::string toString() const override { return address.toString(); }
  const IpAddress address;
};

class CidrOpaque final : public Opaque {
 public:
  explicit CidrOpaque(const IpRange& held) : range(held) {}
  const Type& type() const override { return cidrType(); }
  bool equals(const Opaque& other) const override {
    return range == static_cast<const CidrOpaque&>(other).range;
  }
  std::size_t costSize() const override {
    return static_cast<std::size_t>((range.length + 7) / 8);  // bytes
  }
  std::string toString() const override { return range.toString(); }
  const IpRange range;
};

template <bool kUnmap>
Value toIp(Arguments x) {
  const auto address = IpAddress::parse(x[0].text(), kUnmap);
  return address ? ipValue(*address) : Value::error(address.error().message);
}
template <bool kUnmap>
Value toCidr(Arguments x) {
  const auto range = IpRange::parse(x[0].text(), kUnmap);
  return range ? cidrValue(*range) : Value::error(range.error().message);
}

template <bool kUnmap>
Value containsAddress(Arguments x) {
  if (!x[1].is(Kind::String)) return Value::boolean(cidrOf(x[0]).contains(ipOf(x[1])));
  const auto address = IpAddress::parse(x[1].text(), kUnmap);
  if (!address) return Value::error(address.error().message);
  return Value::boolean(cidrOf(x[0]).contains(*address));
}
template <bool kUnmap>
Value containsRange(Arguments x) {
  if (!x[1].is(Kind::String)) return Value::boolean(cidrOf(x[0]).contains(cidrOf(x[1])));
  const auto range = IpRange::parse(x[1].text(), kUnmap);
  if (!range) return Value::error(range.error().message);
  return Value::boolean(cidrOf(x[0]).contains(*range));
}

template <bool kUnmap>
Value isCanonicalIp(Arguments x) {
  const auto address = IpAddress::parse(x[0].text(), kUnmap);
  if (!address) return Value::error(address.error().message);
  return Value::boolean(address->toString() == x[0].text());
}

using IpTest = bool (IpAddress::*)() const;
Overload ipTest(std::string id, IpTest test) {
  return memberOverload(std::move(id), {ipType()}, Type::boolean(),
                        [test](Arguments x) { return Value::boolean((ipOf(x[0]).*test)()); });
}

template <bool kUnmap>
void addIps(Library& library) {
  const Type s = Type::string(), flag = Type::boolean(), ip = ipType(), cidr = cidrType();
  library.add("ip", {globalOverload("string_to_ip", {s}, ip, toIp<kUnmap>),
                     memberOverload("cidr_ip", {cidr}, ip,
                                    [](Arguments x) { return ipValue(cidrOf(x[0]).address); })});
  library.add("isIP", {globalOverload("is_ip", {s}, flag, [](Arguments x) {
                return Value::boolean(IpAddress::parse(x[0].text(), kUnmap).has_value());
              })});
  library.add("ip.isCanonical",
              {globalOverload("ip_is_canonical", {s}, flag, isCanonicalIp<kUnmap>)});
  library.add("family", {memberOverload("ip_family", {ip}, Type::integer(), [](Arguments x) {
                return Value::integer(ipOf(x[0]).v4 ? 4 : 6);
              })});
  library.add("isUnspecified", {ipTest("ip_is_unspecified", &IpAddress::isUnspecified)});
  library.add("isLoopback", {ipTest("ip_is_loopback", &IpAddress::isLoopback)});
  library.add("isGlobalUnicast", {ipTest("ip_is_global_unicast", &IpAddress::isGlobalUnicast)});
  library.add("isLinkLocalUnicast",
              {ipTest("ip_is_link_local_unicast", &IpAddress::isLinkLocalUnicast)});
  library.add("isLinkLocalMulticast",
              {ipTest("ip_is_link_local_multicast", &IpAddress::isLinkLocalMulticast)});
}

template <bool kUnmap>
void addCidrs(Library& library) {
  const Type s = Type::string(), flag = Type::boolean(), ip = ipType(), cidr = cidrType();
  library.add("cidr", {globalOverload("string_to_cidr", {s}, cidr, toCidr<kUnmap>)});
  library.add("isCIDR", {globalOverload("is_cidr", {s}, flag, [](Arguments x) {
                return Value::boolean(IpRange::parse(x[0].text(), kUnmap).has_value());
              })});
  library.add(
      "containsIP",
      {memberOverload("cidr_contains_ip_ip", {cidr, ip}, flag, containsAddress<kUnmap>),
       memberOverload("cidr_contains_ip_string", {cidr, s}, flag, containsAddress<kUnmap>)});
  library.add(
      "containsCIDR",
      {memberOverload("cidr_contains_cidr", {cidr, cidr}, flag, containsRange<kUnmap>),
       memberOverload("cidr_contains_cidr_string", {cidr, s}, flag, containsRange<kUnmap>)});
  library.add("masked", {memberOverload("cidr_masked", {cidr}, cidr, [](Arguments x) {
                const IpRange& range = cidrOf(x[0]);
                return cidrValue({range.address.masked(range.length), range.length});
              })});
  library.add("prefixLength",
              {memberOverload("cidr_prefix_length", {cidr}, Type::integer(),
                              [](Arguments x) { return Value::integer(cidrOf(x[0]).length); })});
}

}  // namespace

const Type& ipType() {
  static const Type kType = Type::opaque("net.IP");
  return kType;
}
const Type& cidrType() {
  static const Type kType = Type::opaque("net.CIDR");
  return kType;
}
Value ipValue(const IpAddress& address) {
  return Value::adopt(static_cast<const Opaque*>(new IpOpaque(address)));
}
Value cidrValue(const IpRange& range) {
  return Value::adopt(static_cast<const Opaque*>(new CidrOpaque(range)));
}
const IpAddress& ipOf(const Value& value) {
  return static_cast<const IpOpaque&>(value.asOpaque()).address;
}
const IpRange& cidrOf(const Value& value) {
  return static_cast<const CidrOpaque&>(value.asOpaque()).range;
}

namespace {

template <bool kUnmap>
void addAllOf(Library& library) {
  library.addType("net.IP", ipType());
  library.addType("net.CIDR", cidrType());
  addIps<kUnmap>(library);
  addCidrs<kUnmap>(library);
  const auto text = [](Arguments x) { return Value::string(x[0].asOpaque().toString()); };
  library.add("string", {globalOverload("ip_to_string", {ipType()}, Type::string(), text),
                         globalOverload("cidr_to_string", {cidrType()}, Type::string(), text)});
}

}  // namespace

const Library& networkLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "network";
    addAllOf<true>(library);
    library.add("isMask",
                {memberOverload("cidr_is_mask", {cidrType()}, Type::boolean(), [](Arguments x) {
                  const IpRange& range = cidrOf(x[0]);
                  return Value::boolean(range.address.masked(range.length) == range.address);
                })});
    return library;
  }();
  return kLibrary;
}

const Library& kubernetesNetworkLibrary() {
  static const Library& kLibrary = []() -> const Library& {
    static Library library;
    library.name = "kubernetes.net";
    addAllOf<false>(library);
    return library;
  }();
  return kLibrary;
}

}  // namespace koord::cel
