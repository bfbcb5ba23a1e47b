#include <fmt/format.h>
#include <sqlite3.h>

#include "apiserver/store/storage.h"

namespace koord::apiserver {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

class SqliteStorage final : public Storage {
 public:
  explicit SqliteStorage(std::string path) : path_(std::move(path)) {}

  Result<> open() {
    sqlite3* db = nullptr;
    const int opened =
        sqlite3_open_v2(path_.c_str(), &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(db);
    if (opened != SQLITE_OK) return wrong("cannot be opened");
    // The lock is taken with the first read and held: one server per file.
    for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL",
                            "PRAGMA synchronous=FULL", "BEGIN IMMEDIATE; COMMIT"})
      if (auto done = run(sql); !done) return done;
    if (auto sound = check(); !sound) return sound;
    for (const char* sql :
         {"CREATE TABLE IF NOT EXISTS objects(resource TEXT NOT NULL, key TEXT NOT NULL, "
          "version INTEGER NOT NULL, object TEXT NOT NULL, PRIMARY KEY(resource, key)) WITHOUT "
          "ROWID",
          "CREATE TABLE IF NOT EXISTS state(id INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
          "INSERT OR IGNORE INTO state(id, version) VALUES(1, 0)"})
      if (auto done = run(sql); !done) return done;
    for (auto [statement, sql] :
         {std::pair{
              &put_,
              "INSERT OR REPLACE INTO objects(resource, key, version, object) VALUES(?,?,?,?)"},
          std::pair{&erase_, "DELETE FROM objects WHERE resource=? AND key=?"},
          std::pair{&mark_, "UPDATE state SET version=? WHERE id=1"}}) {
      auto prepared = prepare(sql);
      if (!prepared) return fail(std::move(prepared.error()));
      *statement = *std::move(prepared);
    }
    return {};
  }

  Result<StoredState> load() override {
    StoredState state;
    auto version = prepare("SELECT version FROM state WHERE id=1");
    if (!version) return fail(std::move(version.error()));
    if (sqlite3_step(version->get()) == SQLITE_ROW)
      state.version = static_cast<std::uint64_t>(sqlite3_column_int64(version->get(), 0));
    auto rows = prepare("SELECT resource, key, version, object FROM objects");
    if (!rows) return fail(std::move(rows.error()));
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(rows->get())) == SQLITE_ROW) {
      const auto text = [&](int column) {
        const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(rows->get(), column));
        return std::string(bytes ? bytes : "",
                           static_cast<std::size_t>(sqlite3_column_bytes(rows->get(), column)));
      };
      state.objects.push_back({text(0), text(1),
                               static_cast<std::uint64_t>(sqlite3_column_int64(rows->get(), 2)),
                               text(3)});
    }
    if (step != SQLITE_DONE) return wrong("cannot be read");
    return state;
  }

  Result<> apply(std::span<const Change> changes) override {
    if (auto begun = run("BEGIN IMMEDIATE"); !begun) return begun;
    auto done = writeAll(changes);
    if (done) done = run("COMMIT");
    if (!done) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return done;
  }

 private:
  Result<> writeAll(std::span<const Change> changes) {
    const auto bind = [](sqlite3_stmt* statement, int at, std::string_view text) {
      sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    };
    const auto step = [&](sqlite3_stmt* statement) -> Result<> {
      const int result = sqlite3_step(statement);
      sqlite3_reset(statement);
      if (result != SQLITE_DONE) return wrong("cannot be written");
      return {};
    };
    for (const auto& change : changes) {
      auto* statement = change.entry ? put_.get() : erase_.get();
      bind(statement, 1, change.table);
      bind(statement, 2, change.key);
      if (change.entry) {
        sqlite3_bind_int64(statement, 3, static_cast<sqlite3_int64>(change.version));
        bind(statement, 4, change.entry->text);
      }
      if (auto done = step(statement); !done) return done;
    }
    sqlite3_bind_int64(mark_.get(), 1, static_cast<sqlite3_int64>(changes.back().version));
    return step(mark_.get());
  }

  Result<> check() {
    auto rows = prepare("PRAGMA quick_check(1)");
    if (!rows) return fail(std::move(rows.error()));
    if (sqlite3_step(rows->get()) != SQLITE_ROW) return wrong("cannot be read");
    const std::string_view verdict =
        reinterpret_cast<const char*>(sqlite3_column_text(rows->get(), 0));
    if (verdict == "ok") return {};
    return fail(
        ErrorCode::Io,
        fmt::format("{}: the database is damaged: {}; restore it from a backup", path_, verdict));
  }

  Result<Statement> prepare(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_.get(), sql, -1, &statement, nullptr) != SQLITE_OK)
      return wrong("cannot be read");
    return Statement(statement);
  }

  Result<> run(const char* sql) {
    if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
      return wrong("cannot be written");
    return {};
  }

  std::unexpected<Error> wrong(std::string_view what) {
    const int code = sqlite3_errcode(db_.get());
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
      return fail(ErrorCode::Conflict,
                  path_ + ": another server uses this database; stop it or choose another folder");
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
      return fail(ErrorCode::Io,
                  fmt::format("{}: the database is damaged: {}; restore it from a backup", path_,
                              sqlite3_errmsg(db_.get())));
    return fail(ErrorCode::Io, fmt::format("{}: {}: {}", path_, what, sqlite3_errmsg(db_.get())));
  }

  std::string path_;
  Database db_;
  Statement put_, erase_, mark_;
};

}  // namespace

Result<std::unique_ptr<Storage>> openSqlite(const std::string& path) {
  auto storage = std::make_unique<SqliteStorage>(path);
  if (auto opened = storage->open(); !opened) return fail(std::move(opened.error()));
  return storage;
}

}  // namespace koord::apiserver
