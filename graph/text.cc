#include "graph/text.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <unordered_map>

namespace plimsoll {
namespace {

constexpr int kDeepest = 64;  // nesting of an extent's parentheses

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' ||
         c == ':' || c == '-';
}
bool is_symbol_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

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
    const char* first = text_.data() + at_;
    const char* last = text_.data() + end;
    int64_t integer = 0;
    double real = 0;
    if (const auto [stop, code] = std::from_chars(first, last, integer);
        code == std::errc() && stop == last) {
      at_ = end;
      return integer;
    }
    if (const auto [stop, code] = std::from_chars(first, last, real);
        code == std::errc() && stop == last) {
      at_ = end;
      return real;
    }
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
    const Dim inside = read_sum(in, depth + 1);
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

// Builds a graph line by line.
class GraphReader {
 public:
  Result<void> line(std::string_view text, int number) {
    Reader in(text, number);
    if (in.at_end() || in.peek("#")) return {};
    if (in.take_keyword("opset")) {
      graph_.opset = in.integer();
    } else if (in.take_keyword("baked")) {
      graph_.baked_batch = in.integer();
      in.expect("as");
      graph_.batch_symbol = in.name();
    } else if (in.take_keyword("default")) {
      std::string name = in.name();
      in.expect("=");
      graph_.defaults[std::move(name)] = in.integer();
    } else if (in.take_keyword("input")) {
      declare(in, TensorKind::kInput, false);
    } else if (in.take_keyword("param")) {
      declare(in, TensorKind::kParameter, false);
    } else if (in.take_keyword("const")) {
      declare(in, TensorKind::kParameter, true);
    } else if (in.take_keyword("output")) {
      graph_.outputs.push_back(use(in));
    } else {
      node(in);
    }
    if (!in.failed() && !in.at_end() && !in.peek("#")) in.fail("expected the end of the line");
    if (in.failed()) return in.failure();
    return {};
  }
  Graph take() { return std::move(graph_); }

 private:
  TensorId define(Reader& in, Tensor tensor) {
    const auto [at, fresh] =
        names_.try_emplace(tensor.name, static_cast<TensorId>(graph_.tensors.size()));
    if (!fresh) in.fail(fmt::format("'{}' is defined twice", tensor.name));
    return fresh ? graph_.add_tensor(std::move(tensor)) : at->second;
  }

  TensorId use(Reader& in) {
    const std::string name = in.name();
    if (name == "_") return kNoTensor;
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    in.fail(fmt::format("'{}' is not defined above", name));
    return kNoTensor;
  }

  void declare(Reader& in, TensorKind kind, bool with_contents) {
    Tensor tensor;
    tensor.name = in.name();
    tensor.kind = kind;
    in.expect(":");
    TensorType type = read_type(in);
    tensor.dtype = type.dtype;
    tensor.shape = std::move(type.shape);
    if (with_contents) {
      in.expect("=");
      tensor.contents = read_contents(in, tensor.dtype);
    }
    if (in.failed()) return;
    const TensorId id = define(in, std::move(tensor));
    if (kind == TensorKind::kInput) graph_.inputs.push_back(id);
  }

  void node(Reader& in) {
    Node node;
    std::vector<std::string> outputs;
    do {
      outputs.push_back(in.name());
    } while (!in.failed() && in.take(","));
    in.expect("=");
    node.op = in.word(is_name_character, "an operator");
    if (const size_t colon = node.op.rfind(':'); colon != std::string::npos) {
      node.domain = node.op.substr(0, colon);
      node.op = node.op.substr(colon + 1);
    }
    in.expect("(");
    if (!in.take(")")) {
      do {
        node.inputs.push_back(use(in));
      } while (!in.failed() && in.take(","));
      in.expect(")");
    }
    if (in.peek("{")) read_attributes(in, node.attributes);
    if (in.take("name=")) node.name = in.quoted();
    if (in.take("module=")) node.module = in.quoted();
    for (std::string& name : outputs) {
      Tensor tensor;
      tensor.name = std::move(name);
      const bool omitted = tensor.name == "_";
      node.outputs.push_back(omitted ? kNoTensor : define(in, std::move(tensor)));
    }
    if (!in.failed()) graph_.add_node(std::move(node));
  }

  Graph graph_;
  std::unordered_map<std::string, TensorId> names_;
};

}  // namespace

Result<Dim> parse_dim(std::string_view text) {
  Reader in(text);
  const Dim dim = read_sum(in, 0);
  if (!in.failed() && !in.at_end()) in.fail("expected the end of the extent");
  if (in.failed()) return in.failure();
  return dim;
}

Result<TensorType> parse_type(std::string_view text) {
  Reader in(text);
  TensorType type = read_type(in);
  if (!in.failed() && !in.at_end()) in.fail("expected the end of the type");
  if (in.failed()) return in.failure();
  return type;
}

Result<Graph> parse_text(std::string_view text) {
  GraphReader reader;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    if (auto read = reader.line(text.substr(0, end), number); !read) {
      return tl::unexpected(read.error());
    }
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.take();
}

Result<Example> parse_example(std::string_view domain, std::string_view op, std::string_view text) {
  Example example;
  Graph& graph = example.graph;
  Node node;
  node.op = op;
  node.domain = domain;
  Reader in(text);
  while (!in.failed() && !in.peek("->") && !in.peek("{") && !in.at_end()) {
    if (in.take("_")) {
      node.inputs.push_back(kNoTensor);
      continue;
    }
    TensorType type = read_type(in);
    Tensor tensor;
    tensor.name = fmt::format("in{}", node.inputs.size());
    tensor.dtype = type.dtype;
    tensor.shape = std::move(type.shape);
    if (in.take("=")) tensor.contents = read_contents(in, tensor.dtype);
    tensor.kind = tensor.contents ? TensorKind::kParameter : TensorKind::kInput;
    const TensorId id = graph.add_tensor(std::move(tensor));
    if (graph.tensors[id].kind == TensorKind::kInput) graph.inputs.push_back(id);
    node.inputs.push_back(id);
  }
  if (in.peek("{")) read_attributes(in, node.attributes);
  graph.opset = node.attributes.integer("opset", 23);
  in.expect("->");
  while (!in.failed() && !in.at_end() && !in.peek("|")) {
    if (in.take("_")) {
      node.outputs.push_back(kNoTensor);
      example.outputs.emplace_back();
      example.contents.emplace_back();
      continue;
    }
    TensorType type = read_type(in);
    Tensor tensor;
    tensor.name = fmt::format("out{}", node.outputs.size());
    node.outputs.push_back(graph.add_tensor(std::move(tensor)));
    example.contents.push_back(in.take("=") ? read_contents(in, type.dtype) : nullptr);
    example.outputs.push_back(std::move(type));
  }
  if (in.take("|")) example.rest = in.rest();
  if (in.failed()) return in.failure();
  for (const TensorId out : node.outputs) {
    if (out != kNoTensor) graph.outputs.push_back(out);
  }
  graph.add_node(std::move(node));
  return example;
}

}  // namespace plimsoll
