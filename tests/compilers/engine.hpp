// The bodies of the engine: each of these programs is one file, and links nothing else of wick.
#pragma once

#include <wick/async/impl/all_of_async.ipp>
#include <wick/io/impl/file_system.ipp>
#include <wick/pipeline/impl/budget.ipp>
