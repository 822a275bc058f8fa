// The words of graph/ir/text.h's notation: what its parsers read a line with.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/ir/graph.h"

namespace plimsoll::notation {

// What stands for NodeNotes that are true, after a node's module.
inline constexpr std::pair<std::string_view, bool NodeNotes::*> kNotes[] = {
    {"contiguous", &NodeNotes::contiguous},   {"pad_merged", &NodeNotes::pad_merged},
    {"norm_merged", &NodeNotes::norm_merged}, {"bias_removed", &NodeNotes::bias_removed},
    {"fused_norm", &NodeNotes::fused_norm},   {"plain_norm", &NodeNotes::plain_norm},
    {"chunks", &NodeNotes::chunks},           {"unbound", &NodeNotes::unbound},
    {"reshapes", &NodeNotes::reshapes},       {"values_alone", &NodeNotes::values_alone},
    {"positions", &NodeNotes::positions},     {"widens", &NodeNotes::widens},
    {"narrows", &NodeNotes::narrows},         {"no_autocast", &NodeNotes::no_autocast},
    {"no_grad", &NodeNotes::no_grad},         {"free", &NodeNotes::free},
    {"on_device", &NodeNotes::on_device}};

bool is_name_character(char c);
bool is_symbol_character(char c);

// Takes the first line off `text`: up to its end or a semicolon outside of quotes.
std::string_view next_line(std::string_view& text);

// Reads one line from left to right. The first error sticks, and then nothing is read any more.
class Reader {
 public:
  explicit Reader(std::string_view text, int line = 1) : text_(text), line_(line) {}

  bool failed() const { return !problem_.empty(); }
  tl::unexpected<Diagnostics> failure() const {
    return error("E290", problem_,
                 {.file = {}, .line = line_, .column = static_cast<int>(column_) + 1, .node = {}});
  }
  void fail(std::string problem) {
    if (failed()) return;
    problem_ = std::move(problem);
    column_ = at_;
    at_ = text_.size();
  }

  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  bool peek(std::string_view token) {
    skip_spaces();
    return text_.substr(at_, token.size()) == token;
  }
  bool take(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail(fmt::format("expected '{}'", token));
  }
  // A keyword is a whole word that a name does not follow: "input x".
  bool take_keyword(std::string_view word) {
    if (!peek(word)) return false;
    const size_t end = at_ + word.size();
    if (end < text_.size() && text_[end] != ' ') return false;
    at_ = end;
    return true;
  }
  std::string_view rest() {
    skip_spaces();
    return text_.substr(at_);
  }

  std::string word(bool (*belongs)(char), const char* what) {
    skip_spaces();
    const size_t start = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    if (at_ == start) fail(fmt::format("expected {}", what));
    return std::string(text_.substr(start, at_ - start));
  }
  std::string name() {
    if (peek("\"")) return quoted();
    std::string read = word(is_name_character, "a name");
    if (!read.empty() && read.back() == ':') {  // "x: f32[2]"
      read.pop_back();
      --at_;
    }
    return read;
  }
  std::string quoted() {
    expect("\"");
    std::string out;
    while (!failed() && at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) c = text_[at_++] == 'n' ? '\n' : text_[at_ - 1];
      out += c;
    }
    expect("\"");
    return out;
  }

  AttributeValue number() {
    skip_spaces();
    size_t end = at_;
    while (end < text_.size() &&
           (is_symbol_character(text_[end]) || text_[end] == '-' || text_[end] == '+')) {
      ++end;
    }
    const std::string_view text = text_.substr(at_, end - at_);
    const auto integer = parse_number<int64_t>(text);
    const auto real = parse_number<double>(text);
    if (integer || real) at_ = end;
    if (integer) return *integer;
    if (real) return *real;
    fail("expected a number");
    return int64_t{0};
  }
  int64_t integer() {
    const AttributeValue value = number();
    if (const auto* i = std::get_if<int64_t>(&value)) return *i;
    fail("expected a whole number");
    return 0;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  size_t column_ = 0;
  std::string problem_;
};

// An extent; a type with its extents; contents in brackets; attributes in braces. Failures stick to
// the reader.
Dim read_dim(Reader& in);
TensorType read_type(Reader& in);
std::shared_ptr<const Contents> read_contents(Reader& in, DType dtype);
void read_attributes(Reader& in, Attributes& attributes);

}  // namespace plimsoll::notation
