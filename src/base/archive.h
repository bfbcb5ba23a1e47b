#pragma once

// Owners of libarchive's objects. Programs that use them link LibArchive::LibArchive.

#include <archive.h>
#include <archive_entry.h>

#include <memory>

namespace koord {

template <auto kFree>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using ArchiveReader = std::unique_ptr<archive, FreeBy<archive_read_free>>;
using ArchiveWriter = std::unique_ptr<archive, FreeBy<archive_write_free>>;
using ArchiveEntry = std::unique_ptr<archive_entry, FreeBy<archive_entry_free>>;

}  // namespace koord
