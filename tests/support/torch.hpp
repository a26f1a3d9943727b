// LibTorch for tests. Its logging header (or glog, in Debian's build) and doctest define macros of the same
// names: it comes first, its names go, and doctest's stay. Tests include support/doctest.hpp, which includes
// this where it's needed.
#pragma once

#ifdef DOCTEST_LIBRARY_INCLUDED
#error "include support/doctest.hpp before any other doctest or LibTorch header"
#endif

#include <ATen/core/Tensor.h>
#include <c10/util/Logging.h>

#undef CHECK
#undef CHECK_EQ
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_NE
#undef CHECK_OP
#undef FAIL
#undef INFO
#undef MESSAGE
#undef WARN
