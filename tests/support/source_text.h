// The project's own sources as a reader sees them: string literals, comments and identifiers, each
// with its line. For tests of structure, which ask what is written and not how it is laid out.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll::test {

struct Written {
  std::string text;
  int line = 1;
};

struct SourceText {
  std::string path;               // from the project's folder
  std::vector<Written> literals;  // between the quotes, escapes as they are written
  std::vector<Written> comments;  // with their slashes
  std::vector<Written> identifiers;
};

namespace detail {

// Splits C++ at quotes and comments; what lies between them is cut into identifiers.
class SourceReader {
 public:
  explicit SourceReader(std::string_view source) : rest_(source) {}

  SourceText read() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        take(out_.comments, end_of("\n", 0));
      } else if (rest_.starts_with("/*")) {
        take(out_.comments, end_of("*/", 2) + 2);
      } else if (rest_.starts_with("R\"")) {
        take_raw();
      } else if (rest_.front() == '"' || rest_.front() == '\'') {
        take_quoted(rest_.front());
      } else if (begins_word(rest_.front())) {
        size_t length = 1;
        while (length < rest_.size() && is_word(rest_[length])) ++length;
        take(out_.identifiers, length);
      } else if (std::isdigit(static_cast<unsigned char>(rest_.front()))) {
        skip_number();
      } else {
        skip(1);
      }
    }
    return std::move(out_);
  }

 private:
  static bool begins_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  }
  static bool is_word(char c) {
    return begins_word(c) || std::isdigit(static_cast<unsigned char>(c));
  }

  size_t end_of(std::string_view mark, size_t from) const {
    return std::min(rest_.find(mark, from), rest_.size());
  }
  void skip(size_t length) {
    length = std::min(length, rest_.size());
    for (const char c : rest_.substr(0, length)) line_ += c == '\n';
    rest_.remove_prefix(length);
  }
  void take(std::vector<Written>& into, size_t length) {
    into.push_back({std::string(rest_.substr(0, length)), line_});
    skip(length);
  }
  // Its digits may be set apart by quotes.
  void skip_number() {
    size_t length = 1;
    while (length < rest_.size() && (is_word(rest_[length]) || rest_[length] == '\'')) ++length;
    skip(length);
  }
  void take_raw() {
    const size_t open = end_of("(", 2);
    const std::string close = ")" + std::string(rest_.substr(2, open - 2)) + "\"";
    skip(open + 1);
    take(out_.literals, end_of(close, 0));
    skip(close.size());
  }
  void take_quoted(char quote) {
    size_t length = 1;
    while (length < rest_.size() && rest_[length] != quote) length += rest_[length] == '\\' ? 2 : 1;
    if (quote == '"') out_.literals.push_back({std::string(rest_.substr(1, length - 1)), line_});
    skip(length + 1);
  }

  std::string_view rest_;
  int line_ = 1;
  SourceText out_;
};

}  // namespace detail

inline SourceText read_source(std::string_view source) {
  return detail::SourceReader(source).read();
}

// The C++ of the rooms, without tests.
inline std::vector<SourceText> all_sources() {
  namespace fs = std::filesystem;
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::vector<SourceText> sources;
  for (const auto room : {"graph", "hwdb", "estimator", "calibrate", "monitor"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      sources.push_back(read_source(std::string{std::istreambuf_iterator<char>(in), {}}));
      sources.back().path = fs::relative(entry.path(), root).string();
    }
  }
  return sources;
}

}  // namespace plimsoll::test
