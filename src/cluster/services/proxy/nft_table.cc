#include "cluster/services/proxy/nft_table.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <nftables/libnftables.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/fd.h"
#include "base/file.h"

namespace koord::cluster::services {

namespace {

// libnftables opens its socket without close-on-exec. A child that inherits it would keep the table
// alive after this process.
void closeNetfilterSocketsOnExec() {
  std::error_code ec;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", ec)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int domain = 0;
    int protocol = 0;
    socklen_t size = sizeof(int);
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_NETLINK)
      continue;
    size = sizeof(int);
    if (::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
        protocol == NETLINK_NETFILTER)
      ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}

std::string trimmed(const char* text) {
  std::string out = text ? text : "";
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace

Result<std::unique_ptr<NftTable>> NftTable::open() {
  // libnftables ends the process when it cannot open its socket.
  const Fd trial(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!trial) return fail(errnoError("nftables: open a netlink socket", errno));
  nft_ctx* context = ::nft_ctx_new(NFT_CTX_DEFAULT);
  if (!context) return fail(ErrorCode::Unavailable, "nftables: out of memory");
  auto table = std::unique_ptr<NftTable>(new NftTable(context));
  ::nft_ctx_buffer_error(context);
  ::nft_ctx_buffer_output(context);
  closeNetfilterSocketsOnExec();
  return table;
}

NftTable::~NftTable() {
  ::nft_ctx_free(context_);
}

Result<> NftTable::run(const std::string& commands) {
  const int status = ::nft_run_cmd_from_buffer(context_, commands.c_str());
  const std::string said = trimmed(::nft_ctx_get_error_buffer(context_));
  ::nft_ctx_get_output_buffer(context_);
  if (status == 0) return {};
  return fail(ErrorCode::Internal, "nftables: " + said.substr(0, said.find('\n')));
}

}  // namespace koord::cluster::services
