#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "apiserver/store/storage.h"
#include "base/log.h"

namespace koord::apiserver {
namespace {

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
constexpr std::string_view kAdvice =
    "restore it from a backup, or move it and its -wal file away to begin with an empty cluster";

// A row has a page for itself, most often, and an update writes that page. In a table that is
// ordered by key, WITHOUT ROWID, it writes a page of several rows, a page for the rest of the row,
// and the list of free pages.
constexpr const char* kCreateObjects =
    "CREATE TABLE objects(id INTEGER PRIMARY KEY, resource TEXT NOT NULL, key TEXT NOT NULL, "
    "version INTEGER NOT NULL, object TEXT NOT NULL, UNIQUE(resource, key))";

using Database = std::unique_ptr<sqlite3, Close>;
using Statement = std::unique_ptr<sqlite3_stmt, Close>;

class SqliteStorage final : public Storage {
 public:
  explicit SqliteStorage(std::string path) : path_(std::move(path)) {}

  // Opens an existing file.
  Result<> open() {
    if (auto opened = connect(path_); !opened) return opened;
    // The first read takes the lock and keeps it: one server per file.
    // Objects are written several times within seconds: with 16 MiB of pages in memory and as many
    // in the log between checkpoints, most of them are copied to the file once. The defaults are
    // 2 and 4 MiB.
    for (const char* sql :
         {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL",
          "PRAGMA cache_size=-16384", "PRAGMA wal_autocheckpoint=4096", "BEGIN IMMEDIATE; COMMIT"})
      if (auto done = run(sql); !done) return done;
    if (auto sound = check(); !sound) return sound;
    if (auto ours = checkTables(); !ours) return ours;
    // The old layout works, too, so a full disk does not prevent the start.
    if (auto done = rewriteOldLayout(); !done)
      log::warn("{}; the database keeps its old layout, in which writes cost twice as much",
                done.error().message);
    for (auto [statement, sql] :
         {std::pair{&put_,
                    "INSERT INTO objects(resource, key, version, object) VALUES(?,?,?,?) "
                    "ON CONFLICT(resource, key) DO UPDATE SET version=excluded.version, "
                    "object=excluded.object"},
          std::pair{&begin_, "BEGIN IMMEDIATE"}, std::pair{&commit_, "COMMIT"},
          std::pair{&erase_, "DELETE FROM objects WHERE resource=? AND key=?"},
          std::pair{&mark_, "UPDATE state SET version=? WHERE id=1"},
          std::pair{&probe_, "INSERT OR REPLACE INTO state(id, version) VALUES(2, ?)"}}) {
      auto prepared = prepare(sql);
      if (!prepared) return fail(std::move(prepared.error()));
      *statement = *std::move(prepared);
    }
    return {};
  }

  // A new database, created under a temporary name and then renamed, so that a file with the final
  // name is always complete, even if the first start is interrupted.
  static Result<> create(const std::string& path) {
    const std::string fresh = path + ".new";
    for (const char* suffix : {"", "-journal"}) ::unlink((fresh + suffix).c_str());
    {
      SqliteStorage storage(path);
      if (auto opened = storage.connect(fresh); !opened) return opened;
      for (const char* sql :
           {"PRAGMA synchronous=FULL", "BEGIN", kCreateObjects,
            "CREATE TABLE state(id INTEGER PRIMARY KEY, version INTEGER NOT NULL); "
            "INSERT INTO state(id, version) VALUES(1, 0); "
            "COMMIT"})
        if (auto done = storage.run(sql); !done) return done;
    }
    // It holds Secrets; its -wal file has the same permissions.
    if (::chmod(fresh.c_str(), 0600) != 0) return fail(errnoError("chmod " + fresh, errno));
    if (::rename(fresh.c_str(), path.c_str()) != 0)
      return fail(errnoError("rename " + fresh, errno));
    return {};
  }

  Result<StoredState> load() override {
    StoredState state;
    auto version = prepare("SELECT version FROM state WHERE id=1");
    if (!version) return fail(std::move(version.error()));
    if (sqlite3_step(version->get()) == SQLITE_ROW)
      state.version = static_cast<std::uint64_t>(sqlite3_column_int64(version->get(), 0));
    auto rows =
        prepare("SELECT resource, key, version, object FROM objects ORDER BY resource, key");
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
    if (auto begun = step(begin_); !begun) return begun;
    auto done = writeAll(changes);
    if (done) done = step(commit_);
    if (!done) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return done;
  }

  // Another value each time: SQLite does not write an unchanged value.
  Result<> probe() override {
    sqlite3_bind_int64(probe_.get(), 1, ++probes_);
    return step(probe_);
  }

 private:
  // Runs a statement that returns no rows.
  Result<> step(const Statement& statement) {
    const int result = sqlite3_step(statement.get());
    auto outcome = result == SQLITE_DONE ? Result<>() : Result<>(wrong("cannot be written"));
    sqlite3_reset(statement.get());
    return outcome;
  }

  Result<> connect(const std::string& file) {
    sqlite3* db = nullptr;
    const int opened =
        sqlite3_open_v2(file.c_str(), &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    db_.reset(db);
    if (opened != SQLITE_OK) return wrong("cannot be opened");
    return {};
  }

  // A file with other tables is not a cluster's database; a file without tables has lost its data.
  Result<> checkTables() {
    sqlite3_stmt* statement = nullptr;
    const int prepared = sqlite3_prepare_v2(
        db_.get(), "SELECT (SELECT count(*) FROM objects) >= 0, version FROM state WHERE id=1", -1,
        &statement, nullptr);
    const Statement owned(statement);
    if (prepared == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) return {};
    return fail(ErrorCode::Io,
                fmt::format("{}: this is a database, but not of a cluster; {}", path_, kAdvice));
  }

  // Moves the rows of a file that an earlier version has created, all or none of them.
  Result<> rewriteOldLayout() {
    auto old =
        prepare("SELECT 1 FROM sqlite_master WHERE name='objects' AND sql LIKE '%WITHOUT ROWID%'");
    if (!old) return fail(std::move(old.error()));
    if (sqlite3_step(old->get()) != SQLITE_ROW) return {};
    old->reset();
    Result<> done;
    for (const char* sql :
         {"BEGIN IMMEDIATE", "ALTER TABLE objects RENAME TO old_objects", kCreateObjects,
          "INSERT INTO objects(resource, key, version, object) "
          "SELECT resource, key, version, object FROM old_objects ORDER BY resource, key",
          "DROP TABLE old_objects", "COMMIT"})
      if (done = run(sql); !done) break;
    if (!done) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    return done;
  }

  Result<> writeAll(std::span<const Change> changes) {
    const auto bind = [](sqlite3_stmt* statement, int at, std::string_view text) {
      sqlite3_bind_text(statement, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
    };
    for (const auto& change : changes) {
      const auto& statement = change.entry ? put_ : erase_;
      bind(statement.get(), 1, change.table);
      bind(statement.get(), 2, change.key);
      if (change.entry) {
        sqlite3_bind_int64(statement.get(), 3, static_cast<sqlite3_int64>(change.version));
        bind(statement.get(), 4, change.entry->text);
      }
      if (auto done = step(statement); !done) return done;
    }
    sqlite3_bind_int64(mark_.get(), 1, static_cast<sqlite3_int64>(changes.back().version));
    return step(mark_);
  }

  Result<> check() {
    auto rows = prepare("PRAGMA quick_check(1)");
    if (!rows) return fail(std::move(rows.error()));
    if (sqlite3_step(rows->get()) != SQLITE_ROW) return wrong("cannot be read");
    const std::string_view verdict =
        reinterpret_cast<const char*>(sqlite3_column_text(rows->get(), 0));
    if (verdict == "ok") return {};
    return fail(ErrorCode::Io,
                fmt::format("{}: the database is damaged: {}; {}", path_, verdict, kAdvice));
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
      return fail(ErrorCode::Io, fmt::format("{}: the database is damaged: {}; {}", path_,
                                             sqlite3_errmsg(db_.get()), kAdvice));
    std::string why = sqlite3_errmsg(db_.get());
    // "disk I/O error" alone does not say whether it is full, read-only or broken.
    if (const int number = sqlite3_system_errno(db_.get()); code == SQLITE_IOERR && number != 0)
      why += fmt::format(" ({})", std::generic_category().message(number));
    return fail(ErrorCode::Io, fmt::format("{}: {}: {}", path_, what, why));
  }

  std::string path_;
  Database db_;
  Statement begin_, commit_, put_, erase_, mark_, probe_;
  sqlite3_int64 probes_ = 0;
};

// Checks what is at the path: nothing (false), a database (true), or remains of one (an error).
// SQLite treats an empty file as a new database, and deletes a log without a database.
Result<bool> findDatabase(const std::string& path) {
  const auto lost = [&](std::string_view what) {
    return fail(ErrorCode::Io, fmt::format("{}: {}; {}", path, what, kAdvice));
  };
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return fail(errnoError(path, errno));
    if (::stat((path + "-wal").c_str(), &info) == 0 && info.st_size > 0)
      return lost("the database file is missing, but its log (-wal) exists");
    return false;
  }
  if (!S_ISREG(info.st_mode)) return fail(ErrorCode::Io, path + ": this is not a file");
  if (info.st_size == 0) return lost("the database is empty (0 bytes), so its contents are lost");
  return true;
}

}  // namespace

Result<std::unique_ptr<Storage>> openSqlite(const std::string& path) {
  const auto found = findDatabase(path);
  if (!found) return fail(found.error());
  if (!*found)
    if (auto created = SqliteStorage::create(path); !created)
      return fail(std::move(created.error()));
  auto storage = std::make_unique<SqliteStorage>(path);
  if (auto opened = storage->open(); !opened) return fail(std::move(opened.error()));
  return storage;
}

}  // namespace koord::apiserver
