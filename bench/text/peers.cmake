# The Python side is started by its path; nothing is linked.
add_compile_definitions(WICK_BENCH_TEXT="${CMAKE_CURRENT_SOURCE_DIR}/text")
