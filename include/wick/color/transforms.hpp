/// \file
/// All stages that change levels.
#pragma once

#include <wick/color/adjust.hpp>
#include <wick/color/blur.hpp>
#include <wick/color/distort.hpp>
#include <wick/color/erasing.hpp>
#include <wick/color/jitter.hpp>
#include <wick/color/levels.hpp>
#include <wick/color/to_float.hpp>
