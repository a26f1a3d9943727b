#include "fuse_server.hpp"

#if defined(__linux__) && __has_include(<linux/fuse.h>)

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace wick_test {

namespace {

std::string name_of_thread(std::uint32_t id) {
  std::ifstream in("/proc/self/task/" + std::to_string(id) + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

::fuse_attr attributes(std::uint64_t node, std::size_t size) {
  ::fuse_attr out{};
  out.ino = node;
  out.size = size;
  out.blocks = (size + 511) / 512;
  out.mtime = out.ctime = out.atime = 1'000'000'000;
  out.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644;
  out.nlink = 1;
  out.blksize = 4096;
  return out;
}

}  // namespace

fuse_server::fuse_server(const std::filesystem::path& folder, std::map<std::string, std::string> files)
    : folder_(folder), files_(files.begin(), files.end()) {
  device_ = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device_ < 0) return;
  const std::string options = "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0";
  mounted_ =
      ::mount("wick-test", folder.c_str(), "fuse.wick-test", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
  if (mounted_) server_ = std::thread([this] { serve(); });
}

fuse_server::~fuse_server() {
  if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  if (server_.joinable()) server_.join();
  if (device_ >= 0) ::close(device_);
}

std::vector<std::string> fuse_server::take_askers() {
  std::lock_guard lock(mutex_);
  return std::exchange(askers_, {});
}

void fuse_server::serve() {
  std::vector<char> request(1 << 18);
  for (;;) {
    const ::ssize_t n = ::read(device_, request.data(), request.size());
    if (n < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN)) continue;
    if (n < static_cast<::ssize_t>(sizeof(::fuse_in_header))) return;  // unmounted
    ::fuse_in_header in;
    std::memcpy(&in, request.data(), sizeof(in));
    const char* const argument = request.data() + sizeof(in);
    if (in.pid != 0 && in.opcode != FUSE_RELEASE) {
      const std::string asker = name_of_thread(in.pid);
      std::lock_guard lock(mutex_);
      askers_.push_back(asker);
    }
    int fault = 0;
    std::string out;
    const auto give = [&](const auto& what) {
      out.assign(reinterpret_cast<const char*>(&what), sizeof(what));
    };
    const std::string* content =
        in.nodeid >= 2 && in.nodeid < 2 + files_.size() ? &files_[in.nodeid - 2].second : nullptr;
    switch (in.opcode) {
      case FUSE_INIT: {
        ::fuse_init_in wanted;
        std::memcpy(&wanted, argument, sizeof(wanted));
        ::fuse_init_out init{};
        init.major = FUSE_KERNEL_VERSION;
        init.minor = std::min<std::uint32_t>(wanted.minor, FUSE_KERNEL_MINOR_VERSION);
        init.max_readahead = wanted.max_readahead;
        init.max_write = 1 << 16;
        give(init);
        break;
      }
      case FUSE_LOOKUP: {
        const auto found =
            std::find_if(files_.begin(), files_.end(), [&](const auto& f) { return f.first == argument; });
        if (found == files_.end()) {
          fault = ENOENT;
          break;
        }
        ::fuse_entry_out entry{};
        entry.nodeid = 2 + static_cast<std::uint64_t>(found - files_.begin());
        entry.entry_valid = entry.attr_valid = 3600;
        entry.attr = attributes(entry.nodeid, found->second.size());
        give(entry);
        break;
      }
      case FUSE_GETATTR: {
        ::fuse_attr_out attr{};
        attr.attr_valid = 3600;
        attr.attr = attributes(in.nodeid, content != nullptr ? content->size() : 0);
        give(attr);
        break;
      }
      case FUSE_OPEN: {
        ::fuse_open_out open{};
        open.open_flags = FOPEN_KEEP_CACHE;
        give(open);
        break;
      }
      case FUSE_READ: {
        ::fuse_read_in read;
        std::memcpy(&read, argument, sizeof(read));
        if (content != nullptr && read.offset < content->size())
          out = content->substr(read.offset, read.size);
        break;
      }
      case FUSE_STATFS:
        give(::fuse_statfs_out{});
        break;
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        break;
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        continue;  // no answer
      default:
        fault = ENOSYS;
        break;
    }
    ::fuse_out_header head{};
    head.unique = in.unique;
    head.error = -fault;
    head.len = static_cast<std::uint32_t>(sizeof(head) + out.size());
    const ::iovec parts[2] = {{&head, sizeof(head)}, {out.data(), out.size()}};
    static_cast<void>(::writev(device_, parts, out.empty() ? 1 : 2) < 0);
  }
}

}  // namespace wick_test

#else

namespace wick_test {

fuse_server::fuse_server(const std::filesystem::path& folder, std::map<std::string, std::string>)
    : folder_(folder) {}
fuse_server::~fuse_server() = default;
std::vector<std::string> fuse_server::take_askers() { return {}; }
void fuse_server::serve() {}

}  // namespace wick_test

#endif
