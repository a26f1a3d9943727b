// Implements stores/detail/aws_credentials.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_role.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::string_view blanks = " \t\r\n\f\v";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

/// Removes a comment, which starts at the beginning of a line or after a blank.
std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if ((line[i] == '#' || line[i] == ';') && (i == 0 || blanks.find(line[i - 1]) != std::string_view::npos))
      return line.substr(0, i);
  }
  return line;
}

/// A profile in one file.
class aws_profile {
 public:
  /// \param of_config  sections are called [profile NAME], not [NAME]
  /// \throws wick::error
  aws_profile(const std::string& path, bool of_config, std::string_view name) {
    const std::string text = content(path);
    std::string_view left = text;
    bool inside = false, has_property = false;
    std::size_t indent = 0;  // of the previous property
    for (std::size_t number = 1; !left.empty(); ++number) {
      const std::size_t end = std::min(left.find('\n'), left.size());
      const std::string_view line = without_comment(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      const std::string_view said = trimmed(line);
      if (said.empty()) continue;
      const auto refuse = [&](const char* what) {  // doesn't quote the line, which may be a key
        return source_error(path, "s3", "line " + std::to_string(number) + ' ' + what);
      };
      if (line[0] == '[') {
        if (said.back() != ']') throw refuse("begins with [ and has no ] at its end; write [default]");
        inside = is_section(trimmed(said.substr(1, said.size() - 2)), of_config, name);
        found_ = found_ || inside;
        has_property = false;
        continue;
      }
      const std::size_t before = line.find_first_not_of(blanks);
      if (has_property && before > indent) continue;  // belongs to the previous property, such as s3 =
      const std::size_t equals = said.find('=');
      if (equals == std::string_view::npos) throw refuse("is neither [SECTION] nor NAME = VALUE; correct it");
      has_property = true;
      indent = before;
      if (!inside) continue;
      values_[lower_case(trimmed(said.substr(0, equals)))] = trimmed(said.substr(equals + 1));
    }
  }

  bool found() const noexcept { return found_; }
  /// Empty if it isn't set.
  std::string value(const std::string& property) const {
    const auto at = values_.find(property);
    return at == values_.end() ? std::string() : at->second;
  }

 private:
  /// Empty for a file that doesn't exist or isn't readable.
  static std::string content(const std::string& path) {
    constexpr std::size_t most = std::size_t{1} << 20;
    if (path == "/dev/null") return {};  // the usual way to disable the file
    plain_file opened = open_plain(path.c_str());
    // A home that this user may not enter counts as none.
    if (opened.fault == ENOENT || opened.fault == ENOTDIR || opened.fault == EACCES) return {};
    std::string text(most + 1, '\0');
    try {
      const file_handle file = checked_file(std::move(opened));
      text.resize(read_up_to(file.get(), reinterpret_cast<std::byte*>(text.data()), text.size(), 0));
    } catch (const error& e) {
      throw source_error(path, "s3", e.what());
    }
    if (text.size() > most) throw source_error(path, "s3", "has more than 1 MiB; it isn't a profile file");
    return text;
  }
  static bool is_section(std::string_view section, bool of_config, std::string_view name) {
    if (of_config && section != "default") {
      constexpr std::string_view word = "profile";
      if (!section.starts_with(word)) return false;
      section.remove_prefix(word.size());
      if (section.empty() || blanks.find(section[0]) == std::string_view::npos) return false;
      section = trimmed(section);
    }
    const bool quoted =
        section.size() > 1 && (section[0] == '"' || section[0] == '\'') && section.back() == section[0];
    return (quoted ? section.substr(1, section.size() - 2) : section) == name;
  }

  bool found_ = false;
  std::map<std::string, std::string> values_;
};

class aws_reader {
 public:
  explicit aws_reader(const settings_lookup& where)
      : where_(where),
        profile_(first({where.profile, variable("AWS_PROFILE"), "default"})),
        credentials_path_(path("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials")),
        config_path_(path("AWS_CONFIG_FILE", "/.aws/config")),
        credentials_(credentials_path_, false, profile_),
        config_(config_path_, true, profile_) {}

  aws_role role() const {
    aws_role out;
    if (where_.anonymous) return out;
    const bool by_profile = !where_.profile.empty();
    if (!by_profile && has_variable("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")) return out;
    out.region =
        first({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"), property("region"), "us-east-1"});
    out.ca_bundle = first({variable("AWS_CA_BUNDLE"), property("ca_bundle")});
    if (take_web_identity(out, by_profile) || has_keys(credentials_)) return out;
    if (const std::string command = property("credential_process"); !command.empty()) {
      out.of = aws_role::kind::process;
      out.command = command;
      return out;
    }
    if (has_keys(config_) || !profile_is_usable()) return out;
    if (take_container(out)) return out;
    if (lower_case(variable("AWS_EC2_METADATA_DISABLED")) == "true") return out;
    out.of = aws_role::kind::instance;
    const bool ipv6 = lower_case(first({variable("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"),
                                        property("ec2_metadata_service_endpoint_mode")})) == "ipv6";
    out.url = without_slash(
        first({variable("AWS_EC2_METADATA_SERVICE_ENDPOINT"), property("ec2_metadata_service_endpoint"),
               ipv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"}));
    return out;
  }

  aws_settings read() const {
    aws_settings out;
    out.region =
        first({variable("AWS_REGION"), variable("AWS_DEFAULT_REGION"), property("region"), out.region});
    out.endpoint =
        first({variable("AWS_ENDPOINT_URL_S3"), variable("AWS_ENDPOINT_URL"), property("endpoint_url")});
    out.ca_bundle = first({variable("AWS_CA_BUNDLE"), property("ca_bundle")});
    out.anonymous = where_.anonymous;
    if (!out.anonymous) find_keys(out);
    return out;
  }

 private:
  static std::string without_slash(std::string url) {
    while (url.ends_with('/')) url.pop_back();
    return url;
  }
  bool has_variable(const char* one, const char* other) const {
    return !variable(one).empty() || !variable(other).empty();
  }
  static bool has_keys(const aws_profile& in) {
    return !in.value("aws_access_key_id").empty() || !in.value("aws_secret_access_key").empty();
  }
  /// Whether the profile may have its keys elsewhere: it exists, and names no unsupported way.
  bool profile_is_usable() const {
    if (!credentials_.found() && !config_.found() && profile_ != "default") return false;
    for (const char* const other : unsupported) {
      if (!property(other).empty()) return false;
    }
    return true;
  }

  bool take_web_identity(aws_role& to, bool by_profile) const {
    const auto say = [&](const char* name, const char* of_profile) {
      return first({by_profile ? std::string() : variable(name), property(of_profile)});
    };
    to.token_file = say("AWS_WEB_IDENTITY_TOKEN_FILE", "web_identity_token_file");
    to.arn = say("AWS_ROLE_ARN", "role_arn");
    if (to.token_file.empty() || to.arn.empty()) {
      to.token_file.clear();
      return false;
    }
    to.of = aws_role::kind::web_identity;
    to.session = first({say("AWS_ROLE_SESSION_NAME", "role_session_name"), "wick"});
    to.url =
        without_slash(first({variable("AWS_ENDPOINT_URL_STS"), variable("AWS_ENDPOINT_URL"),
                             "https://sts." + to.region +
                                 (to.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com")}));
    return true;
  }

  bool take_container(aws_role& to) const {
    const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
                      full = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative.empty() && full.empty()) return false;
    to.of = aws_role::kind::container;
    to.url = relative.empty() ? full : "http://169.254.170.2" + relative;
    // A token is sent only encrypted or to this machine.
    const std::string_view host =
        std::string_view(to.url).substr(std::min(to.url.find("://"), to.url.size() - 1));
    const bool here = std::any_of(std::begin(agents), std::end(agents), [&](std::string_view agent) {
      if (!host.starts_with("://" + std::string(agent))) return false;
      const char next = host.size() > 3 + agent.size() ? host[3 + agent.size()] : '/';
      return next == '/' || next == ':' || next == '?' || agent == "127.";
    });
    if (!to.url.starts_with("https://") && !(to.url.starts_with("http://") && here)) {
      throw error("s3: AWS_CONTAINER_CREDENTIALS_FULL_URI is " + printable(shown_url(to.url)) +
                  ", which is neither https nor on this machine; correct it");
    }
    to.token_file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    to.token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    return true;
  }

  static constexpr const char* unsupported[] = {"sso_session", "sso_start_url", "role_arn",
                                                "credential_source", "login_session"};
  static constexpr std::string_view agents[] = {"localhost",     "127.",           "[::1]",
                                                "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};

  static std::string first(std::initializer_list<std::string> of) {
    for (const std::string& text : of) {
      if (!text.empty()) return text;
    }
    return {};
  }
  std::string variable(const char* name) const {
    const char* const text = where_.variable(name);
    return text == nullptr ? std::string() : std::string(trimmed(text));
  }
  std::string path(const char* name, const char* below_home) const {
    const std::string said = variable(name), home = variable("HOME");
    if (said.empty()) return home + below_home;
    return said.starts_with("~/") ? home + said.substr(1) : said;
  }
  std::string property(const std::string& name) const {
    return first({credentials_.value(name), config_.value(name)});
  }
  /// "profile "train" of FILE and FILE"
  std::string of_profile() const {
    return "profile \"" + printable(profile_) + "\" of " + printable(credentials_path_) + " and " +
           printable(config_path_);
  }

  void find_keys(aws_settings& to) const {
    if (where_.profile.empty() &&
        take(to, variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"),
             variable("AWS_SESSION_TOKEN"), "the environment: AWS_ACCESS_KEY_ID or AWS_SECRET_ACCESS_KEY"))
      return;
    for (const aws_profile* const from : {&credentials_, &config_}) {
      if (take(to, from->value("aws_access_key_id"), from->value("aws_secret_access_key"),
               from->value("aws_session_token"),
               of_profile() + ": aws_access_key_id or aws_secret_access_key"))
        return;
    }
    constexpr const char* export_them =
        "export keys as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, for example by "
        "eval \"$(aws configure export-credentials --format env)\"";
    for (const char* const other : unsupported) {
      if (property(other).empty()) continue;
      throw error("s3: " + of_profile() + " has " + other + " and no keys, which wick does not support; " +
                  export_them);
    }
    if (!credentials_.found() && !config_.found() && profile_ != "default")
      throw error("s3: there is no " + of_profile() + "; correct its name");
    throw error("s3: no keys in the environment and in " + of_profile() +
                " (if it has them: is the file readable?), and no role of a container or an instance; " +
                export_them + ", or ask without a signature: .anonymous = true");
  }

  /// False if there are none.
  static bool take(aws_settings& to, std::string access, std::string secret, std::string token,
                   const std::string& where) {
    if (access.empty() && secret.empty()) return false;
    if (access.empty() || secret.empty())
      throw error("s3: " + where + " is missing; give both, or none of them");
    for (const std::string* const text : {&access, &secret, &token}) {
      const auto is_printed = [](char c) { return c > ' ' && c < '\x7F'; };
      if (!std::all_of(text->begin(), text->end(), is_printed))
        throw error("s3: " + where +
                    ", or the session token, has a character that no key has; copy it again");
    }
    to.access_key = std::move(access);
    to.secret_key = std::move(secret);
    to.session_token = std::move(token);
    return true;
  }

  const settings_lookup& where_;
  std::string profile_, credentials_path_, config_path_;
  aws_profile credentials_, config_;
};

}  // namespace

const char* process_variable(const char* name) { return std::getenv(name); }

aws_settings find_aws_settings(const settings_lookup& where) { return aws_reader(where).read(); }

aws_role find_aws_role(const settings_lookup& where) { return aws_reader(where).role(); }

}  // namespace wick::detail
