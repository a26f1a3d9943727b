# io_uring by liburing.
find_path(WICK_URING_INCLUDE_DIR liburing.h)
find_library(WICK_URING_LIBRARY uring)
mark_as_advanced(WICK_URING_INCLUDE_DIR WICK_URING_LIBRARY)
if(WICK_URING_INCLUDE_DIR AND WICK_URING_LIBRARY)
  set(peers "${WICK_URING_LIBRARY}")
else()
  set(peers_missing "it needs liburing (Debian: liburing-dev)")
endif()
