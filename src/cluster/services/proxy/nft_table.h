#pragma once

// A table of nftables that lives as long as this object: the kernel removes it when its socket is
// closed, also by kill -9. Other programs cannot change it. Blocking; not thread-safe.

#include <memory>
#include <string>

#include "base/result.h"

struct nft_ctx;

namespace koord::cluster::services {

class NftTable {
 public:
  // Fails without nftables in the kernel, and without the capability NET_ADMIN.
  static Result<std::unique_ptr<NftTable>> open();
  ~NftTable();
  NftTable(const NftTable&) = delete;
  NftTable& operator=(const NftTable&) = delete;

  // Runs commands of nft(8), in one transaction.
  Result<> run(const std::string& commands);

 private:
  explicit NftTable(nft_ctx* context) : context_(context) {}
  nft_ctx* context_;
};

}  // namespace koord::cluster::services
