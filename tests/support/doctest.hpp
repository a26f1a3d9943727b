// doctest, and in the tests that use LibTorch that too, in the order that works: include this one and
// nothing of doctest.
#pragma once

#ifdef WICK_TEST_TORCH
#include "torch.hpp"
#endif

#include <doctest/doctest.h>
