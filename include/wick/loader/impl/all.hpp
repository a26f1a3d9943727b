/// \file
/// All bodies of loader/, which are compiled once.
#pragma once

#include <wick/loader/impl/batch_completion.hpp>
#include <wick/loader/impl/compaction.hpp>
#include <wick/loader/impl/delivery.hpp>
#include <wick/loader/impl/loader_core.hpp>
#include <wick/loader/impl/loader_state.hpp>
#include <wick/loader/impl/mixture_edits.hpp>
#include <wick/loader/impl/pipeline_run.hpp>
#include <wick/loader/impl/replayed_batch.hpp>
#include <wick/loader/impl/report_recorder.hpp>
#include <wick/loader/impl/report_trace.hpp>
#include <wick/loader/impl/retry.hpp>
#include <wick/loader/impl/sample_runner.hpp>
#include <wick/loader/impl/scheduler.hpp>
#include <wick/loader/impl/scheduler_look.hpp>
