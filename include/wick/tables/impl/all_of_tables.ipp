/// \file
/// All bodies of tables/, which are compiled once.
#pragma once

#include <wick/tables/impl/csv.ipp>
#include <wick/tables/impl/csv_text.ipp>
