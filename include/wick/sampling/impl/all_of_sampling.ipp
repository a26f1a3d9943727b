// Includes the implementation of sampling/, which is compiled once.
#pragma once

#include <wick/sampling/impl/block_shuffle.ipp>
#include <wick/sampling/impl/bucket.ipp>
#include <wick/sampling/impl/class_weights.ipp>
#include <wick/sampling/impl/grid_rounds.ipp>
#include <wick/sampling/impl/group_plan.ipp>
#include <wick/sampling/impl/grouping.ipp>
#include <wick/sampling/impl/mix.ipp>
#include <wick/sampling/impl/order.ipp>
#include <wick/sampling/impl/weighted.ipp>
#include <wick/sampling/impl/weights.ipp>
#include <wick/sampling/impl/zip.ipp>
