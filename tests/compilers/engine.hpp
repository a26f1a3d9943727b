/// \file
/// The bodies of the engine: each of these programs is one file, and links nothing else of wick.
#pragma once

#include <wick/async/impl/all.hpp>
#include <wick/io/impl/file_system.hpp>
#include <wick/pipeline/impl/budget.hpp>
