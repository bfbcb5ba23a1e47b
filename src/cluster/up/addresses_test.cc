#include "cluster/up/addresses.h"

#include <gmock/gmock.h>

namespace koord::cluster {
namespace {

TEST(AddressesTest, loopbackIsForThisHostOnly) {
  for (const char* listen : {"127.0.0.1:6443", "localhost:6443", "[::1]:6443", "127.9.9.9:1"})
    EXPECT_EQ(outsideUrl(listen), "") << listen;
  EXPECT_EQ(outsideUrl("192.0.2.1:6443"), "https://192.0.2.1:6443");
  EXPECT_EQ(outsideUrl("[2001:db8::1]:6443"), "https://[2001:db8::1]:6443");
  for (const char* host : {"", "0.0.0.0", "[::]", "::"}) EXPECT_TRUE(isEveryAddress(host)) << host;
  EXPECT_FALSE(isEveryAddress("192.0.2.1"));
}

TEST(AddressesTest, aServerOnEveryAddressHasTheFirstOneOfAnInterface) {
  const auto all = interfaceAddresses();
  for (const auto& address : all) EXPECT_FALSE(isLoopback(address)) << address;
  const auto url = outsideUrl("0.0.0.0:6443");
  if (all.empty()) {
    EXPECT_EQ(url, "");
  } else {
    EXPECT_NE(url.find(all.front()), std::string::npos) << url;
  }
}

TEST(AddressesTest, theAddressTowardsThisHostIsLoopback) {
  EXPECT_EQ(addressTowards("https://127.0.0.1:6443").value(), "127.0.0.1");
  EXPECT_FALSE(addressTowards("https://"));
  EXPECT_FALSE(addressTowards("https://no-such-host.invalid:6443"));
}

}  // namespace
}  // namespace koord::cluster
