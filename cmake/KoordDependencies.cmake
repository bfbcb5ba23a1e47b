# Debian 12 packages only; scripts/install-packages.sh installs them.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json url)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(GTest REQUIRED)

# Not by pkg-config: its -pthread would make the precompiled headers unusable.
find_library(KOORD_RE2 re2 REQUIRED)
find_library(KOORD_JEMALLOC jemalloc REQUIRED)
find_library(KOORD_NCURSES ncursesw REQUIRED)
find_library(KOORD_MNL mnl REQUIRED)
find_library(KOORD_ZSTD zstd REQUIRED)
