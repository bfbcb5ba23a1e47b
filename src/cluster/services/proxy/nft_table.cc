#include "cluster/services/proxy/nft_table.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/shared_library.h"

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

// As in the manual page libnftables(3).
struct NftTable::Library {
  SharedLibrary library;
  void* context = nullptr;
  void* (*make)(std::uint32_t flags) = nullptr;
  void (*destroy)(void* context) = nullptr;
  int (*keepOutput)(void* context) = nullptr;
  int (*keepErrors)(void* context) = nullptr;
  const char* (*output)(void* context) = nullptr;
  const char* (*errors)(void* context) = nullptr;
  int (*run)(void* context, const char* commands) = nullptr;

  explicit Library(SharedLibrary opened) : library(std::move(opened)) {
    library.need(make, "nft_ctx_new")
        .need(destroy, "nft_ctx_free")
        .need(keepOutput, "nft_ctx_buffer_output")
        .need(keepErrors, "nft_ctx_buffer_error")
        .need(output, "nft_ctx_get_output_buffer")
        .need(errors, "nft_ctx_get_error_buffer")
        .need(run, "nft_run_cmd_from_buffer");
  }
  ~Library() {
    if (context) destroy(context);
  }
};

NftTable::NftTable(std::unique_ptr<Library> library) : library_(std::move(library)) {}
NftTable::~NftTable() = default;

Result<std::unique_ptr<NftTable>> NftTable::open() {
  auto opened = SharedLibrary::open({"libnftables.so.1"});
  if (!opened)
    return fail(ErrorCode::NotFound,
                opened.error().message + "; install the package libnftables1 (or nftables)");
  auto library = std::make_unique<Library>(*std::move(opened));
  if (auto complete = library->library.complete(); !complete)
    return fail(std::move(complete.error()));
  // libnftables ends the process when it cannot open its socket.
  const Fd trial(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER));
  if (!trial) return fail(errnoError("nftables: open a netlink socket", errno));
  library->context = library->make(0);
  if (!library->context) return fail(ErrorCode::Unavailable, "nftables: out of memory");
  library->keepErrors(library->context);
  library->keepOutput(library->context);
  closeNetfilterSocketsOnExec();
  return std::unique_ptr<NftTable>(new NftTable(std::move(library)));
}

Result<> NftTable::run(const std::string& commands) {
  const int status = library_->run(library_->context, commands.c_str());
  const std::string said = trimmed(library_->errors(library_->context));
  library_->output(library_->context);  // begins a new buffer
  if (status == 0) return {};
  return fail(ErrorCode::Internal, "nftables: " + said.substr(0, said.find('\n')));
}

}  // namespace koord::cluster::services
