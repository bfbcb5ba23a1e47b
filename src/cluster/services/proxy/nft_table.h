#pragma once

// A table of nftables that lives as long as this object: the kernel removes it when its socket is
// closed, also by kill -9. Other programs cannot change it. Blocking; not thread-safe.
//
// The commands are run by the host's libnftables, which is opened when it is needed: its licence
// (GPL-2.0) does not allow programs under this project's licence to be distributed linked with it.

#include <memory>
#include <string>

#include "base/result.h"

namespace koord::cluster::services {

class NftTable {
 public:
  // Fails without libnftables.so.1 on the host, without nftables in the kernel, and without the
  // capability NET_ADMIN.
  static Result<std::unique_ptr<NftTable>> open();
  ~NftTable();
  NftTable(const NftTable&) = delete;
  NftTable& operator=(const NftTable&) = delete;

  // Runs commands of nft(8), in one transaction.
  Result<> run(const std::string& commands);

 private:
  struct Library;  // the functions of libnftables, and its context
  explicit NftTable(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

}  // namespace koord::cluster::services
