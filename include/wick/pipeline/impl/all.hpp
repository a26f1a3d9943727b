/// \file
/// All bodies of pipeline/, which are compiled once.
#pragma once

#include <wick/pipeline/impl/budget.hpp>
#include <wick/pipeline/impl/context.hpp>
#include <wick/pipeline/impl/dropped.hpp>
#include <wick/pipeline/impl/error.hpp>
#include <wick/pipeline/impl/names.hpp>
#include <wick/pipeline/impl/random.hpp>
#include <wick/pipeline/impl/ranks.hpp>
#include <wick/pipeline/impl/shape.hpp>
#include <wick/pipeline/impl/with_others.hpp>
#include <wick/pipeline/impl/written_at.hpp>
