// Includes the implementation of tables/, which is compiled once.
#pragma once

#include <wick/tables/impl/csv.ipp>
#include <wick/tables/impl/csv_text.ipp>
