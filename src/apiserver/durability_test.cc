// Acknowledged writes survive: a server that is killed during writes, and its messages about a
// damaged or occupied database.

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "apiserver/testing.h"
#include "base/event_loop.h"

namespace koord::apiserver::testing {
namespace {

using ::testing::HasSubstr;

class DurabilityTest : public ServerTest {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "durability-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    options.database = folder / "state.db";
    options.inlineCommits = true;
  }
  void TearDown() override {
    logs.clear();
    server.reset();
    std::filesystem::remove_all(folder);
  }
  void reopen() {
    server.reset();
    openServer();
  }

  std::filesystem::path folder;
};

// Executes SQL on a database that no server uses. Returns the first column of the last row.
std::string runSql(const std::filesystem::path& path, const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  std::string last;
  const auto note = [](void* to, int, char** values, char**) {
    *static_cast<std::string*>(to) = values[0] ? values[0] : "";
    return 0;
  };
  char* problem = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), note, &last, &problem), SQLITE_OK)
      << (problem ? problem : "");
  sqlite3_free(problem);
  sqlite3_close(db);
  return last;
}

std::string podJson(const std::string& name) {
  return R"({"metadata":{"name":")" + name +
         R"("},"spec":{"containers":[{"name":"c","image":"i"}]}})";
}

kube::Request podRequest(kube::Verb verb, const std::string& name) {
  kube::Request request;
  request.verb = verb;
  request.version = "v1";
  request.resource = "pods";
  request.namespace_ = "default";
  if (verb != kube::Verb::Create) request.name = name;
  if (verb == kube::Verb::Create) request.body = podJson(name);
  if (verb == kube::Verb::Patch) request.body = R"({"metadata":{"labels":{"patched":"yes"}}})";
  return request;
}

// Creates and patches pods one after the other, reporting each acknowledged write as a line.
Task<void> writeForever(Server* server, int writer, int pipe) {
  for (int i = 0;; ++i) {
    const std::string name = "w" + std::to_string(writer) + "-" + std::to_string(i);
    for (const auto verb : {kube::Verb::Create, kube::Verb::Patch}) {
      auto serving = server->serve(Call{podRequest(verb, name)});
      const auto reply = co_await serving;
      if (reply.error) _exit(3);
      const std::string line = (verb == kube::Verb::Create ? "+" : "p") + name + "\n";
      if (write(pipe, line.data(), line.size()) < 0) _exit(4);
    }
  }
}

[[noreturn]] void runChild(const std::string& database, int pipe) {
  EventLoop loop;
  std::unique_ptr<Server> server;
  TaskGroup tasks;
  loop.post([&] {
    ServerOptions options;
    options.database = database;
    auto opened = Server::open(loop, std::move(options));
    if (!opened) _exit(5);
    server = *std::move(opened);
    for (int writer = 0; writer < 8; ++writer)
      tasks.spawn(writeForever(server.get(), writer, pipe));
  });
  loop.run();
  _exit(6);
}

TEST_F(DurabilityTest, aKilledServerLosesNoAcknowledgedWrite) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[0]);
    runChild(options.database, ends[1]);
  }
  close(ends[1]);
  std::string acknowledged;
  char buffer[4096];
  while (acknowledged.size() < 5000) {
    const auto got = read(ends[0], buffer, sizeof buffer);
    ASSERT_GT(got, 0) << "the child ended early";
    acknowledged.append(buffer, static_cast<std::size_t>(got));
  }
  kill(child, SIGKILL);
  // The pipe may still have writes that were acknowledged before the server died.
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    acknowledged.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));

  openServer();
  std::istringstream lines(acknowledged);
  std::string line;
  int checked = 0;
  while (std::getline(lines, line) && !lines.eof()) {
    const auto entry = server->store().table("pods").find("default/" + line.substr(1));
    ASSERT_NE(entry, nullptr) << line;
    if (line[0] == 'p') {
      EXPECT_EQ(entry->labels.count("patched"), 1u) << line;
    }
    ++checked;
  }
  EXPECT_GT(checked, 300);
  // The server continues with versions above all acknowledged ones.
  std::uint64_t highest = 0;
  for (const auto& [key, entry] : server->store().table("pods").entries())
    highest = std::max(highest, entry->version);
  EXPECT_GE(server->store().version(), highest);
  EXPECT_EQ(post(kPods, pod("after")).status, 201);
}

TEST_F(DurabilityTest, everythingIsThereAfterARestart) {
  openServer();
  post(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      R"({"metadata":{"name":"gizmos.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gizmos","kind":"Gizmo"},
           "versions":[{"name":"v1","served":true,"storage":true}]}})");
  post("/apis/example.com/v1/namespaces/default/gizmos",
       R"({"metadata":{"name":"g","labels":{"a":"b"}}})");
  post(kPods, pod("web"));
  post(kPods, pod("gone"));
  remove(std::string(kPods) + "/gone");
  const auto before = get(std::string(kPods) + "/web").body;
  const auto version = server->store().version();
  reopen();
  EXPECT_EQ(server->store().version(), version);
  EXPECT_EQ(get(std::string(kPods) + "/web").body, before);
  EXPECT_EQ(get(std::string(kPods) + "/gone").status, 404);
  EXPECT_EQ(
      get("/apis/example.com/v1/gizmos?labelSelector=a=b").body.at("items").get_array().size(), 1u);
  // A watch from before the restart must list again; a watch from the current version continues.
  EXPECT_EQ(watch(std::string(kPods) + "?resourceVersion=3").lines.at(0), "ERROR ");
  auto& log = watch(std::string(kPods) + "?resourceVersion=" + std::to_string(version));
  post(kPods, pod("new"));
  EXPECT_THAT(log.lines, ::testing::ElementsAre("ADDED new"));
}

TEST_F(DurabilityTest, aDatabaseServesOneServer) {
  openServer();
  auto second = Server::open(loop, options);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("state.db: another server uses this database"));
}

TEST_F(DurabilityTest, aDamagedDatabaseIsNamed) {
  openServer();
  for (int i = 0; i < 200; ++i) post(kPods, pod("p" + std::to_string(i)));
  server.reset();
  {
    std::fstream file(options.database, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 3);
    const std::string rubbish(4096 * 4, '\x5a');
    file.write(rubbish.data(), static_cast<std::streamsize>(rubbish.size()));
  }
  auto damaged = Server::open(loop, options);
  ASSERT_FALSE(damaged);
  EXPECT_THAT(damaged.error().message, HasSubstr("state.db: the database is damaged"));
  std::ofstream(folder / "text.db") << std::string(5000, 'x');
  options.database = folder / "text.db";
  auto text = Server::open(loop, options);
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("text.db: the database is damaged"));
  options.database = folder / "none" / "state.db";
  auto missing = Server::open(loop, options);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("none/state.db: cannot be opened"));
}

TEST_F(DurabilityTest, aDatabaseThatIsGoneIsNotANewCluster) {
  openServer();
  for (int i = 0; i < 200; ++i) post(kPods, pod("p" + std::to_string(i)));
  server.reset();
  const std::string path = options.database;
  const auto whole = std::filesystem::file_size(path);
  const auto refused = [&] {
    auto opened = Server::open(loop, options);
    return opened ? std::string("opened") : opened.error().message;
  };
  // Truncated at any size, down to nothing.
  for (const auto size : {whole - 4096, whole / 2 / 4096 * 4096, std::uintmax_t{4096 + 100},
                          std::uintmax_t{4096}, std::uintmax_t{512}, std::uintmax_t{100}}) {
    std::filesystem::copy_file(path, path + ".whole",
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path, size);
    EXPECT_THAT(refused(), HasSubstr("state.db: the database is damaged")) << size;
    EXPECT_THAT(refused(), HasSubstr("restore it from a backup")) << size;
    std::filesystem::rename(path + ".whole", path);
  }
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(refused(), path +
                           ": the database is empty (0 bytes), so its contents are lost; restore "
                           "it from a backup, or move it and its -wal file away to begin with an "
                           "empty cluster");
  EXPECT_EQ(std::filesystem::file_size(path), 0u) << "nothing is changed by looking at it";
  // A log without its database file means a lost cluster.
  std::filesystem::rename(path, path + "-wal");
  std::ofstream(path + "-wal") << std::string(5000, 'x');
  EXPECT_THAT(refused(), HasSubstr("the database file is missing, but its log (-wal) exists"));
  // A new database.
  std::filesystem::remove(path + "-wal");
  openServer();
  EXPECT_EQ(post(kPods, pod("new")).status, 201);
}

TEST_F(DurabilityTest, aFirstStartThatWasCutShortIsBegunAgain) {
  std::ofstream(options.database + ".new") << "half";
  openServer();
  EXPECT_EQ(post(kPods, pod("new")).status, 201);
  EXPECT_FALSE(std::filesystem::exists(options.database + ".new"));
}

TEST_F(DurabilityTest, aUserAgentOfAnyBytesLeavesTheObjectReadable) {
  openServer();
  Answer answer;
  Call call{podRequest(kube::Verb::Create, "odd")};
  call.userAgent = "a\xff\x01\xc3\xa4/1";
  tasks.spawn(collect(server.get(), std::move(call), &answer));
  loop.runReady();
  EXPECT_EQ(answer.status, 201);
  reopen();
  const auto pod = get(std::string(kPods) + "/odd");
  ASSERT_EQ(pod.status, 200);
  EXPECT_EQ(textAt(pod.body.at("metadata").at("managedFields").get_array().at(0), "manager"),
            "a\xef\xbf\xbd\xc3\xa4");
}

TEST_F(DurabilityTest, ADatabaseInTheLayoutOfEarlierVersionsKeepsItsObjects) {
  openServer();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(post(kPods, pod("p" + std::to_string(i))).status, 201);
  const auto version = server->store().version();
  server.reset();
  const std::string layout = "SELECT sql FROM sqlite_master WHERE name='objects'";
  const std::string contents =
      "SELECT group_concat(line, char(10)) FROM (SELECT resource || key || version || object AS "
      "line "
      "FROM objects ORDER BY resource, key)";
  const auto newLayout = runSql(options.database, layout);
  const auto before = runSql(options.database, contents);
  runSql(
      options.database,
      "BEGIN; ALTER TABLE objects RENAME TO others; "
      "CREATE TABLE objects(resource TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, "
      "object TEXT NOT NULL, PRIMARY KEY(resource, key)) WITHOUT ROWID; "
      "INSERT INTO objects SELECT resource, key, version, object FROM others; "
      "DROP TABLE others; COMMIT");
  ASSERT_NE(runSql(options.database, layout), newLayout);

  openServer();
  EXPECT_EQ(server->store().version(), version);
  EXPECT_EQ(get(std::string(kPods) + "/p7").status, 200);
  server.reset();
  EXPECT_EQ(runSql(options.database, contents), before);
  EXPECT_EQ(runSql(options.database, layout), newLayout);
  EXPECT_EQ(runSql(options.database, "SELECT count(*) FROM sqlite_master WHERE name='old_objects'"),
            "0");

  // An update replaces the row of its object, a deletion removes it.
  openServer();
  EXPECT_EQ(mergePatch(std::string(kPods) + "/p7", R"({"metadata":{"labels":{"a":"b"}}})").status,
            200);
  EXPECT_EQ(remove(std::string(kPods) + "/p8").status, 200);
  reopen();
  EXPECT_EQ(get(std::string(kPods) + "?labelSelector=a=b").body.at("items").get_array().size(), 1u);
  EXPECT_EQ(get(std::string(kPods) + "/p8").status, 404);
  EXPECT_EQ(get(kPods).body.at("items").get_array().size(), 49u);
}

}  // namespace
}  // namespace koord::apiserver::testing
