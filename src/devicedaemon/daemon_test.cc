#include "devicedaemon/daemon.h"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>

#include "devicedaemon/testing/fake_accelerators.h"
#include "devicedaemon/testing/recorded_tools.h"
#include "devicedaemon/vendors/cambricon.h"
#include "koordlet/states/xpu_files.h"
#include "koordlet/testing/temp_tree.h"

namespace koord::devicedaemon {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string kunlunLine(int number, const char* name = "R300") {
  return fmt::format("0000:0{}:00.0 {} 0 SN 36 0 0 0 86 1 1 1 1 1 1 2 96 0 32768 0 v {} 0 0\n",
                     number + 1, number, name);
}

// A node with two Kunlun devices.
class DeviceDaemon : public testing::Test {
 protected:
  DeviceDaemon() {
    machine_.runner = &tools_;
    machine_.sysRoot = tree_.path("sys/");
    machine_.devRoot = tree_.path("dev/");
    machine_.cndev = machine_.dcmi = {"/there/is/none.so"};
    settings_.output = tree_.path("out/ic-device");
    addPci("0000:01:00.0", "0x1d22");
    addPci("0000:02:00.0", "0x1d22");
    tools_.outputs["xpu_smi -m"] = kunlunLine(0) + kunlunLine(1);
  }

  void addPci(const std::string& busId, const char* vendor, const char* kind = "0x120000") {
    const std::string device = "sys/devices/pci0000:00/" + busId;
    tree_.write(device + "/vendor", std::string(vendor) + "\n");
    tree_.write(device + "/device", "0xd802\n");
    tree_.write(device + "/class", std::string(kind) + "\n");
    tree_.write(device + "/numa_node", "1\n");
    tree_.makeDir("sys/bus/pci/devices");
    std::filesystem::create_directory_symlink("../../../devices/pci0000:00/" + busId,
                                              tree_.path("sys/bus/pci/devices/" + busId));
  }
  Daemon& daemon() {
    if (!daemon_) daemon_.emplace(machine_, settings_);
    return *daemon_;
  }
  Daemon::Outcome round(Duration after = 15min) {
    now_ += after;
    return daemon().round(now_);
  }
  std::vector<Found> written() const {
    return foundIn(tree_.read("out/ic-device")).value_or(std::vector<Found>());
  }

  koordlet::TempTree tree_;
  RecordedTools tools_;
  Machine machine_;
  Settings settings_;
  std::optional<Daemon> daemon_;
  SteadyTime now_{1h};
};

TEST_F(DeviceDaemon, WritesWhatUpstreamsDaemonWrites) {
  const auto outcome = round();
  EXPECT_TRUE(outcome.whole);
  EXPECT_EQ(outcome.pause, 900s);
  const auto text = tree_.read("out/ic-device");
  EXPECT_EQ(parseJson(text)->at(0), *parseJson(R"({
    "vendor": "kunlun", "model": "R300", "uuid": "xpu-0", "minor": "0",
    "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "32768Mi"},
    "topology": {"socketID": "-1", "nodeID": "1", "pcieID": "pci0000:00", "busID": "0000:01:00.0"},
    "status": {"healthy": true}})"));
  EXPECT_THAT(text, HasSubstr("\n  {\n"));  // indented, as upstream's is
}

TEST_F(DeviceDaemon, KoordletReadsWhatIsWritten) {
  round();
  const auto inventory = koordlet::readXpus(tree_.path("out"), WallTime{});
  EXPECT_THAT(inventory.problems, IsEmpty());
  ASSERT_THAT(inventory.devices, SizeIs(2));
  const auto& device = inventory.devices[1];
  EXPECT_EQ(device.id, "xpu-1");
  EXPECT_EQ(device.minor, 1);
  EXPECT_TRUE(device.health);
  EXPECT_EQ(device.topology->nodeID, 1);
  EXPECT_EQ(device.topology->busID, "0000:02:00.0");
  EXPECT_EQ(inventory.labels.at("node.koordinator.sh/gpu-vendor"), "kunlun");
  EXPECT_EQ(inventory.labels.at("node.koordinator.sh/gpu-model"), "R300");
}

TEST_F(DeviceDaemon, AMachineWithoutAcceleratorsHasAnEmptyList) {
  std::filesystem::remove_all(tree_.path("sys/bus/pci/devices"));
  EXPECT_TRUE(round().whole);
  EXPECT_EQ(tree_.read("out/ic-device"), "[]");
  EXPECT_THAT(tools_.asked, IsEmpty());
}

TEST_F(DeviceDaemon, ADriverThatIsNotInstalledIsNoFailure) {
  tools_.outputs.clear();
  EXPECT_TRUE(round().whole);
  EXPECT_THAT(written(), IsEmpty());
}

TEST_F(DeviceDaemon, ADriverThatIsLoadedAnewCostsNothingAndOneThatStaysAwayMakesItsDevicesIll) {
  round();
  tools_.failures["xpu_smi -m"] = {ErrorCode::Timeout, "xpu_smi -m: still running after 10 s", {}};
  const auto outcome = round();
  EXPECT_FALSE(outcome.whole);
  EXPECT_EQ(outcome.pause, 10s);
  ASSERT_THAT(written(), SizeIs(2));
  EXPECT_TRUE(written()[0].isHealthy());
  round(61s);
  EXPECT_EQ(written()[0].faultCode, "DriverUnavailable");
  EXPECT_EQ(written()[0].fault, "xpu_smi -m: still running after 10 s");
  tools_.failures.clear();
  round(10s);
  EXPECT_TRUE(written()[0].isHealthy());
}

TEST_F(DeviceDaemon, ADeviceThatIsNotToldOfAnyMoreStaysAndIsIll) {
  round();
  tools_.outputs["xpu_smi -m"] = kunlunLine(1);
  EXPECT_TRUE(round().whole);
  ASSERT_THAT(written(), SizeIs(2));
  EXPECT_EQ(written()[0].faultCode, "DeviceLost");
  EXPECT_TRUE(written()[1].isHealthy());
}

TEST_F(DeviceDaemon, ALostDeviceGivesItsMinorToTheOneThatReplacesIt) {
  addPci("0000:03:00.0", "0xcabc");
  FakeAccelerators cards;
  machine_.cndev = {cards.path()};
  cards.add("MLU-old");
  round();
  ASSERT_THAT(written(), SizeIs(3));
  cards.state().count = 0;
  cards.add("MLU-new");
  round();
  std::vector<std::string> uuids;
  for (const auto& device : written()) uuids.push_back(device.uuid);
  EXPECT_THAT(uuids, ElementsAre("MLU-new", "xpu-0", "xpu-1"));
  EXPECT_TRUE(written()[0].isHealthy());
}

TEST_F(DeviceDaemon, ARoundThatIsCancelledLeavesTheFile) {
  round();
  const std::string before = tree_.read("out/ic-device");
  tools_.isStopping = true;
  tools_.outputs["xpu_smi -m"] = kunlunLine(1);
  EXPECT_FALSE(round().whole);
  EXPECT_EQ(tree_.read("out/ic-device"), before);
}

TEST_F(DeviceDaemon, ARoundThatIsCancelledReportsNoFailureAndAsksNoFurtherVendor) {
  addPci("0000:03:00.0", "0x9999");
  tools_.isStopping = true;
  tools_.failures["xpu_smi -m"] = {ErrorCode::Cancelled, "xpu_smi -m: the program is ending", {}};
  testing::internal::CaptureStderr();
  round();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(tools_.asked, ElementsAre("xpu_smi -m"));
}

TEST_F(DeviceDaemon, TextsOfToolsThatAreNoUtf8DoNotSpoilTheFile) {
  round();
  // Cut in the middle of a character, as a limit on the length of a text cuts it.
  tools_.failures["xpu_smi -m"] = {ErrorCode::Internal, "driver: \xe9\xa9\xb1\xe5\x8a", {}};
  round();
  round(61s);
  ASSERT_THAT(written(), SizeIs(2));
  EXPECT_EQ(written()[0].fault, "driver: \u9a71\ufffd\ufffd");
  EXPECT_THAT(koordlet::readXpus(tree_.path("out"), WallTime{}).problems, IsEmpty());
}

TEST_F(DeviceDaemon, OddOutputChangesNothingAndIsRefused) {
  round();
  const std::string before = tree_.read("out/ic-device");
  const std::string odd[] = {kunlunLine(0) + kunlunLine(0), kunlunLine(0, "a/b"),
                             "Segmentation fault\n", kunlunLine(0, "\"\"")};
  for (const auto& output : odd) {
    tools_.outputs["xpu_smi -m"] = output;
    EXPECT_FALSE(round(1s).whole) << output;
    EXPECT_EQ(tree_.read("out/ic-device"), before) << output;
  }
}

TEST_F(DeviceDaemon, AVendorThatFailsCostsNothingOfAnother) {
  addPci("0000:03:00.0", "0x9999");
  tools_.failures["mx-smi --list"] = {ErrorCode::Internal, "mx-smi --list: status 1", {}};
  EXPECT_FALSE(round().whole);
  EXPECT_THAT(written(), SizeIs(2));
}

TEST_F(DeviceDaemon, TheFileGoesWithTheDaemonUnlessItWasAskedForOnce) {
  round();
  EXPECT_TRUE(std::filesystem::exists(tree_.path("out/ic-device-tmp")));
  daemon().end();
  EXPECT_FALSE(std::filesystem::exists(tree_.path("out/ic-device")));
  EXPECT_FALSE(std::filesystem::exists(tree_.path("out/ic-device-tmp")));
  settings_.oneshot = true;
  Daemon once(machine_, settings_);
  once.round(now_);
  once.end();
  EXPECT_THAT(written(), SizeIs(2));
}

TEST_F(DeviceDaemon, AnotherFileTakesThePlaceOfTheOldOne) {
  round();
  Settings other = settings_;
  other.output = tree_.path("other/file");
  daemon().change(other);
  round();
  EXPECT_FALSE(std::filesystem::exists(tree_.path("out/ic-device")));
  EXPECT_TRUE(std::filesystem::exists(tree_.path("other/file")));
}

TEST_F(DeviceDaemon, AFileThatCannotBeWrittenIsTriedAgainSoon) {
  settings_.output = tree_.path("sys/bus/pci/devices/0000:01:00.0/vendor/ic-device");
  EXPECT_EQ(round().pause, 10s);
}

TEST_F(DeviceDaemon, AHalfWrittenFileOfAKilledDaemonIsNobodysDevices) {
  tree_.write("out/ic-device-tmp/ic-device.tmp77", "[{\"vendor\":");
  tree_.write("out/ic-device-tmp/ic-device", "[{\"vendor\":");
  round();
  EXPECT_THAT(written(), SizeIs(2));
  EXPECT_THAT(koordlet::readXpus(tree_.path("out"), WallTime{}).problems, IsEmpty());
}

TEST(DeviceSettings, FlagsOfTheFileAndTheEnvironment) {
  Settings settings;
  ASSERT_TRUE(
      applyFile("version: v1\nflags:\n  kdd:\n    oneshot: true\n    sleepInterval: 30s\n"
                "    printsOutputFile: /a\n",
                settings));
  EXPECT_TRUE(settings.oneshot);
  EXPECT_EQ(settings.interval, 30s);
  EXPECT_EQ(settings.output, "/a");
  const auto environment = [](const char* name) -> const char* {
    const std::string_view text = name;
    if (text == "KDD_SLEEP_INTERVAL") return "1m30s";
    if (text == "PRINTS_OUTPUT_FILE") return "/b";
    if (text == "KDD_ONESHOT") return "F";
    if (text == "CONFIG_FILE") return "/c";
    return nullptr;
  };
  ASSERT_TRUE(applyEnvironment(environment, settings));
  EXPECT_FALSE(settings.oneshot);
  EXPECT_EQ(settings.interval, 90s);
  EXPECT_EQ(settings.output, "/b");
  EXPECT_EQ(fileNamedBy(environment), "/c");
}

TEST(DeviceSettings, WhatCannotBeMeantIsRefusedWithItsField) {
  const struct {
    const char* text;
    const char* why;
  } rows[] = {
      {"version: v2", "unknown version: v2"},
      {"flags: {kdd: {oneshot: 3}}", "flags.kdd.oneshot"},
      {"flags: {kdd: {sleepInterval: 900}}", "flags.kdd.sleepInterval"},
      {"flags: {kdd: {sleepInterval: soon}}", "flags.kdd.sleepInterval"},
      {"flags: {kdd: {printsOutputFile: []}}", "flags.kdd.printsOutputFile"},
      {"{", "line 1"},
  };
  for (const auto& row : rows) {
    Settings settings;
    const auto taken = applyFile(row.text, settings);
    ASSERT_FALSE(taken) << row.text;
    EXPECT_THAT(taken.error().message, HasSubstr(row.why)) << row.text;
  }
  EXPECT_FALSE(checkSettings({.interval = 0s}));
}

TEST(DeviceMachine, AddressesAreWrittenAsTheKernelDoes) {
  const std::pair<const char*, const char*> rows[] = {{"00000000:C1:00.0", "0000:c1:00.0"},
                                                      {"0000:03:00.0", "0000:03:00.0"},
                                                      {"10000:e1:1f.7", "10000:e1:1f.7"},
                                                      {"NA", ""},
                                                      {"", ""},
                                                      {"0000:03:00", ""},
                                                      {"0000:103:00.0", ""},
                                                      {"x:03:00.0", ""}};
  for (const auto& [text, address] : rows) EXPECT_EQ(pciAddress(text), address) << text;
}

// The runner's contract, with processes of this host.
TEST(HostRunners, ToolsSayWhatTheyPrintOrWhyNot) {
  HostRunner runner("", 5s);
  EXPECT_EQ(runner.run({"sh", "-c", "echo out; echo err >&2"}).value_or(""), "out\nerr\n");
  const auto absent = runner.run({"no-such-tool-anywhere"});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  const auto failing = runner.run({"sh", "-c", "echo no driver; exit 3"});
  ASSERT_FALSE(failing);
  EXPECT_THAT(failing.error().message, AllOf(HasSubstr("status 3"), HasSubstr("no driver")));
  const auto talking = runner.run({"sh", "-c", "yes"});
  ASSERT_FALSE(talking);
  EXPECT_THAT(talking.error().message, HasSubstr("more than a megabyte"));
}

TEST(HostRunners, ToolsAreThoseOfTheHostsRoot) {
  const auto here = HostRunner("/", 5s).run({"sh", "-c", "pwd -P"});
  if (::geteuid() == 0) {
    EXPECT_EQ(here.value_or(""), "/\n");
  } else {
    EXPECT_EQ(here.error().code, ErrorCode::Forbidden);
  }
  koordlet::TempTree empty;
  EXPECT_FALSE(HostRunner(empty.path(), 5s).run({"sh", "-c", "echo"}));
}

TEST(HostRunners, AToolThatHangsIsKilledWithWhatItStarted) {
  HostRunner runner("", 200ms);
  for (const char* script : {"sleep 600 & sleep 600", "exec >&- 2>&-; sleep 600 & sleep 600"}) {
    const auto hanging = runner.run({"sh", "-c", script});
    ASSERT_FALSE(hanging) << script;
    EXPECT_EQ(hanging.error().code, ErrorCode::Timeout) << script;
  }
}

TEST(HostRunners, AProgramThatEndsWaitsForNoTool) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  HostRunner runner("", 600s, ends[0]);
  EXPECT_TRUE(runner.run({"sh", "-c", "echo well"}));
  EXPECT_FALSE(runner.stopping());
  // The tool itself says when it runs: no time is taken for it.
  const std::string script = fmt::format("echo > /proc/self/fd/{}; sleep 600", ends[1]);
  const auto running = runner.run({"sh", "-c", script});
  ASSERT_FALSE(running);
  EXPECT_EQ(running.error().code, ErrorCode::Cancelled);
  EXPECT_EQ(runner.run({"sh", "-c", "echo well"}).error().code, ErrorCode::Cancelled);
  EXPECT_TRUE(runner.stopping());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(HostRunners, ALibraryThatCrashesOrHangsCostsItsProcessAlone) {
  FakeAccelerators fake;
  fake.add("MLU-0");
  HostRunner runner("", 5s);
  Machine machine;
  machine.runner = &runner;
  machine.cndev = {fake.path()};
  const auto isHealthy = readCambricon(machine);
  ASSERT_TRUE(isHealthy) << isHealthy.error().message;
  EXPECT_EQ(isHealthy->devices[0].uuid, "MLU-0");
  EXPECT_EQ(fake.state().calls, 0) << "it ran elsewhere";
  fake.state().crashes = true;
  EXPECT_THAT(readCambricon(machine).error().message, HasSubstr("libcndev.so: ended by signal 6"));
  fake.state().crashes = false;
  fake.state().hangs = true;
  HostRunner hasty("", 200ms);
  machine.runner = &hasty;
  EXPECT_THAT(readCambricon(machine).error().message,
              HasSubstr("libcndev.so: still running after 0.2 s"));
}

TEST(HostRunners, AnErrorOfALibraryIsItsError) {
  HostRunner runner("", 5s);
  const auto answer = [&](ErrorCode code) {
    return runner.runIsolated("x", [code]() -> Result<std::string> { return fail(code, "why"); })
        .error();
  };
  EXPECT_EQ(answer(ErrorCode::NotFound).code, ErrorCode::NotFound);
  EXPECT_EQ(answer(ErrorCode::Invalid).message, "why");
}

}  // namespace
}  // namespace koord::devicedaemon
