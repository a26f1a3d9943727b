/// \file
/// All bodies of sampling/, which are compiled once.
#pragma once

#include <wick/sampling/impl/block_shuffle.hpp>
#include <wick/sampling/impl/bucket.hpp>
#include <wick/sampling/impl/class_weights.hpp>
#include <wick/sampling/impl/grid_rounds.hpp>
#include <wick/sampling/impl/grouping.hpp>
#include <wick/sampling/impl/mix.hpp>
#include <wick/sampling/impl/order.hpp>
#include <wick/sampling/impl/weighted.hpp>
#include <wick/sampling/impl/weights.hpp>
#include <wick/sampling/impl/zip.hpp>
