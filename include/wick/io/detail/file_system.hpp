// Tells local file systems from those that a server or a program answers for.
#pragma once

#include <cstdint>

#ifdef __linux__
#include <sys/vfs.h>
#endif

namespace wick::inline v0_1::detail {

/// Whether this machine's kernel alone implements this type of file system. Any other (NFS, SMB, 9P, Ceph,
/// Lustre, anything on FUSE) asks a server or a program, which may take arbitrarily long, even to open a file
/// whose bytes are in the page cache. An unknown type counts as one of those. overlayfs is local, since it
/// holds a container's own files; if its lower layers aren't (images pulled on demand), opening a file may
/// block a worker briefly.
constexpr bool is_local_type(std::uint64_t type) noexcept {
  constexpr std::uint64_t local[] = {
      0xEF53,      // ext2, ext3, ext4
      0x58465342,  // XFS
      0x9123683E,  // Btrfs
      0xF2F52010,  // F2FS
      0xCA451A4E,  // bcachefs
      0x2FC12FC1,  // ZFS
      0x794C7630,  // overlayfs
      0x01021994,  // tmpfs
      0x858458F6,  // ramfs
      0x958458F6,  // hugetlbfs
      0x73717368,  // SquashFS
      0xE0F5E1E2,  // EROFS
      0x9660,      // ISO 9660
      0x15013346,  // UDF
      0x4D44,      // FAT
      0x2011BAB0,  // exFAT
      0x7366746E,  // NTFS (ntfs3)
      0x3153464A,  // JFS
      0x52654973,  // ReiserFS
      0x3434,      // NILFS2
      0x5A4F4653,  // zonefs
      0x28CD3D45,  // cramfs
  };
  for (const std::uint64_t t : local) {
    if (t == type) return true;
  }
  return false;
}

/// Asks the file system itself, so it may block. False if it can't tell.
bool is_local(int file) noexcept;

}  // namespace wick::detail
