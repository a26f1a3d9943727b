# The bare limit is libjpeg-turbo itself.
if(NOT WICK_HAS_LIBJPEG_TURBO)
  set(peers_missing "it is about libjpeg-turbo (WICK_JPEG=turbo, as bench/images/run.sh sets it)")
  return()
endif()
add_library(bench_images_peers INTERFACE)
target_link_libraries(bench_images_peers INTERFACE JPEG::JPEG)
set(peers bench_images_peers)
