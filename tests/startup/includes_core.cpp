// Includes all of wick that needs no LibTorch and uses nothing of it: nothing of it runs before main.
#include <wick/core.hpp>
