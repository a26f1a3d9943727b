// The command lines of the examples: one positional argument and whole numbers by name. Not a part of wick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

class arguments {
 public:
  /// Prints the usage and ends the program for --help.
  arguments(int argc, char** argv, const std::string& what,
            std::initializer_list<std::pair<const std::string, std::optional<std::int64_t>>> options)
      : numbers_(options) {
    const std::string usage = [&] {
      std::string text = "usage: " + std::string(argv[0]) + " " + what;
      for (const auto& [name, value] : options)
        text += " [--" + name + " " + (value ? std::to_string(*value) : "N") + "]";
      return text;
    }();
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "--help" || word == "-h") {
        std::printf("%s\n", usage.c_str());
        std::exit(0);
      }
      if (!word.starts_with("--")) {
        if (!positional_.empty())
          throw std::invalid_argument("one argument too many, '" + word + "'; " + usage);
        positional_ = word;
        continue;
      }
      const auto found = numbers_.find(word.substr(2));
      if (found == numbers_.end()) throw std::invalid_argument("no option " + word + "; " + usage);
      if (i + 1 == argc) throw std::invalid_argument(word + " needs a number; " + usage);
      char* end = nullptr;
      found->second = std::strtoll(argv[++i], &end, 10);
      if (*end != '\0' || end == argv[i] || *found->second < 0) {
        throw std::invalid_argument(word + " needs a number, found '" + argv[i] + "'");
      }
    }
    if (positional_.empty() != what.empty()) throw std::invalid_argument(usage);
  }
  std::int64_t operator[](const std::string& name) const { return numbers_.at(name).value(); }
  /// Nothing where it has no default and is not given.
  std::optional<std::size_t> count(const std::string& name) const { return numbers_.at(name); }
  const std::string& positional() const { return positional_; }

 private:
  std::map<std::string, std::optional<std::int64_t>> numbers_;
  std::string positional_;
};
