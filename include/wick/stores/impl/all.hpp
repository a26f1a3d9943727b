/// \file
/// All bodies of stores/, which are compiled once, by a program that links curl.
#pragma once

#include <wick/stores/impl/aws_credentials.hpp>
#include <wick/stores/impl/aws_role.hpp>
#include <wick/stores/impl/aws_signature.hpp>
#include <wick/stores/impl/azure_locator.hpp>
#include <wick/stores/impl/google_credentials.hpp>
#include <wick/stores/impl/http_answer.hpp>
#include <wick/stores/impl/http_client.hpp>
#include <wick/stores/impl/hub_locator.hpp>
#include <wick/stores/impl/latencies.hpp>
#include <wick/stores/impl/object_list.hpp>
#include <wick/stores/impl/remote.hpp>
#include <wick/stores/impl/s3_address.hpp>
#include <wick/stores/impl/s3_listing.hpp>
#include <wick/stores/impl/s3_locator.hpp>
#include <wick/stores/impl/url_locator.hpp>
#include <wick/stores/impl/url_parts.hpp>
