// Includes the implementation of batch/, which is compiled once.
#pragma once

#include <wick/batch/impl/epoch_fingerprint.ipp>
#include <wick/batch/impl/memory_column.ipp>
#include <wick/batch/impl/pack.ipp>
#include <wick/batch/impl/slab.ipp>
