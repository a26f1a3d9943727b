// Includes all implementation files of resume/, which are compiled once.
#pragma once

#include <wick/resume/impl/delivery_log.ipp>
#include <wick/resume/impl/state.ipp>
#include <wick/resume/impl/state_file.ipp>
