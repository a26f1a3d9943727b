// Includes all implementation files of loader/, which are compiled once.
#pragma once

#include <wick/loader/impl/batch_completion.ipp>
#include <wick/loader/impl/batch_job.ipp>
#include <wick/loader/impl/delivery.ipp>
#include <wick/loader/impl/epoch_plans.ipp>
#include <wick/loader/impl/loader_base.ipp>
#include <wick/loader/impl/loader_core.ipp>
#include <wick/loader/impl/loader_state.ipp>
#include <wick/loader/impl/own_executor.ipp>
#include <wick/loader/impl/pipeline_run.ipp>
#include <wick/loader/impl/report_recorder.ipp>
#include <wick/loader/impl/report_trace.ipp>
#include <wick/loader/impl/retry.ipp>
#include <wick/loader/impl/sample_runner.ipp>
#include <wick/loader/impl/scheduler.ipp>
#include <wick/loader/impl/scheduler_look.ipp>
