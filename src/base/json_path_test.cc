#include "base/json_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace koord {
namespace {

// The values as JSON, one after the other; "invalid" for a path that is none.
std::string selected(const char* path) {
  static const json::value document = *parseJson(R"({
      "spec":{"ports":[{"name":"http","port":80},{"name":"dns","port":53}],"a.b":1,"none":null,"odd":["a==b","it's)]"],
              "a]b":{"c":2},"it's]":3,"texts":["10","true",true,null]},
      "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Idle","status":"False"},{"status":"x"}]}})");
  const auto values = jsonPath(document, path);
  if (!values) return "invalid";
  std::string text;
  for (const auto* value : *values) text += (text.empty() ? "" : " ") + toJson(*value);
  return text;
}

TEST(JsonPath, SelectsMembersAndElements) {
  EXPECT_EQ(selected(".spec.ports[0].name"), R"("http")");
  EXPECT_EQ(selected("{.spec.ports[1].port}"), "53");
  EXPECT_EQ(selected("$.spec.ports[-1].port"), "53");
  EXPECT_EQ(selected("spec.ports[0].port"), "80");
  EXPECT_EQ(selected(".spec.ports[*].name"), R"("http" "dns")");
  EXPECT_EQ(selected(".spec.ports.*.port"), "80 53");
  EXPECT_EQ(selected(R"(.spec.a\.b)"), "1");
  EXPECT_EQ(selected(".spec['a.b']"), "1");
  EXPECT_EQ(selected(".spec.none"), "null");
}

TEST(JsonPath, SelectsSlices) {
  EXPECT_EQ(selected(".spec.ports[-1:].name"), R"("dns")");
  EXPECT_EQ(selected(".spec.ports[0:1].name"), R"("http")");
  EXPECT_EQ(selected(".spec.ports[:].port"), "80 53");
  EXPECT_EQ(selected(".spec.ports[5:].port"), "");
  EXPECT_EQ(selected(".spec.ports[-9:-1].port"), "80");
  EXPECT_EQ(selected(".spec.ports[1:x]"), "invalid");
}

TEST(JsonPath, FiltersByOneComparison) {
  EXPECT_EQ(selected(R"(.status.conditions[?(@.type=="Ready")].status)"), R"("True")");
  EXPECT_EQ(selected(R"(.status.conditions[?(@.type == 'Idle')].status)"), R"("False")");
  EXPECT_EQ(selected(R"(.status.conditions[?(@.type!="Ready")].status)"), R"("False")");
  EXPECT_EQ(selected(".status.conditions[?(@.type)].status"), R"("True" "False")");
  EXPECT_EQ(selected(".spec.ports[?(@.port==53)].name"), R"("dns")");
}

TEST(JsonPath, FiltersByTheOrderOfNumbersAndStrings) {
  EXPECT_EQ(selected(".spec.ports[?(@.port>53)].name"), R"("http")");
  EXPECT_EQ(selected(".spec.ports[?(@.port >= 53)].port"), "80 53");
  EXPECT_EQ(selected(".spec.ports[?(@.port<53.5)].port"), "53");
  EXPECT_EQ(selected(".spec.ports[?(@.port<=9)].port"), "");
  EXPECT_EQ(selected(".spec.ports[?(@.name<'e')].port"), "53");
  EXPECT_EQ(selected(".spec.ports[?(@.port<x)].port"), "") << "a number has no order with a name";
}

TEST(JsonPath, ALiteralInQuotesIsAStringAndOneWithoutIsANumber) {
  EXPECT_EQ(selected(".spec.ports[?(@.port=='53')].name"), "");
  EXPECT_EQ(selected(".spec.ports[?(@.port!='53')].port"), "80 53");
  EXPECT_EQ(selected(".spec.ports[?(@.port<'9')].port"), "");
  EXPECT_EQ(selected(".spec.ports[?(@.port==53.0)].port"), "53");
  EXPECT_EQ(selected(".spec.texts[?(@=='10')]"), R"("10")");
  EXPECT_EQ(selected(".spec.texts[?(@==10)]"), "");
  EXPECT_EQ(selected(".spec.texts[?(@>9)]"), "");
  EXPECT_EQ(selected(".spec.texts[?(@>'0')]"), R"("10" "true")");
  EXPECT_EQ(selected(".spec.texts[?(@==true)]"), "true");
  EXPECT_EQ(selected(".spec.texts[?(@=='true')]"), R"("true")");
  EXPECT_EQ(selected(".spec.texts[?(@==null)]"), "null");
  EXPECT_EQ(selected(".status.conditions[?(@.type==Ready)].type"), R"("Ready")");
}

TEST(JsonPath, NamesInQuotesMayHaveBrackets) {
  EXPECT_EQ(selected(".spec['a]b'].c"), "2");
  EXPECT_EQ(selected(R"(.spec["a]b"]['c'])"), "2");
  EXPECT_EQ(selected(R"(.spec['it\'s]'])"), "3");
  EXPECT_EQ(selected(".spec['a]b"), "invalid");
}

TEST(JsonPath, LiteralsInFiltersMayHaveSignsAndBrackets) {
  EXPECT_EQ(selected(R"(.status.conditions[?(@.type!="a==b")].type)"), R"("Ready" "Idle")");
  EXPECT_EQ(selected(R"(.status.conditions[?(@.type!='a)]b')].type)"), R"("Ready" "Idle")");
  EXPECT_EQ(selected(R"(.spec.odd[?(@=="a==b")])"), R"("a==b")");
  EXPECT_EQ(selected(R"(.spec.odd[?(@=='it\'s)]')])"), R"("it's)]")");
}

TEST(JsonPath, AFilterOfAnythingElseIsAnError) {
  for (const char* filter : {"", " ", "@.a[0].b==1", "@.a==1 && @.b==2", R"(@.a=="x" && @.b=="y")",
                             "@.a==@.b", "@.a===1", "@.a=!1", "@.a==", "==1", "@.a=='x", "@.*==1",
                             "@..a", "@.a.", "a==1", "@a==1", "!@.a"})
    EXPECT_EQ(selected(fmt::format(".spec.ports[?({})]", filter).c_str()), "invalid") << filter;
}

TEST(JsonPath, WhatLeadsNowhereSelectsNothing) {
  for (const char* path : {".spec.gone", ".spec.gone.deeper", ".spec.ports[2]", ".spec.ports[-3]",
                           ".spec.ports.name", ".spec[0]", ".spec.none.deeper"})
    EXPECT_EQ(selected(path), "") << path;
}

TEST(JsonPath, WhatIsNoPathIsAnError) {
  for (const char* path : {".spec.ports[0", ".spec.ports[x]", ".spec.ports[]", ".spec.ports[0x]",
                           ".status.conditions[?(@.type==1]", ".spec..ports",
                           ".spec.ports[99999999999999999999]", ".gone[x]", ".spec['a','b']"})
    EXPECT_EQ(selected(path), "invalid") << path;
}

}  // namespace
}  // namespace koord
