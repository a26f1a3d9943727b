// Pipelines of text and tokens, without Torch: common.hpp, lines, tokens, pack(), and batches of any length.
#pragma once

#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/common.hpp>
#include <wick/sampling/bucket.hpp>
#include <wick/sources/framed_records.hpp>
#include <wick/sources/tfrecords.hpp>
#include <wick/text/lines.hpp>
#include <wick/text/tokens.hpp>
#include <wick/tools/measure_lengths.hpp>
#include <wick/tools/write_tokens.hpp>
