/// \file
/// All bodies of recovery/, which are compiled once.
#pragma once

#include <wick/recovery/impl/delivery_log.hpp>
#include <wick/recovery/impl/draw_notes.hpp>
#include <wick/recovery/impl/dropped_counts.hpp>
#include <wick/recovery/impl/error_account.hpp>
#include <wick/recovery/impl/failed_sample.hpp>
#include <wick/recovery/impl/failure_log.hpp>
#include <wick/recovery/impl/failure_log_file.hpp>
#include <wick/recovery/impl/mixture.hpp>
#include <wick/recovery/impl/on_error.hpp>
#include <wick/recovery/impl/quarantine.hpp>
#include <wick/recovery/impl/receipt.hpp>
#include <wick/recovery/impl/replayable.hpp>
#include <wick/recovery/impl/state.hpp>
#include <wick/recovery/impl/state_file.hpp>
