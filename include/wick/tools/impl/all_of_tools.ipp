// Includes the implementation of tools/, which is compiled once.
#pragma once

#include <wick/tools/impl/audit.ipp>
#include <wick/tools/impl/token_writer.ipp>
