#include "apiserver/authz/role_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace koord::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RoleUseTest : public ::testing::Test {
 protected:
  void note(std::string_view verb, std::string_view group, std::string_view resource,
            std::string_view subresource = "", std::string_view path = "") {
    const User user;
    use_.note({.user = user,
               .verb = verb,
               .path = path,
               .group = group,
               .resource = resource,
               .subresource = subresource,
               .namespace_ = "a",
               .name = "b",
               .selectedNode = {}});
  }
  RoleUse use_;
};

TEST_F(RoleUseTest, VerbsThatNobodyAskedForAreTold) {
  note("get", "", "pods");
  note("patch", "", "pods", "status");
  EXPECT_THAT(use_.unused({{{"get", "patch"}, {""}, {"pods"}, {}, {}}}), ElementsAre("patch pods"));
  EXPECT_THAT(use_.unused({{{"patch"}, {"", "x.io"}, {"pods/status"}, {}, {}}}),
              ElementsAre("patch pods/status x.io"));
}

TEST_F(RoleUseTest, AWildcardIsUsedWhenAnythingBelowItWas) {
  note("get", "apps", "deployments", "scale");
  note("post", "", "", "", "/apis/v1/whatif/migration");
  EXPECT_THAT(use_.unused({{{"get"}, {"*"}, {"*/scale"}, {}, {}}}), IsEmpty());
  EXPECT_THAT(use_.unused({{{"get"}, {"batch"}, {"*"}, {}, {}}}), ElementsAre("get * batch"));
  EXPECT_THAT(use_.unused({{{"post", "get"}, {}, {}, {}, {"/apis/v1/whatif/*"}}}),
              ElementsAre("get /apis/v1/whatif/*"));
}

TEST_F(RoleUseTest, WhoWatchesMayListAndNamesDoNotMatter) {
  note("watch", "", "secrets");
  EXPECT_THAT(use_.unused({{{"list", "watch"}, {""}, {"secrets"}, {"other"}, {}}}), IsEmpty());
}

}  // namespace
}  // namespace koord::apiserver
