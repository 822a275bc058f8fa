#include "graph/ir/text_reader.h"

#include <algorithm>
#include <cctype>

namespace plimsoll::notation {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
         c == ':' || c == '-';
}
bool is_symbol_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

std::string_view next_line(std::string_view& text) {
  bool quoted = false, comment = false;
  size_t end = 0;
  for (; end < text.size() && text[end] != '\n'; ++end) {
    if (text[end] == ';' && !quoted && !comment) break;
    if (text[end] == '"' && (end == 0 || text[end - 1] != '\\')) quoted = !quoted;
    comment = comment || (!quoted && text.substr(end, 2) == "# ");
  }
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

namespace {

constexpr int kDeepest = 64;  // nesting of an extent's parentheses

Dim read_sum(Reader& in, int depth);

Dim read_pair(Reader& in, int depth, std::string_view between,
              Dim (*make)(const Dim&, const Dim&)) {
  in.expect("(");
  const Dim left = read_sum(in, depth + 1);
  in.expect(between);
  const Dim right = read_sum(in, depth + 1);
  in.expect(")");
  return in.failed() ? Dim() : make(left, right);
}

Dim read_factor(Reader& in, int depth) {
  if (depth > kDeepest) in.fail("nested too deeply");
  if (in.take("(")) {
    Dim inside = read_sum(in, depth + 1);
    in.expect(")");
    return inside;
  }
  if (const auto next = in.rest();
      !next.empty() && std::isdigit(static_cast<unsigned char>(next[0]))) {
    int64_t value = 0;
    const auto [stop, code] = std::from_chars(next.data(), next.data() + next.size(), value);
    if (code != std::errc()) in.fail("a number beyond 64 bits");
    in.take(next.substr(0, static_cast<size_t>(stop - next.data())));
    return value;
  }
  std::string symbol = in.word(is_symbol_character, "a number or a symbol");
  if (in.peek("(")) {
    if (symbol == "floor") return read_pair(in, depth, "/", floor_div);
    if (symbol == "ceil") return read_pair(in, depth, "/", ceil_div);
    if (symbol == "max") return read_pair(in, depth, ",", max);
    if (symbol == "min") return read_pair(in, depth, ",", min);
    in.fail("only floor, ceil, max and min are functions");
  }
  return in.failed() ? Dim() : Dim::symbol(std::move(symbol));
}

Dim read_product(Reader& in, int depth) {
  Dim product = read_factor(in, depth);
  while (!in.failed() && in.take("*")) product *= read_factor(in, depth);
  return product;
}

Dim read_sum(Reader& in, int depth) {
  Dim sum = in.take("-") ? Dim(0) - read_product(in, depth) : read_product(in, depth);
  while (!in.failed()) {
    if (in.take("+")) {
      sum += read_product(in, depth);
    } else if (!in.peek("->") && in.take("-")) {
      sum -= read_product(in, depth);
    } else {
      break;
    }
  }
  return sum;
}

AttributeValue read_list(Reader& in) {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  in.expect("[");
  if (in.take("]")) return integers;
  bool any_real = false;
  do {
    if (in.peek("\"")) {
      strings.push_back(in.quoted());
      continue;
    }
    const AttributeValue value = in.number();
    const auto* whole = std::get_if<int64_t>(&value);
    any_real = any_real || !whole;
    integers.push_back(whole ? *whole : 0);
    reals.push_back(whole ? static_cast<double>(*whole) : std::get<double>(value));
  } while (!in.failed() && in.take(","));
  in.expect("]");
  if (!strings.empty() && !reals.empty()) in.fail("a list of both strings and numbers");
  if (!strings.empty()) return strings;
  if (any_real) return reals;
  return integers;
}

}  // namespace

Dim read_dim(Reader& in) { return read_sum(in, 0); }

TensorType read_type(Reader& in) {
  TensorType type;
  const std::string name = in.word(is_symbol_character, "a data type");
  const auto dtype = dtype_from_short_name(name);
  if (!dtype) in.fail(fmt::format("'{}' is no data type", name));
  type.dtype = dtype.value_or(DType::kUndefined);
  in.expect("[");
  if (in.take("]")) return type;
  do {
    type.shape.push_back(read_sum(in, 0));
  } while (!in.failed() && in.take(","));
  in.expect("]");
  return type;
}

std::shared_ptr<const Contents> read_contents(Reader& in, DType dtype) {
  auto contents = std::make_shared<Contents>();
  in.expect("[");
  if (in.take("]")) return contents;
  do {
    const AttributeValue value = in.number();
    const auto* whole = std::get_if<int64_t>(&value);
    if (is_float(dtype)) {
      contents->reals.push_back(whole ? static_cast<double>(*whole) : std::get<double>(value));
    } else if (whole) {
      contents->integers.push_back(*whole);
    } else {
      in.fail("a real number in an integer tensor");
    }
  } while (!in.failed() && in.take(","));
  in.expect("]");
  return contents;
}

void read_attributes(Reader& in, Attributes& attributes) {
  in.expect("{");
  if (in.take("}")) return;
  do {
    std::string name = in.word(is_symbol_character, "an attribute's name");
    in.expect("=");
    if (in.peek("\"")) {
      attributes.set(std::move(name), in.quoted());
    } else if (in.peek("[")) {
      attributes.set(std::move(name), read_list(in));
    } else {
      attributes.set(std::move(name), in.number());
    }
  } while (!in.failed() && in.take(","));
  in.expect("}");
}

}  // namespace plimsoll::notation
