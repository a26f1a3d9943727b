/// \file
/// All bodies of recovery/, which are compiled once.
#pragma once

#include <wick/recovery/impl/delivery_log.ipp>
#include <wick/recovery/impl/draw_notes.ipp>
#include <wick/recovery/impl/dropped_counts.ipp>
#include <wick/recovery/impl/error_account.ipp>
#include <wick/recovery/impl/failed_sample.ipp>
#include <wick/recovery/impl/failure_log.ipp>
#include <wick/recovery/impl/failure_log_file.ipp>
#include <wick/recovery/impl/mixture.ipp>
#include <wick/recovery/impl/on_error.ipp>
#include <wick/recovery/impl/quarantine.ipp>
#include <wick/recovery/impl/receipt.ipp>
#include <wick/recovery/impl/replayable.ipp>
#include <wick/recovery/impl/state.ipp>
#include <wick/recovery/impl/state_file.ipp>
