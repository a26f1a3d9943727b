// Includes all implementation files of failures/, which are compiled once.
#pragma once

#include <wick/failures/impl/dropped_counts.ipp>
#include <wick/failures/impl/error_account.ipp>
#include <wick/failures/impl/failed_sample.ipp>
#include <wick/failures/impl/failure_log.ipp>
#include <wick/failures/impl/failure_log_file.ipp>
#include <wick/failures/impl/on_error.ipp>
#include <wick/failures/impl/quarantine.ipp>
