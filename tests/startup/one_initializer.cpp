// What initializers.py must find: a global that needs code before main.
#include <cstdlib>

int chosen = std::atoi("1");
