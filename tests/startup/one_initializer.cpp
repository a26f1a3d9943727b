// What initializers.py must find: a global that needs code before main.
#include <cstdlib>

bool chosen = std::getenv("PATH") != nullptr;
