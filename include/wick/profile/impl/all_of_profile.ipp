// Includes the implementation of profile/, which is compiled once.
#pragma once

#include <wick/profile/impl/advice.ipp>
#include <wick/profile/impl/durations.ipp>
#include <wick/profile/impl/hang_scene.ipp>
#include <wick/profile/impl/hang_watch.ipp>
#include <wick/profile/impl/load_model.ipp>
#include <wick/profile/impl/make_report.ipp>
#include <wick/profile/impl/progress_line.ipp>
#include <wick/profile/impl/report.ipp>
#include <wick/profile/impl/report_formats.ipp>
#include <wick/profile/impl/report_page.ipp>
#include <wick/profile/impl/report_timeline.ipp>
#include <wick/profile/impl/stage_clocks.ipp>
#include <wick/profile/impl/stall_meter.ipp>
#include <wick/profile/impl/trace_file.ipp>
#include <wick/profile/impl/what_if.ipp>
