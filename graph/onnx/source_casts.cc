#include "graph/onnx/source_casts.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/text.h"

namespace plimsoll::onnx {
namespace {

constexpr size_t kNowhere = std::string_view::npos;

// The source of the innermost call; empty where Python could not find it.
std::string_view innermost_line(std::string_view stack_trace) {
  const std::string_view text = trimmed(stack_trace);
  const size_t begin = text.rfind('\n');
  const std::string_view line = trimmed(text.substr(begin == kNowhere ? 0 : begin));
  return line.starts_with("File \"") ? std::string_view{} : line;
}

bool is_opening(char c) { return c == '(' || c == '[' || c == '{'; }
bool is_closing(char c) { return c == ')' || c == ']' || c == '}'; }

// Where the bracket at `open` is closed; kNowhere: not on this line.
size_t closing(std::string_view line, size_t open) {
  int depth = 0;
  for (size_t i = open; i < line.size(); ++i) {
    depth += is_opening(line[i]) - is_closing(line[i]);
    if (depth == 0) return i;
  }
  return kNowhere;
}

// The bracket around position `at`.
size_t opening(std::string_view line, size_t at) {
  int depth = 0;
  while (at-- > 0) {
    depth += is_closing(line[at]) - is_opening(line[at]);
    if (depth < 0) return at;
  }
  return kNowhere;
}

bool is_in_path(char c) {
  return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// The name, or path of names, that ends before `end`: "self.weight"; empty after a bracket.
std::string_view path_before(std::string_view line, size_t end) {
  size_t begin = end;
  while (begin > 0 && is_in_path(line[begin - 1])) --begin;
  const bool of_expression = begin < end && line[begin] == '.';
  return of_expression ? std::string_view{} : line.substr(begin, end - begin);
}

// "float" or "given", or nothing: a device, or whole numbers.
std::string_view type_named(std::string_view argument) {
  constexpr std::string_view kKeyword = "dtype=";
  if (argument.starts_with(kKeyword)) argument.remove_prefix(kKeyword.size());
  if (argument == "torch.float32" || argument == "torch.float") return "float";
  return argument.ends_with("dtype") || argument.ends_with("_type") ? "given" : "";
}

std::string_view type_among(std::string_view arguments) {
  while (!arguments.empty()) {
    size_t end = 0;
    while (end < arguments.size() && arguments[end] != ',') {
      if (is_opening(arguments[end])) end = std::min(closing(arguments, end), arguments.size() - 1);
      ++end;
    }
    const std::string_view type = type_named(trimmed(arguments.substr(0, end)));
    if (!type.empty()) return type;
    arguments.remove_prefix(std::min(end + 1, arguments.size()));
  }
  return {};
}

void add(std::string& casts, std::string_view what, std::string_view type) {
  if (type.empty() || what.empty()) return;
  if (!casts.empty()) casts += ',';
  casts.append(what).append(">").append(type);
}

// x.to(type), x.type_as(y), x.float(); `open` is the method's bracket.
void add_method(std::string& casts, std::string_view line, size_t dot, size_t open) {
  const std::string_view method = line.substr(dot + 1, open - dot - 1);
  const size_t close = closing(line, open);
  if (close == kNowhere) return;
  std::string_view type = type_among(line.substr(open + 1, close - open - 1));
  if (method == "float" && close == open + 1) type = "float";
  if (method == "type_as") type = "given";
  const std::string_view path = path_before(line, dot);
  const bool ends_line = close + 1 == line.size();
  add(casts, path.empty() && ends_line ? "()" : path, type);
}

// softmax(x, dtype=torch.float32)
void add_keyword(std::string& casts, std::string_view line, size_t at) {
  const size_t open = opening(line, at);
  if (open == kNowhere) return;
  const std::string_view path = path_before(line, open);
  const std::string_view function = path.substr(path.rfind('.') + 1);
  const size_t end = std::min(line.find_first_of(",)", at), line.size());
  if (function.empty() || function == "to" || function == "type") return;
  add(casts, std::string(function) + "()", type_named(line.substr(at, end - at)));
}

// The values that a traced line reads, in order: "t_1" and "to_2" of
// "mm = torch.ops.aten.matmul.default(t_1, to_2);  t_1 = to_2 = None". Those that a cast made are
// called "to", "to_1" and so on.
std::string casts_of_traced(std::string_view line) {
  std::string casts;
  const size_t open = line.find('(');
  const size_t close = open == kNowhere ? kNowhere : closing(line, open);
  if (close == kNowhere) return casts;
  std::string_view arguments = line.substr(open + 1, close - open - 1);
  for (int position = 1; !arguments.empty();) {
    const std::string_view name = trimmed(take_part(arguments, ','));
    if (name.empty() || !is_in_path(name[0]) || (name[0] >= '0' && name[0] <= '9')) continue;
    if (name == "to" || name.starts_with("to_")) add(casts, fmt::format("#{}", position), "float");
    ++position;
  }
  return casts;
}

}  // namespace

std::string casts_of(std::string_view stack_trace) {
  const std::string_view line = innermost_line(stack_trace);
  if (line.find(" = torch.ops.aten.") != kNowhere) return casts_of_traced(line);
  std::string casts;
  for (size_t at = 0; at < line.size(); ++at) {
    const std::string_view rest = line.substr(at);
    for (const std::string_view method : {".to(", ".type(", ".type_as(", ".float("})
      if (rest.starts_with(method)) add_method(casts, line, at, at + method.size() - 1);
    if (rest.starts_with("dtype=") && at > 0 && !is_in_path(line[at - 1]))
      add_keyword(casts, line, at);
  }
  return casts;
}

bool writes_part(std::string_view stack_trace) {
  const std::string_view line = innermost_line(stack_trace);
  for (const std::string_view sign : {"] = ", "] += ", "] -= ", "] *= ", "] /= ", "_("}) {
    if (const size_t at = line.find(sign); at != kNowhere && at > 0) return true;
  }
  return false;
}

bool reshapes(std::string_view stack_trace) {
  const std::string_view line = innermost_line(stack_trace);
  const auto calls = [&](std::string_view method) { return line.find(method) != kNowhere; };
  return (calls(".reshape(") || calls(".flatten(")) && !calls(".contiguous(");
}

bool makes_contiguous(std::string_view stack_trace) {
  const std::string_view line = innermost_line(stack_trace);
  size_t found = 0;
  for (size_t at = 0; at < line.size(); ++at) {
    for (const std::string_view method : {".transpose(", ".permute("}) {
      if (!line.substr(at).starts_with(method)) continue;
      const size_t close = closing(line, at + method.size() - 1);
      if (close == kNowhere || !line.substr(close + 1).starts_with(".contiguous()")) return false;
      ++found;
    }
  }
  return found > 0;
}

}  // namespace plimsoll::onnx
