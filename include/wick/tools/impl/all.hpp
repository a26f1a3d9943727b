/// \file
/// All bodies of tools/, which are compiled once.
#pragma once

#include <wick/tools/impl/audit.hpp>
#include <wick/tools/impl/benchmark.hpp>
#include <wick/tools/impl/token_writer.hpp>
