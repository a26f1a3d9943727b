// Includes the implementation of stores/, which is compiled once, by a program that links curl.
#pragma once

#include <wick/stores/impl/aws_credentials.ipp>
#include <wick/stores/impl/aws_role.ipp>
#include <wick/stores/impl/aws_signature.ipp>
#include <wick/stores/impl/azure_locator.ipp>
#include <wick/stores/impl/google_credentials.ipp>
#include <wick/stores/impl/http_answer.ipp>
#include <wick/stores/impl/http_client.ipp>
#include <wick/stores/impl/hub_locator.ipp>
#include <wick/stores/impl/latencies.ipp>
#include <wick/stores/impl/object_list.ipp>
#include <wick/stores/impl/remote.ipp>
#include <wick/stores/impl/s3_address.ipp>
#include <wick/stores/impl/s3_listing.ipp>
#include <wick/stores/impl/s3_locator.ipp>
#include <wick/stores/impl/url_locator.ipp>
#include <wick/stores/impl/url_parts.ipp>
