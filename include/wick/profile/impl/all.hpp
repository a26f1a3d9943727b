/// \file
/// All bodies of profile/, which are compiled once.
#pragma once

#include <wick/profile/impl/advice.hpp>
#include <wick/profile/impl/durations.hpp>
#include <wick/profile/impl/hang_scene.hpp>
#include <wick/profile/impl/hang_watch.hpp>
#include <wick/profile/impl/load_model.hpp>
#include <wick/profile/impl/progress_line.hpp>
#include <wick/profile/impl/report.hpp>
#include <wick/profile/impl/report_formats.hpp>
#include <wick/profile/impl/report_page.hpp>
#include <wick/profile/impl/report_timeline.hpp>
#include <wick/profile/impl/stage_clocks.hpp>
#include <wick/profile/impl/stall_meter.hpp>
#include <wick/profile/impl/trace_file.hpp>
#include <wick/profile/impl/what_if.hpp>
