#define WICK_IMPLEMENTATION
#include <wick/wick.hpp>

// Used by main.cpp: the header does the same in both files.
const char* version_in_the_other_file() { return wick::version; }
