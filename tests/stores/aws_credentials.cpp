// Keys and settings of S3 from variables and profile files.
#include <filesystem>
#include <map>
#include <string>
#include <unistd.h>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_role.hpp>

namespace wick_test::aws_credentials_tests {

using wick::detail::aws_settings;
using wick::detail::find_aws_settings;
using wick::detail::settings_lookup;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

namespace {

std::map<std::string, std::string> variables;

const char* variable(const char* name) {
  const auto at = variables.find(name);
  return at == variables.end() ? nullptr : at->second.c_str();
}

aws_settings find(const std::string& profile = {}, bool anonymous = false) {
  return find_aws_settings({.profile = profile, .anonymous = anonymous, .variable = variable});
}

/// A home without a file, and an environment of nothing else.
struct home : temp_dir {
  home() { variables = {{"HOME", path().string()}}; }
};

}  // namespace

TEST_CASE("variables give keys, region, endpoint and certificates") {
  const home h;
  variables["AWS_ACCESS_KEY_ID"] = "AKIA";
  variables["AWS_SECRET_ACCESS_KEY"] = "secret/+\r\n";  // from a file, with its line break
  const aws_settings plain = find();
  CHECK(plain.access_key == "AKIA");
  CHECK(plain.secret_key == "secret/+");
  CHECK(plain.session_token.empty());
  CHECK(plain.region == "us-east-1");
  CHECK(plain.endpoint.empty());
  CHECK(plain.ca_bundle.empty());
  CHECK(!plain.anonymous);

  variables["AWS_SESSION_TOKEN"] = "token==";
  variables["AWS_DEFAULT_REGION"] = "eu-west-1";
  variables["AWS_ENDPOINT_URL"] = "http://all:1";
  variables["AWS_CA_BUNDLE"] = "/certificates.pem";
  CHECK(find().session_token == "token==");
  CHECK(find().region == "eu-west-1");
  CHECK(find().endpoint == "http://all:1");
  CHECK(find().ca_bundle == "/certificates.pem");
  variables["AWS_REGION"] = "eu-west-2";
  variables["AWS_ENDPOINT_URL_S3"] = "http://s3:1";
  CHECK(find().region == "eu-west-2");
  CHECK(find().endpoint == "http://s3:1");
  variables["AWS_REGION"] = "";
  CHECK(find().region == "eu-west-1");
}

TEST_CASE("a profile is found in both files, whatever its comments, blanks and nested settings") {
  const home h;
  h.write(".aws/credentials",
          "# a comment\r\n"
          "[default]\r\n"
          "aws_access_key_id=D\r\n"
          "aws_secret_access_key=d=\r\n"
          "\r\n"
          "[ train ] ; another\n"
          "  AWS_Access_Key_Id = T   # a third\n"
          "  aws_secret_access_key\t= t#;/+=\n"
          "  aws_session_token = token\n"
          ";[train]\n"
          "#aws_access_key_id = none\n");
  h.write(".aws/config",
          "[default]\n"
          "region = eu-west-1\n"
          "[profile \"train\"]\n"
          "ca_bundle = /certificates.pem\n"
          "[profile train]\n"
          "region = eu-west-3\n"
          "endpoint_url = http://localhost:9000\n"
          "s3 =\n"
          "  max_concurrent_requests = 20\n"
          "  region = nested\n"
          "  endpoint_url = nested\n"
          "[profiletrain]\n"
          "region = other\n"
          "[train]\n"
          "region = other");
  CHECK(find().access_key == "D");
  CHECK(find().secret_key == "d=");
  CHECK(find().region == "eu-west-1");
  variables["AWS_PROFILE"] = "train";
  for (const aws_settings& s : {find(), find("train")}) {
    CHECK(s.access_key == "T");
    CHECK(s.secret_key == "t#;/+=");
    CHECK(s.session_token == "token");
    CHECK(s.region == "eu-west-3");
    CHECK(s.endpoint == "http://localhost:9000");
    CHECK(s.ca_bundle == "/certificates.pem");
  }
  CHECK(find("default").access_key == "D");
}

TEST_CASE("keys may be in the config file, and those of the credentials file count before them") {
  const home h;
  const std::string keys = "aws_secret_access_key = s\naws_access_key_id = ";
  h.write("c", "[profile a]\n" + keys + "of-config\n");
  variables["AWS_CONFIG_FILE"] = "~/c";
  CHECK(find("a").access_key == "of-config");
  variables["AWS_SHARED_CREDENTIALS_FILE"] = h.write("s", "[a]\n" + keys + "of-credentials\n").string();
  CHECK(find("a").access_key == "of-credentials");
}

TEST_CASE("keys of the environment count before a profile, but not before one that is asked for") {
  const home h;
  h.write(".aws/credentials",
          "[train]\naws_access_key_id = T\naws_secret_access_key = t\nregion = eu-west-1\n");
  variables["AWS_ACCESS_KEY_ID"] = "E";
  variables["AWS_SECRET_ACCESS_KEY"] = "e";
  variables["AWS_SESSION_TOKEN"] = "of-E";
  variables["AWS_PROFILE"] = "train";
  CHECK(find().access_key == "E");
  CHECK(find().region == "eu-west-1");
  CHECK(find("train").access_key == "T");
  CHECK(find("train").session_token.empty());
  variables["AWS_REGION"] = "eu-west-2";
  CHECK(find("train").region == "eu-west-2");
}

TEST_CASE("each call reads the files again, so that replaced keys are found") {
  const home h;
  for (const std::string key : {"one", "two"}) {
    h.write(".aws/credentials", "[default]\naws_access_key_id = " + key + "\naws_secret_access_key = s\n");
    CHECK(find().access_key == key);
  }
}

TEST_CASE("without keys the error says where they were looked for, unless none are needed") {
  const home h;
  CHECK(contains(message_of([] { return find(); }), "s3: no keys in the environment",
                 "profile \"default\" of " + (h / ".aws/credentials").string(), ".anonymous = true"));
  h.write(".aws/config", "[default]\nregion = eu-west-1\n");
  CHECK(find({}, true).anonymous);
  CHECK(find({}, true).region == "eu-west-1");
  CHECK(find({}, true).access_key.empty());
  variables["AWS_ACCESS_KEY_ID"] = "E";
  variables["AWS_SECRET_ACCESS_KEY"] = "e";
  CHECK(find({}, true).access_key.empty());
}

TEST_CASE("a profile that is not there, or has keys of a kind that is not supported, is an error by name") {
  const home h;
  CHECK(contains(message_of([] { return find("no-such"); }), "there is no profile \"no-such\"",
                 "correct its name"));
  for (const std::string how : {"sso_session = x", "sso_start_url = x", "role_arn = arn"}) {
    h.write(".aws/config", "[default]\n" + how + '\n');
    const std::string message = message_of([] { return find(); });
    CHECK(contains(message,
                   "has " + how.substr(0, how.find(' ')) + " and no keys, which wick does not support",
                   "export keys as AWS_ACCESS_KEY_ID"));
  }
}

TEST_CASE("no message shows a secret") {
  const home h;
  const auto refused = [&](const std::string& file, const std::string& why) {
    h.write(".aws/credentials", file);
    const std::string message = message_of([] { return find(); });
    CAPTURE(message);
    CHECK(contains(message, why));
    CHECK(!contains(message, "hidden"));
  };
  refused("[default]\nhidden\n", "credentials: s3: line 2 is neither [SECTION] nor NAME = VALUE");
  refused("[default\nhidden\n", "line 1 begins with [");
  refused("[default]\naws_secret_access_key = hidden\n",
          "aws_access_key_id or aws_secret_access_key is missing");
  refused("[default]\naws_access_key_id = hidden\n", "is missing");
  refused("[default]\naws_access_key_id = a\naws_secret_access_key = hidden hidden\n",
          "a character that no key");
  refused("[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = hidden\x01\n",
          "a character that no key");
  refused(std::string((1 << 20) + 1, '#'), "more than 1 MiB");
  std::filesystem::remove(h / ".aws/credentials");
  variables["AWS_SECRET_ACCESS_KEY"] = "hidden";
  CHECK(contains(message_of([] { return find(); }), "AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY is missing"));
  variables["AWS_ACCESS_KEY_ID"] = "hidden\xC3\xA4";
  CHECK(contains(message_of([] { return find(); }), "the environment: ", "a character that no key"));
  CHECK(!contains(message_of([] { return find(); }), "hidden"));
}

TEST_CASE("what is no file is an error, and a file that may not be read is as good as none") {
  const home h;
  std::filesystem::create_directories(h / ".aws/config");
  CHECK(contains(message_of([] { return find(); }), ".aws/config: s3: is a"));
  std::filesystem::remove(h / ".aws/config");
  h.write(".aws/config", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n");
  std::filesystem::permissions(h / ".aws/config", std::filesystem::perms::none);
  if (::geteuid() != 0) CHECK(contains(message_of([] { return find(); }), "is the file readable?"));
}

TEST_CASE("any bytes of a file are settings or an error") {
  const home h;
  for (const std::string text :
       {"", "\n", "[", "[]", "[ ]", "=", " = ", "[default]\n=", "[default]\n=\n  =", "]", "[default]", "#",
        "[default]#", "\xEF\xBB\xBF[default]\n", "\xFF\xFE\n"}) {
    h.write(".aws/credentials", text);
    h.write(".aws/config", text);
    CHECK(contains(message_of([] { return find(); }), "s3: "));
  }
  h.write(".aws/credentials", std::string("\0[default]\0", 11));
  CHECK(contains(message_of([] { return find(); }), "s3: "));
}

TEST_CASE("a role is taken in the order of AWS's own programs") {
  using kind = wick::detail::aws_role::kind;
  const home h;
  const auto role = [](const std::string& profile = {}) {
    return wick::detail::find_aws_role({.profile = profile, .variable = variable});
  };
  CHECK(role().of == kind::instance);
  CHECK(role().url == "http://169.254.169.254");
  variables["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"] = "IPv6";
  CHECK(role().url == "http://[fd00:ec2::254]");
  variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:8/";
  CHECK(role().url == "http://127.0.0.1:8");
  variables["AWS_EC2_METADATA_DISABLED"] = "TRUE";
  CHECK(role().of == kind::none);
  CHECK(role("no-such").of == kind::none);
  variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/v2/creds";
  CHECK(role().of == kind::container);
  CHECK(role().url == "http://169.254.170.2/v2/creds");
  variables.erase("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  for (const std::string url :
       {"http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1/credentials",
        "http://localhost:90/x", "http://127.3.0.1/x", "https://example.com/x"}) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    CHECK(role().url == url);
  }
  for (const std::string url : {"http://example.com/x", "http://localhost.example.com/x", "ftp://localhost/x",
                                "x", "http://169.254.170.231/x"}) {
    variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    CHECK(contains(message_of([&] { return role(); }), "neither https nor on this machine"));
  }
  h.write(".aws/config", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n");
  CHECK(role().of == kind::none);
  h.write(".aws/config", "[default]\ncredential_process = get keys\naws_access_key_id = a\n");
  CHECK(role().of == kind::process);
  CHECK(role().command == "get keys");
  h.write(".aws/credentials", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n");
  CHECK(role().of == kind::none);
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  CHECK(role().of == kind::none);
  variables["AWS_ROLE_ARN"] = "arn";
  variables["AWS_REGION"] = "eu-west-1";
  CHECK(role().of == kind::web_identity);
  CHECK(role().url == "https://sts.eu-west-1.amazonaws.com");
  CHECK(role("default").of == kind::none);  // a profile that is asked for counts before variables
  variables["AWS_ENDPOINT_URL_STS"] = "http://localhost:9/";
  CHECK(role().url == "http://localhost:9");
  variables["AWS_ACCESS_KEY_ID"] = "a";
  CHECK(role().of == kind::none);
}

TEST_CASE("answers with keys are read, and all others are errors without a secret") {
  using wick::detail::parse_iso_time, wick::detail::parse_role_json, wick::detail::parse_role_xml;
  CHECK(parse_iso_time("1970-01-02T00:00:01Z") == 86401);
  CHECK(parse_iso_time("1970-01-02T00:00:01.250Z") == 86401);
  CHECK(parse_iso_time("1970-01-02T01:30:01+01:30") == 86401);
  CHECK(parse_iso_time("1970-01-01T23:00:01-01:00") == 86401);
  CHECK(parse_iso_time("tomorrow") == 0);
  const auto keys = parse_role_json(
      R"({"Version": 1, "x": {"AccessKeyId": "no", "y": ["}"]}, "AccessKeyId":"a\u0062","SecretAccessKey":"s\/\"",
          "SessionToken" : "t=", "Expiration":"1970-01-02T00:00:01Z"})");
  CHECK(keys.access_key == "ab");
  CHECK(keys.secret_key == "s/\"");
  CHECK(keys.session_token == "t=");
  CHECK(keys.ends == 86401);
  CHECK(parse_role_json(R"({"AccessKeyId":"a","SecretAccessKey":"s"})").ends == 0);
  CHECK(contains(message_of([] { return parse_role_json(R"({"Code":"Failed","Message":"no"})"), 0; }),
                 "Failed: no"));
  const std::string whole = R"({"AccessKeyId":"hidden","SecretAccessKey":"hidden","Token":"hidden"})";
  for (std::size_t size = 0; size < whole.size() - 20; ++size) {
    const std::string message = message_of([&] { return parse_role_json(whole.substr(0, size)), 0; });
    CHECK_FALSE(contains(message, "hidden"));
  }
  for (const std::string text :
       {"", "{", "[]", "null", "{\"\\", "{\"a\":", "<html>", "{{{{", "{\"AccessKeyId\":{}}"})
    CHECK(contains(message_of([&] { return parse_role_json(text), 0; }), "no keys"));
  CHECK(contains(message_of([] { return parse_role_xml("<Error/>"), 0; }), "no keys"));
  CHECK(contains(
      message_of([] { return parse_role_json(R"({"AccessKeyId":"a\nb","SecretAccessKey":"s"})"), 0; }),
      "a character that no key has"));
}

}  // namespace wick_test::aws_credentials_tests
