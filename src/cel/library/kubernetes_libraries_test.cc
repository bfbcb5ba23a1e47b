// What Kubernetes' functions compute: the inputs and results of the tests of
// k8s.io/apiserver/pkg/cel/library, and more.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cel/cel.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_authz.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_patch.h"

namespace koord::cel {
namespace {

struct FunctionCase {
  std::string_view expression;
  // Value::toString, "error" for an error of the evaluation, "issue" for an expression that does
  // not compile.
  std::string_view result;
};

const FunctionCase
    kFunctionCases[] =
        {
            {R"cel(isQuantity("20"))cel", R"cel(true)cel"},
            {R"cel(isQuantity("20M"))cel", R"cel(true)cel"},
            {R"cel(isQuantity("20Mi"))cel", R"cel(true)cel"},
            {R"cel(isQuantity("20Mo"))cel", R"cel(false)cel"},
            {R"cel(isQuantity("10Mm"))cel", R"cel(false)cel"},
            {R"cel(quantity("200M") == quantity("200M"))cel", R"cel(true)cel"},
            {R"cel(quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M"))cel",
             R"cel(true)cel"},
            {R"cel(quantity("2M") == quantity("0.002G") && quantity("2000k") == quantity("2M") && quantity("0.002G") == quantity("2000k"))cel",
             R"cel(true)cel"},
            {R"cel(quantity("200M") == quantity("0.3G"))cel", R"cel(false)cel"},
            {R"cel(quantity("50M").isLessThan(quantity("50Mi")))cel", R"cel(true)cel"},
            {R"cel(quantity("50M").isLessThan(quantity("100M")))cel", R"cel(true)cel"},
            {R"cel(quantity("100M").isLessThan(quantity("50M")))cel", R"cel(false)cel"},
            {R"cel(quantity("50Mi").isGreaterThan(quantity("50M")))cel", R"cel(true)cel"},
            {R"cel(quantity("150Mi").isGreaterThan(quantity("100Mi")))cel", R"cel(true)cel"},
            {R"cel(quantity("50M").isGreaterThan(quantity("100M")))cel", R"cel(false)cel"},
            {R"cel(quantity("200M").compareTo(quantity("0.2G")))cel", R"cel(0)cel"},
            {R"cel(quantity("50M").compareTo(quantity("50Mi")))cel", R"cel(-1)cel"},
            {R"cel(quantity("50Mi").compareTo(quantity("50M")))cel", R"cel(1)cel"},
            {R"cel(quantity("50k").add(quantity("20")) == quantity("50.02k"))cel", R"cel(true)cel"},
            {R"cel(quantity("50k").add(20).isLessThan(quantity("50020")))cel", R"cel(false)cel"},
            {R"cel(quantity("50k").sub(quantity("20")) == quantity("49.98k"))cel", R"cel(true)cel"},
            {R"cel(quantity("50k").sub(20) == quantity("49980"))cel", R"cel(true)cel"},
            {R"cel(quantity("50k").add(20).sub(quantity("100k")).asInteger())cel",
             R"cel(-49980)cel"},
            {R"cel(quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger())cel",
             R"cel(20)cel"},
            {R"cel(quantity("50k").asInteger())cel", R"cel(50000)cel"},
            {R"cel(quantity("9999999999999999999999999999999999999G").isInteger())cel",
             R"cel(false)cel"},
            {R"cel(quantity("50").isInteger())cel", R"cel(true)cel"},
            {R"cel(quantity("50.703k").asApproximateFloat())cel", R"cel(50703)cel"},
            {R"cel([quantity("9999999999999999999999999999999999999")].all(x, x.add(quantity("1")).compareTo(x.add(quantity("2"))) == -1))cel",
             R"cel(true)cel"},
            {R"cel(isSemver("1.2.3-beta.1+build.1"))cel", R"cel(true)cel"},
            {R"cel(isSemver(""))cel", R"cel(false)cel"},
            {R"cel(isSemver("v1.0.0"))cel", R"cel(false)cel"},
            {R"cel(isSemver(" 1.0.0"))cel", R"cel(false)cel"},
            {R"cel(isSemver("1. 0.0"))cel", R"cel(false)cel"},
            {R"cel(isSemver("1.0.0 "))cel", R"cel(false)cel"},
            {R"cel(isSemver("01.01.01"))cel", R"cel(false)cel"},
            {R"cel(isSemver("1"))cel", R"cel(false)cel"},
            {R"cel(isSemver("1.1"))cel", R"cel(false)cel"},
            {R"cel(isSemver("", true))cel", R"cel(false)cel"},
            {R"cel(isSemver(" 1.0.0", true))cel", R"cel(false)cel"},
            {R"cel(isSemver("1. 0.0", true))cel", R"cel(false)cel"},
            {R"cel(isSemver("1.0.0 ", true))cel", R"cel(false)cel"},
            {R"cel(isSemver("v1.0.0", true))cel", R"cel(true)cel"},
            {R"cel(isSemver("01.01.01", true))cel", R"cel(true)cel"},
            {R"cel(isSemver("1", true))cel", R"cel(true)cel"},
            {R"cel(isSemver("1.1", true))cel", R"cel(true)cel"},
            {R"cel(semver("v01.01", true) == semver("1.1.0"))cel", R"cel(true)cel"},
            {R"cel(semver("1.2.3") == semver("1.2.3"))cel", R"cel(true)cel"},
            {R"cel(semver("1.2.3") == semver("1.0.0"))cel", R"cel(false)cel"},
            {R"cel(semver("1.0.0").isLessThan(semver("1.2.3")))cel", R"cel(true)cel"},
            {R"cel(semver("1.0.0").isLessThan(semver("1.0.0")))cel", R"cel(false)cel"},
            {R"cel(semver("1.2.3").isGreaterThan(semver("1.0.0")))cel", R"cel(true)cel"},
            {R"cel(semver("1.0.0").isGreaterThan(semver("1.0.0")))cel", R"cel(false)cel"},
            {R"cel(semver("1.2.3").compareTo(semver("1.2.3")))cel", R"cel(0)cel"},
            {R"cel(semver("1.0.0").compareTo(semver("1.2.3")))cel", R"cel(-1)cel"},
            {R"cel(semver("1.2.3").compareTo(semver("1.0.0")))cel", R"cel(1)cel"},
            {R"cel(semver("1.2.3").major())cel", R"cel(1)cel"},
            {R"cel(semver("1.2.3").minor())cel", R"cel(2)cel"},
            {R"cel(semver("1.2.3").patch())cel", R"cel(3)cel"},
            {R"cel(ip("192.168.0.1.0"))cel", R"cel(error)cel"},
            {R"cel(isIP("192.168.0.1"))cel", R"cel(true)cel"},
            {R"cel(isIP("192.168.0.1.0"))cel", R"cel(false)cel"},
            {R"cel(ip.isCanonical("127.0.0.1"))cel", R"cel(true)cel"},
            {R"cel(ip.isCanonical("127.0.0.1.0"))cel", R"cel(error)cel"},
            {R"cel(ip("0.0.0.0").isUnspecified())cel", R"cel(true)cel"},
            {R"cel(ip("127.0.0.1").isUnspecified())cel", R"cel(false)cel"},
            {R"cel(ip("127.0.0.1").isLoopback())cel", R"cel(true)cel"},
            {R"cel(ip("1.2.3.4").isLoopback())cel", R"cel(false)cel"},
            {R"cel(ip("224.0.0.1").isLinkLocalMulticast())cel", R"cel(true)cel"},
            {R"cel(ip("224.0.1.1").isLinkLocalMulticast())cel", R"cel(false)cel"},
            {R"cel(ip("169.254.169.254").isLinkLocalUnicast())cel", R"cel(true)cel"},
            {R"cel(ip("192.168.0.1").isLinkLocalUnicast())cel", R"cel(false)cel"},
            {R"cel(ip("192.168.0.1").isGlobalUnicast())cel", R"cel(true)cel"},
            {R"cel(ip("255.255.255.255").isGlobalUnicast())cel", R"cel(false)cel"},
            {R"cel(ip("2001:db8:::68"))cel", R"cel(error)cel"},
            {R"cel(isIP("2001:db8::68"))cel", R"cel(true)cel"},
            {R"cel(isIP("2001:db8:::68"))cel", R"cel(false)cel"},
            {R"cel(ip.isCanonical("2001:db8::68"))cel", R"cel(true)cel"},
            {R"cel(ip.isCanonical("2001:DB8::68"))cel", R"cel(false)cel"},
            {R"cel(ip.isCanonical("2001:db8:::68"))cel", R"cel(error)cel"},
            {R"cel(ip("::").isUnspecified())cel", R"cel(true)cel"},
            {R"cel(ip("::1").isUnspecified())cel", R"cel(false)cel"},
            {R"cel(ip("::1").isLoopback())cel", R"cel(true)cel"},
            {R"cel(ip("2001:db8::abcd").isLoopback())cel", R"cel(false)cel"},
            {R"cel(ip("ff02::1").isLinkLocalMulticast())cel", R"cel(true)cel"},
            {R"cel(ip("fd00::1").isLinkLocalMulticast())cel", R"cel(false)cel"},
            {R"cel(ip("fe80::1").isLinkLocalUnicast())cel", R"cel(true)cel"},
            {R"cel(ip("fd80::1").isLinkLocalUnicast())cel", R"cel(false)cel"},
            {R"cel(ip("2001:db8::abcd").isGlobalUnicast())cel", R"cel(true)cel"},
            {R"cel(ip("ff00::1").isGlobalUnicast())cel", R"cel(false)cel"},
            {R"cel(isIP(cidr("192.168.0.0/24")))cel", R"cel(issue)cel"},
            {R"cel(type(ip("192.168.0.1")) == net.IP)cel", R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/"))cel", R"cel(error)cel"},
            {R"cel(cidr("192.168.0.0/24").containsIP(ip("192.168.0.1")))cel", R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/24").containsIP(ip("192.168.1.1")))cel", R"cel(false)cel"},
            {R"cel(cidr("192.168.0.0/24").containsIP("192.168.0.1"))cel", R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/24").containsIP("192.168.1.1"))cel", R"cel(false)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.0/25")))cel",
             R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.1/32")))cel",
             R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR(cidr("192.168.0.0/23")))cel",
             R"cel(false)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR(cidr("192.169.0.1/32")))cel",
             R"cel(false)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR("192.168.0.0/25"))cel", R"cel(true)cel"},
            {R"cel(cidr("192.168.0.0/24").containsCIDR("192.168.0.0/23"))cel", R"cel(false)cel"},
            {R"cel(cidr("192.168.0.0/24").prefixLength())cel", R"cel(24)cel"},
            {R"cel(cidr("2001:db8::/"))cel", R"cel(error)cel"},
            {R"cel(cidr("2001:db8::/32").containsIP(ip("2001:db8::1")))cel", R"cel(true)cel"},
            {R"cel(cidr("2001:db8::/32").containsIP(ip("2001:dc8::1")))cel", R"cel(false)cel"},
            {R"cel(cidr("2001:db8::/32").containsIP("2001:db8::1"))cel", R"cel(true)cel"},
            {R"cel(cidr("2001:db8::/32").containsIP("2001:dc8::1"))cel", R"cel(false)cel"},
            {R"cel(cidr("2001:db8::/32").containsCIDR(cidr("2001:db8::/33")))cel", R"cel(true)cel"},
            {R"cel(cidr("2001:db8::/32").containsCIDR(cidr("2001:db8::/31")))cel",
             R"cel(false)cel"},
            {R"cel(cidr("2001:db8::/32").containsCIDR("2001:db8::/33"))cel", R"cel(true)cel"},
            {R"cel(cidr("2001:db8::/32").containsCIDR("2001:db8::/31"))cel", R"cel(false)cel"},
            {R"cel(cidr("2001:db8::/32").prefixLength())cel", R"cel(32)cel"},
            {R"cel(type(cidr("192.168.0.0/24")) == net.CIDR)cel", R"cel(true)cel"},
            {R"cel(format.dns1123Label().validate("my-label-name"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1123Subdomain().validate("apiextensions.k8s.io"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.qualifiedName().validate("apiextensions.k8s.io/v1beta1"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1123LabelPrefix().validate("my-label-prefix-"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1123SubdomainPrefix().validate("mysubdomain.prefix.-"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1035LabelPrefix().validate("my-label-prefix-"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.uri().validate("http://example.com"))cel", R"cel(optional.none())cel"},
            {R"cel(format.uuid().validate("123e4567-e89b-12d3-a456-426614174000"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.byte().validate("aGVsbG8="))cel", R"cel(optional.none())cel"},
            {R"cel(format.date().validate("2021-01-01"))cel", R"cel(optional.none())cel"},
            {R"cel(format.datetime().validate("2021-01-01T00:00:00Z"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1123Label().validate("contains a space"))cel",
             R"cel(optional.of(["a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"]))cel"},
            {R"cel(format.dns1123Subdomain().validate("contains a space"))cel",
             R"cel(optional.of(["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]))cel"},
            {R"cel(format.dns1035Label().validate("contains a space"))cel",
             R"cel(optional.of(["a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]))cel"},
            {R"cel(format.qualifiedName().validate("contains a space"))cel",
             R"cel(optional.of(["name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"]))cel"},
            {R"cel(format.dns1123LabelPrefix().validate("contains a space-"))cel",
             R"cel(optional.of(["a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"]))cel"},
            {R"cel(format.dns1123SubdomainPrefix().validate("contains a space-"))cel",
             R"cel(optional.of(["a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"]))cel"},
            {R"cel(format.dns1035LabelPrefix().validate("contains a space-"))cel", R"cel(optional.of(["a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"]))cel"},
            {R"cel(format.dns1123Subdomain().validate("example.com"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.dns1035Label().validate("my-label-name"))cel",
             R"cel(optional.none())cel"},
            {R"cel(format.qualifiedName().validate("my.name"))cel", R"cel(optional.none())cel"},
            {R"cel(format.byte().validate("aGVsbG8"))cel",
             R"cel(optional.of(["invalid base64"]))cel"},
            {R"cel(format.date().validate("2020-01-32"))cel",
             R"cel(optional.of(["invalid date"]))cel"},
            {R"cel(format.datetime().validate("2020-01-32T00:00:00Z"))cel",
             R"cel(optional.of(["invalid datetime"]))cel"},
            {R"cel(format.labelValue().validate("my-cool-label-Value"))cel",
             R"cel(optional.none())cel"},
            {R"cel(quantity("12Mi"))cel", R"cel(kubernetes.Quantity("12Mi"))cel"},
            {R"cel(quantity("10Mo"))cel", R"cel(error)cel"},
            {R"cel(quantity("10Mm"))cel", R"cel(error)cel"},
            {R"cel(isQuantity([1, 2, 3]))cel", R"cel(issue)cel"},
            {R"cel(quantity("9999999999999999999999999999999999999G").asInteger())cel",
             R"cel(error)cel"},
            {R"cel(semver("1.2.3"))cel", R"cel(kubernetes.Semver("1.2.3"))cel"},
            {R"cel(semver("v1.0"))cel", R"cel(error)cel"},
            {R"cel(isSemver([1, 2, 3]))cel", R"cel(issue)cel"},
            {R"cel(ip("192.168.0.1"))cel", R"cel(net.IP("192.168.0.1"))cel"},
            {R"cel(ip("192.168.0.1").family())cel", R"cel(4)cel"},
            {R"cel(ip("2001:db8::68").family())cel", R"cel(6)cel"},
            {R"cel(ip("2001:db8::68"))cel", R"cel(net.IP("2001:db8::68"))cel"},
            {R"cel(string(ip("192.168.0.1")))cel", R"cel("192.168.0.1")cel"},
            {R"cel(ip("::ffff:192.168.0.1"))cel", R"cel(error)cel"},
            {R"cel(ip("::ffff:c0a8:1"))cel", R"cel(error)cel"},
            {R"cel(ip("fe80::1%en0"))cel", R"cel(error)cel"},
            {R"cel(cidr("192.168.0.0/24"))cel", R"cel(net.CIDR("192.168.0.0/24"))cel"},
            {R"cel(cidr("192.168.0.0/24").ip())cel", R"cel(net.IP("192.168.0.0"))cel"},
            {R"cel(cidr("192.168.0.1/24").masked())cel", R"cel(net.CIDR("192.168.0.0/24"))cel"},
            {R"cel(cidr("2001:db8:1::/32").masked())cel", R"cel(net.CIDR("2001:db8::/32"))cel"},
            {R"cel(string(cidr("192.168.0.0/24")))cel", R"cel("192.168.0.0/24")cel"},
            {R"cel(format.named("unknown").hasValue())cel", R"cel(false)cel"},
            {R"cel(format.named("dns1123Label").hasValue())cel", R"cel(true)cel"},
            {R"cel([1, 2, 2].isSorted())cel", R"cel(true)cel"},
            {R"cel(["b", "a"].isSorted())cel", R"cel(false)cel"},
            {R"cel([].isSorted())cel", R"cel(true)cel"},
            {R"cel([1, 3].sum())cel", R"cel(4)cel"},
            {R"cel([1.5, 2.0].sum())cel", R"cel(3.5)cel"},
            {R"cel([1u, 2u].sum())cel", R"cel(3u)cel"},
            {R"cel([duration("1m"), duration("1s")].sum())cel", R"cel(duration("61s"))cel"},
            {R"cel([1, 3].max())cel", R"cel(3)cel"},
            {R"cel(["a", "c", "b"].min())cel", R"cel("a")cel"},
            {R"cel([timestamp(1), timestamp(0)].min())cel",
             R"cel(timestamp("1970-01-01T00:00:00Z"))cel"},
            {R"cel([].filter(x, x > 0).max())cel", R"cel(error)cel"},
            {R"cel([1, 2, 2, 3].indexOf(2))cel", R"cel(1)cel"},
            {R"cel(["a", "b", "b"].lastIndexOf("b"))cel", R"cel(2)cel"},
            {R"cel([1].indexOf(9))cel", R"cel(-1)cel"},
            {R"cel(dyn([1, 2]).includes(2))cel", R"cel(true)cel"},
            {R"cel(dyn("a").includes("a"))cel", R"cel(true)cel"},
            {R"cel(dyn([1]).includes(5))cel", R"cel(false)cel"},
            {R"cel("abc 123".find("[0-9]+"))cel", R"cel("123")cel"},
            {R"cel("abc".find("[0-9]+"))cel", R"cel("")cel"},
            {R"cel("123 abc 456".findAll("[0-9]+"))cel", R"cel(["123", "456"])cel"},
            {R"cel("123 abc 456".findAll("[0-9]+", 1))cel", R"cel(["123"])cel"},
            {R"cel("123".findAll("[0-9]+", 0))cel", R"cel([])cel"},
            {R"cel("a".findAll("x*"))cel", R"cel(["", ""])cel"},
            {R"cel("abc".find("["))cel", R"cel(error)cel"},
            {R"cel(url("https://example.com:80/").getScheme())cel", R"cel("https")cel"},
            {R"cel(url("https://example.com:80/").getHost())cel", R"cel("example.com:80")cel"},
            {R"cel(url("https://[::1]:80/").getHostname())cel", R"cel("::1")cel"},
            {R"cel(url("https://example.com:80/").getPort())cel", R"cel("80")cel"},
            {R"cel(url("https://example.com/path with spaces/").getEscapedPath())cel",
             R"cel("/path%20with%20spaces/")cel"},
            {R"cel(url("https://example.com/path?k1=a&k2=b&k2=c").getQuery())cel",
             R"cel({"k1": ["a"], "k2": ["b", "c"]})cel"},
            {R"cel(url("https://example.com/path?key with spaces=value with spaces").getQuery())cel",
             R"cel({"key with spaces": ["value with spaces"]})cel"},
            {R"cel(url("/absolute-path").getScheme())cel", R"cel("")cel"},
            {R"cel(url("/path").getHost())cel", R"cel("")cel"},
            {R"cel(isURL("https://example.com:80/path?query=val#fragment"))cel", R"cel(true)cel"},
            {R"cel(isURL("/absolute-path"))cel", R"cel(true)cel"},
            {R"cel(isURL("https://a:b:c/"))cel", R"cel(false)cel"},
            {R"cel(isURL("../relative-path"))cel", R"cel(false)cel"},
            {R"cel(url("../relative-path"))cel", R"cel(error)cel"},
            {R"cel(url("https://example.com/") == url("https://example.com/"))cel",
             R"cel(true)cel"},
            {R"cel(authorizer.group("apps").resource("deployments").check("create").allowed())cel",
             R"cel(true)cel"},
            {R"cel(authorizer.path("/healthz").check("get").reason())cel",
             R"cel("path /healthz")cel"},
            {R"cel(authorizer.serviceAccount("shop", "web").group("").resource("pods").namespace("shop").name("a").subresource("log").check("get").reason())cel",
             R"cel("get /pods/log shop/a as system:serviceaccount:shop:web")cel"},
            {R"cel(authorizer.group("").resource("pods").fieldSelector("spec.nodeName=a").labelSelector("app").check("list").reason())cel",
             R"cel("list /pods / spec.nodeName=a app")cel"},
            {R"cel(authorizer.group("").resource("secrets").check("get").allowed())cel",
             R"cel(false)cel"},
            {R"cel(authorizer.group("").resource("nothing").check("get").error())cel",
             R"cel("no such resource")cel"},
            {R"cel(authorizer.group("").resource("nothing").check("get").errored())cel",
             R"cel(true)cel"},
            {R"cel(authorizer.path("").check("get").allowed())cel", R"cel(error)cel"},
            {R"cel(authorizer.serviceAccount("Shop", "web").path("/").check("get").allowed())cel",
             R"cel(error)cel"},
            {R"cel(jsonpatch.escapeKey("k8s.io/my~label"))cel", R"cel("k8s.io~1my~0label")cel"},
            {R"cel("tacocat".indexOf("a", 30))cel", R"cel(-1)cel"},
            {R"cel("abc".reverse())cel", R"cel(issue)cel"},
            {R"cel(["a", "b"].join("-"))cel", R"cel("a-b")cel"},
            {R"cel("%s: %d".format(["a", 1]))cel", R"cel("a: 1")cel"},
            {R"cel([1, 2, 3].slice(1, 3))cel", R"cel([2, 3])cel"},
            {R"cel([3, 1, 2].sort())cel", R"cel([1, 2, 3])cel"},
            {R"cel([[1], [2, 3]].flatten())cel", R"cel([1, 2, 3])cel"},
            {R"cel(lists.range(3))cel", R"cel([0, 1, 2])cel"},
            {R"cel(["ab", "c"].sortBy(x, x.size()))cel", R"cel(["c", "ab"])cel"},
            {R"cel([1, 1, 2].distinct())cel", R"cel([1, 2])cel"},
            {R"cel(sets.contains([1, 2], [2]))cel", R"cel(true)cel"},
            {R"cel([1, "a"])cel", R"cel(issue)cel"},
            {R"cel(optional.of(1).optMap(x, x + 1))cel", R"cel(optional.of(2))cel"},
            {R"cel({"a": 1}.transformMap(k, v, v + 1))cel", R"cel({"a": 2})cel"},
            {R"cel(1 < 1.5)cel", R"cel(true)cel"},
};

// Allows everything but secrets, and tells as its reason what it was asked.
class TellingAuthorizer : public Authorizer {
 public:
  AuthorizationDecision authorize(const AuthorizationRequest& request) const override {
    if (request.path) return {true, "path " + *request.path, ""};
    if (request.resource == "nothing") return {false, "", "no such resource"};
    std::string reason = fmt::format("{} {}/{}", request.verb, request.group, request.resource);
    if (!request.subresource.empty()) reason += "/" + request.subresource;
    reason += fmt::format(" {}/{}", request.nameSpace, request.name);
    for (const std::string& selector : {request.fieldSelector, request.labelSelector})
      if (!selector.empty()) reason += " " + selector;
    if (request.serviceAccount) reason += " as " + *request.serviceAccount;
    return {request.resource != "secrets", reason, ""};
  }
};

TEST(KubernetesLibraries, ComputeWhatApiserverComputes) {
  const TellingAuthorizer authorizer;
  EnvironmentOptions options;
  options.libraries = kubernetesLibraries();
  options.libraries.push_back(&jsonPatchLibrary());
  options.homogeneousLiterals = true;
  options.variables = {{"authorizer", authorizerType()}};
  const Environment environment = Environment::create(std::move(options)).value();
  Activation activation(environment);
  activation.set("authorizer", authorizerValue(authorizer));
  for (const FunctionCase& each : kFunctionCases) {
    SCOPED_TRACE(each.expression);
    const auto program = environment.compile(each.expression);
    if (!program) {
      EXPECT_EQ(each.result, "issue") << program.error().message;
      continue;
    }
    const auto value = program->evaluate(activation);
    if (value) {
      EXPECT_EQ(value->toString(), each.result);
    } else {
      EXPECT_EQ(each.result, "error") << value.error().message;
    }
  }
}

}  // namespace
}  // namespace koord::cel
