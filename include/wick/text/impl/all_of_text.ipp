// Includes the implementation of text/, which is compiled once.
#pragma once

#include <wick/text/impl/chunk_offsets.ipp>
#include <wick/text/impl/lines.ipp>
#include <wick/text/impl/text_scan.ipp>
#include <wick/text/impl/token_ids.ipp>
#include <wick/text/impl/token_store.ipp>
#include <wick/text/impl/tokens.ipp>
