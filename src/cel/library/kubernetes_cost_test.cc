// The costs of Kubernetes' functions: the numbers of k8s.io/apiserver/pkg/cel/library/cost_test.go.

#include <gtest/gtest.h>

#include "cel/cel.h"
#include "cel/library/all.h"
#include "cel/library/kubernetes_authz.h"
#include "cel/library/kubernetes_cost.h"
#include "cel/library/kubernetes_patch.h"

namespace koord::cel {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

struct CostCase {
  std::string_view expression;
  std::uint64_t min, max;  // estimated
  std::uint64_t actual;
};

const CostCase kCostCases[] = {
    {R"cel(authorizer.path('/healthz'))cel", 2, 2, 2},
    {R"cel(authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend'))cel",
     6, 6, 6},
    {R"cel(authorizer.group('').resource('pods').fieldSelector('spec.nodeName=example-node-name.fully.qualified.domain.name.example.com'))cel",
     1821, 1821, 1821},
    {R"cel(authorizer.group('').resource('pods').labelSelector('spec.nodeName=example-node-name.fully.qualified.domain.name.example.com'))cel",
     1821, 1821, 1821},
    {R"cel(authorizer.path('/healthz').check('get').allowed())cel", 350003, 350003, 350003},
    {R"cel(authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').allowed())cel",
     350007, 350007, 350007},
    {R"cel(authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').errored())cel",
     350007, 350007, 350007},
    {R"cel(authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').error())cel",
     350007, 350007, 350007},
    {R"cel(quantity("12Mi"))cel", 1, 1, 1},
    {R"cel(isQuantity("20"))cel", 1, 1, 1},
    {R"cel(isQuantity("20M"))cel", 1, 1, 1},
    {R"cel(quantity("200M") == quantity("200M"))cel", 3, 3, 3},
    {R"cel(quantity("200M") == quantity("0.2G") && quantity("0.2G") == quantity("200M"))cel", 3, 6,
     6},
    {R"cel(quantity("2M") == quantity("0.002G") && quantity("2000k") == quantity("2M") && quantity("0.002G") == quantity("2000k"))cel",
     3, 9, 9},
    {R"cel(quantity("50M").isLessThan(quantity("50Mi")))cel", 3, 3, 3},
    {R"cel(quantity("50Mi").isGreaterThan(quantity("50M")))cel", 3, 3, 3},
    {R"cel(quantity("200M").compareTo(quantity("0.2G")) > 0)cel", 4, 4, 4},
    {R"cel(quantity("50k").add(quantity("20")) == quantity("50.02k"))cel", 5, 5, 5},
    {R"cel(quantity("50k").sub(quantity("20")) == quantity("49.98k"))cel", 5, 5, 5},
    {R"cel(quantity("50k").sub(20) == quantity("49980"))cel", 4, 4, 4},
    {R"cel(quantity("50k").add(20).sub(quantity("100k")).asInteger() > 0)cel", 6, 6, 6},
    {R"cel(quantity("50k").add(20).sub(quantity("100k")).sub(-50000).asInteger() > 0)cel", 7, 7, 7},
    {R"cel(quantity("50k").asInteger() > 0)cel", 3, 3, 3},
    {R"cel(quantity("50").isInteger())cel", 2, 2, 2},
    {R"cel(quantity("50.703k").asApproximateFloat() > 0.0)cel", 3, 3, 3},
    {R"cel(format.named("dns1123subdomain"))cel", 1, 1, 1},
    {R"cel(format.named("dns1123Label").value().validate("my-name"))cel", 34, 34, 10},
    {R"cel(format.named("dns1123Label").value() == format.named("dns1123Label").value())cel", 5, 11,
     5},
    {R"cel(sets.contains([], []))cel", 21, 21, 21},
    {R"cel(sets.contains([1], []))cel", 21, 21, 21},
    {R"cel(sets.contains([1], [1]))cel", 22, 22, 22},
    {R"cel(sets.contains([1], [1, 1]))cel", 23, 23, 23},
    {R"cel(sets.contains([1, 1], [1]))cel", 23, 23, 23},
    {R"cel(sets.contains([2, 1], [1]))cel", 23, 23, 23},
    {R"cel(sets.contains([1, 2, 3, 4], [2, 3]))cel", 29, 29, 29},
    {R"cel(sets.contains([1], [1.0, 1]))cel", 23, 23, 23},
    {R"cel(sets.contains([1, 2], [2u, 2.0]))cel", 25, 25, 25},
    {R"cel(sets.contains([1, 2u], [2, 2.0]))cel", 25, 25, 25},
    {R"cel(sets.contains([1, 2.0, 3u], [1.0, 2u, 3]))cel", 30, 30, 30},
    {R"cel(!sets.contains([1], [2]))cel", 23, 23, 23},
    {R"cel(!sets.contains([1], [1, 2]))cel", 24, 24, 24},
    {R"cel(!sets.contains([1], ["1", 1]))cel", 24, 24, 24},
    {R"cel(!sets.contains([1], [1.1, 1u]))cel", 24, 24, 24},
    {R"cel(sets.equivalent([], []))cel", 21, 21, 21},
    {R"cel(sets.equivalent([1], [1]))cel", 23, 23, 23},
    {R"cel(sets.equivalent([1], [1, 1]))cel", 25, 25, 25},
    {R"cel(sets.equivalent([1, 1], [1]))cel", 25, 25, 25},
    {R"cel(sets.equivalent([1], [1u, 1.0]))cel", 25, 25, 25},
    {R"cel(sets.equivalent([1, 2, 3], [3u, 2.0, 1]))cel", 39, 39, 39},
    {R"cel(sets.equivalent([[1.0], [2, 3]], [[1], [2, 3.0]]))cel", 69, 69, 69},
    {R"cel(!sets.equivalent([2, 1], [1]))cel", 26, 26, 26},
    {R"cel(!sets.equivalent([1], [1, 2]))cel", 26, 26, 26},
    {R"cel(!sets.equivalent([1, 2], [2u, 2, 2.0]))cel", 34, 34, 34},
    {R"cel(!sets.equivalent([1, 2], [1u, 2, 2.3]))cel", 34, 34, 34},
    {R"cel(sets.intersects([1], [1]))cel", 22, 22, 22},
    {R"cel(sets.intersects([1], [1, 1]))cel", 23, 23, 23},
    {R"cel(sets.intersects([1, 1], [1]))cel", 23, 23, 23},
    {R"cel(sets.intersects([2, 1], [1]))cel", 23, 23, 23},
    {R"cel(sets.intersects([1], [1, 2]))cel", 23, 23, 23},
    {R"cel(sets.intersects([1], [1.0, 2]))cel", 23, 23, 23},
    {R"cel(sets.intersects([1, 2], [2u, 2, 2.0]))cel", 27, 27, 27},
    {R"cel(sets.intersects([1, 2], [1u, 2, 2.3]))cel", 27, 27, 27},
    {R"cel(sets.intersects([[1], [2, 3]], [[1, 2], [2, 3.0]]))cel", 65, 65, 65},
    {R"cel(!sets.intersects([], []))cel", 22, 22, 22},
    {R"cel(!sets.intersects([1], []))cel", 22, 22, 22},
    {R"cel(!sets.intersects([1], [2]))cel", 23, 23, 23},
    {R"cel(!sets.intersects([1], ["1", 2]))cel", 24, 24, 24},
    {R"cel(!sets.intersects([1], [1.1, 2u]))cel", 24, 24, 24},
    {R"cel(semver("1.0.0"))cel", 1, 1, 1},
    {R"cel(semver("1234.56789012345.67890123456789"))cel", 4, 4, 4},
    {R"cel(isSemver("1.0.0"))cel", 1, 1, 1},
    {R"cel(isSemver("1234.56789012345.67890123456789"))cel", 4, 4, 4},
    {R"cel(semver("1.2.3").major())cel", 2, 2, 2},
    {R"cel(semver("1.2.3").minor())cel", 2, 2, 2},
    {R"cel(semver("1.2.3").patch())cel", 2, 2, 2},
    {R"cel(semver("1.0.0").isLessThan(semver("1.1.0")))cel", 3, 3, 3},
    {R"cel(semver("1.1.0").isGreaterThan(semver("1.0.0")))cel", 3, 3, 3},
    {R"cel(semver("1.0.0").compareTo(semver("1.2.3")))cel", 3, 3, 3},
    {R"cel({'a': 1, 'b': 2}.all(k, v, v > 0))cel", 37, 41, 41},
    {R"cel({'a': 1, 'b': 2}.exists(k, v, v > 0))cel", 39, 43, 40},
    {R"cel({'a': 1, 'b': 2}.existsOne(k, v, v > 0))cel", 38, 40, 40},
    {R"cel({'a': 1, 'b': 2}.transformMap(k, v, v + 1))cel", 71, 71, 71},
    {R"cel({'a': 1, 'b': 2}.transformMap(k, v, v < 5, v + 1))cel", 67, 75, 75},
    {R"cel({'a': 1, 'b': 2}.transformMapEntry(k, v, {k: v + 1}))cel", 131, 131, 131},
    {R"cel({'a': 1, 'b': 2}.transformMapEntry(k, v, v < 5, {k: v + 1}))cel", 67, 135, 135},
    {R"cel([1, 2].all(i, v, v > 0))cel", 17, 21, 21},
    {R"cel([1, 2].exists(i, v, v > 0))cel", 19, 23, 20},
    {R"cel([1, 2].existsOne(i, v, v > 0))cel", 18, 20, 20},
    {R"cel([1, 2].transformList(i, v, v + 1))cel", 49, 49, 49},
    {R"cel([1, 2].transformList(i, v, v < 5, v + 1))cel", 27, 53, 53},
    {R"cel([1, 2, 3, 4, 5].sum())cel", 15, 15, 15},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].sum())cel", 20, 20, 20},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].sum())cel", 15, 15, 15},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].sum())cel",
     20, 20, 20},
    {R"cel([1, 2, 3, 4, 5].isSorted())cel", 15, 15, 15},
    {R"cel([1, 2, 3, 4, 5].max())cel", 15, 15, 15},
    {R"cel([1, 2, 3, 4, 5].min())cel", 15, 15, 15},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].isSorted())cel", 20, 20, 20},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].max())cel", 20, 20, 20},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].min())cel", 20, 20, 20},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].isSorted())cel", 15, 15, 15},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].max())cel", 15, 15, 15},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].min())cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].isSorted())cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].max())cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].min())cel", 15, 15, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].isSorted())cel",
     15, 25, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].max())cel",
     15, 25, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].min())cel",
     15, 25, 15},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].isSorted())cel",
     25, 35, 25},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].max())cel",
     25, 35, 25},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].min())cel",
     25, 35, 25},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].isSorted())cel",
     20, 20, 20},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].max())cel",
     20, 20, 20},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].min())cel",
     20, 20, 20},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].isSorted())cel",
     20, 20, 20},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].max())cel",
     20, 20, 20},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].min())cel",
     20, 20, 20},
    {R"cel(url('https:://kubernetes.io/').getScheme())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/').getHostname())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/').getHost())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/').getPort())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/').getEscapedPath())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/').getQuery())cel", 4, 4, 4},
    {R"cel(url('https:://kubernetes.io/') == url('https:://kubernetes.io/'))cel", 7, 9, 7},
    {R"cel(url('https:://kubernetes.io/') == url('http://x.b'))cel", 5, 5, 5},
    {R"cel([1, 2, 3, 4, 5].indexOf(3))cel", 15, 15, 15},
    {R"cel([1, 2, 3, 4, 5].lastIndexOf(3))cel", 15, 15, 15},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].indexOf(uint(3)))cel", 21, 21, 21},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].lastIndexOf(uint(3)))cel", 21, 21, 21},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].indexOf(3.0))cel", 15, 15, 15},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].lastIndexOf(3.0))cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].indexOf(true))cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].lastIndexOf(true))cel", 15, 15, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].indexOf('x'))cel",
     15, 25, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].lastIndexOf('x'))cel",
     15, 25, 15},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].indexOf(bytes('x')))cel",
     26, 36, 26},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].lastIndexOf(bytes('x')))cel",
     26, 36, 26},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].indexOf(duration('3s')))cel",
     21, 21, 21},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].lastIndexOf(duration('3s')))cel",
     21, 21, 21},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].indexOf(timestamp('2011-01-03T00:00:00.000+01:00')))cel",
     21, 21, 21},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].lastIndexOf(timestamp('2011-01-03T00:00:00.000+01:00')))cel",
     21, 21, 21},
    {R"cel('01234567890123456789012345678901234567890123456789'.indexOf('123'))cel", 5, 5, 5},
    {R"cel('01234567890123456789012345678901234567890123456789'.lastIndexOf('123'))cel", 5, 5, 5},
    {R"cel([1, 2, 3, 4, 5].includes(3))cel", 15, 15, 15},
    {R"cel([uint(1), uint(2), uint(3), uint(4), uint(5)].includes(uint(3)))cel", 21, 21, 21},
    {R"cel([1.0, 2.0, 3.0, 4.0, 5.0].includes(3.0))cel", 15, 15, 15},
    {R"cel([false, true, false, true, false].includes(true))cel", 15, 15, 15},
    {R"cel(['012345678901', '012345678901', '012345678901', '012345678901', '012345678901'].includes('x'))cel",
     15, 25, 15},
    {R"cel([bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901'), bytes('012345678901')].includes(bytes('x')))cel",
     26, 36, 26},
    {R"cel([duration('1s'), duration('2s'), duration('3s'), duration('4s'), duration('5s')].includes(duration('3s')))cel",
     21, 21, 21},
    {R"cel([timestamp('2011-01-01T00:00:00.000+01:00'), timestamp('2011-01-02T00:00:00.000+01:00'), timestamp('2011-01-03T00:00:00.000+01:00'), timestamp('2011-01-04T00:00:00.000+01:00'), timestamp('2011-01-05T00:00:00.000+01:00')].includes(timestamp('2011-01-03T00:00:00.000+01:00')))cel",
     21, 21, 21},
    {R"cel('01234567890123456789012345678901234567890123456789'.includes('123'))cel", 50, 50, 5},
};

// Those tests of Kubernetes do not fold constants, and take each text for one of at most 12 code
// points.
class UnfoldedCosts : public KubernetesCostModel {
 public:
  bool foldsConstants() const override { return false; }
  std::optional<SizeEstimate> estimateSize(const CostNode& node) const override {
    const TypeKind kind = node.type.kind();
    if (kind != TypeKind::String && kind != TypeKind::Bytes) return std::nullopt;
    return SizeEstimate{0, 12};
  }
};

class AllowAll : public Authorizer {
 public:
  AuthorizationDecision authorize(const AuthorizationRequest&) const override {
    return {true, "", ""};
  }
};

TEST(KubernetesCosts, AreThoseOfApiserver) {
  const UnfoldedCosts costs;
  const AllowAll allowAll;
  EnvironmentOptions options;
  options.libraries = kubernetesLibraries();
  options.libraries.push_back(&jsonPatchLibrary());
  options.costModel = &costs;
  options.variables = {{"authorizer", authorizerType()}};
  const Environment environment = Environment::create(std::move(options)).value();
  Activation activation(environment);
  activation.set("authorizer", authorizerValue(allowAll));
  for (const CostCase& each : kCostCases) {
    SCOPED_TRACE(each.expression);
    const auto program = environment.compile(each.expression);
    if (!program) {
      ADD_FAILURE() << program.error().message;
      continue;
    }
    EXPECT_EQ(program->estimateCost().min, each.min) << "estimated minimum";
    EXPECT_EQ(program->estimateCost().max, each.max) << "estimated maximum";
    std::uint64_t cost = 0;
    const auto value = program->evaluate(activation, {}, &cost);
    if (!value) ADD_FAILURE() << value.error().message;
    EXPECT_EQ(cost, each.actual) << "actual";
  }
}

}  // namespace
}  // namespace koord::cel
