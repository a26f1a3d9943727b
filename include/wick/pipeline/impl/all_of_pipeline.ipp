// Includes the implementation of pipeline/, which is compiled once.
#pragma once

#include <wick/pipeline/impl/budget.ipp>
#include <wick/pipeline/impl/context.ipp>
#include <wick/pipeline/impl/dropped.ipp>
#include <wick/pipeline/impl/error.ipp>
#include <wick/pipeline/impl/names.ipp>
#include <wick/pipeline/impl/random.ipp>
#include <wick/pipeline/impl/ranks.ipp>
#include <wick/pipeline/impl/shape.ipp>
#include <wick/pipeline/impl/with_others.ipp>
#include <wick/pipeline/impl/written_at.ipp>
