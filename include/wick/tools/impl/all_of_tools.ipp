/// \file
/// All bodies of tools/, which are compiled once.
#pragma once

#include <wick/tools/impl/audit.ipp>
#include <wick/tools/impl/token_writer.ipp>
