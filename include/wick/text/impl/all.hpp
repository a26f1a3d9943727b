/// \file
/// All bodies of text/, which are compiled once.
#pragma once

#include <wick/text/impl/chunk_offsets.hpp>
#include <wick/text/impl/lines.hpp>
#include <wick/text/impl/text_scan.hpp>
#include <wick/text/impl/token_ids.hpp>
#include <wick/text/impl/token_store.hpp>
#include <wick/text/impl/tokens.hpp>
