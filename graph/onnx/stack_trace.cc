#include "graph/onnx/stack_trace.h"

#include <algorithm>
#include <array>

#include "graph/base/text.h"

namespace plimsoll::onnx {
namespace {

std::string_view next_line(std::string_view& text) { return trimmed(take_part(text, '\n')); }

// How many brackets a line opens that it does not close.
int open_brackets(std::string_view line) {
  const auto count = [&](char c) { return std::count(line.begin(), line.end(), c); };
  return static_cast<int>(count('(') + count('[') + count('{') - count(')') - count(']') -
                          count('}'));
}

bool is_in_names(char c) {
  return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

// What is left of the first = or += that is in no bracket. A keyword argument on a line of its own
// has no spaces there, by PEP 8, and ends in a comma or closes its call.
std::string_view assigned(std::string_view line) {
  constexpr std::string_view kOperators = "+-*/@%&|^";
  for (size_t at = line.find('='); at != line.npos && at > 0; at = line.find('=', at + 1)) {
    if (open_brackets(line.substr(0, at)) != 0) continue;
    const bool compares = line.substr(at + 1).starts_with('=') ||
                          std::string_view("=!<>:").find(line[at - 1]) != std::string_view::npos;
    if (compares) continue;
    const bool spaced = line[at - 1] == ' ';
    if (!spaced && (line.ends_with(',') || open_brackets(line) < 0)) return {};
    const size_t end = line.find_last_not_of(kOperators, at - 1);
    return trimmed(line.substr(0, end + 1));
  }
  return {};
}

// The names that a statement assigns: "x", "self.x", "x, mask", "outputs: Output", but no item of a
// list.
std::string names_of_one(std::string_view statement) {
  std::string_view targets = assigned(statement);
  if (targets.starts_with('(') && targets.ends_with(')'))
    targets = targets.substr(1, targets.size() - 2);
  if (const size_t type = targets.find(": "); type != std::string_view::npos)
    targets = targets.substr(0, type);
  std::string names;
  while (!targets.empty()) {
    const std::string_view name = trimmed(take_part(targets, ','));
    if (name.empty()) continue;
    if (!std::all_of(name.begin(), name.end(), is_in_names)) return {};
    if (!names.empty()) names += ',';
    names += name;
  }
  return names;
}

// Those of a line, of all its statements: "h, c = x, x; g = h" is "h,c,g".
std::string names_assigned(std::string_view line) {
  if (line.find_first_of("\"'#") != line.npos) return names_of_one(line);
  std::string names;
  while (!line.empty()) {
    const std::string one = names_of_one(trimmed(take_part(line, ';')));
    if (!names.empty() && !one.empty()) names += ',';
    names += one;
  }
  return names;
}

// "x += y", or a call of add_().
bool adds_in_place(std::string_view line) {
  return line.find("+=") != line.npos || line.find(".add_(") != line.npos;
}

// 'File ".../vit.py", line 66, in forward' is "vit.py:66".
std::string place(std::string_view line) {
  const size_t open = line.find('"');
  const size_t close = line.find('"', open + 1);
  constexpr std::string_view kLine = "\", line ";
  if (close == std::string_view::npos || line.substr(close, kLine.size()) != kLine) return {};
  std::string_view file = line.substr(open + 1, close - open - 1);
  file = file.substr(file.find_last_of("/\\") + 1);
  const std::string_view number = line.substr(close + kLine.size());
  const size_t digits = number.find_first_not_of("0123456789");
  if (digits == 0 || file.find_first_of(":;") != std::string_view::npos) return {};
  return std::string(file) + ":" + std::string(number.substr(0, digits));
}

// What transformers' models ask for their masks (masking_utils.py, and the name that several of
// them call by): a trace that lists calls of forward() alone has no line of it.
constexpr std::array<std::string_view, 7> kMaskMakers = {
    "create_causal_mask(",
    "create_bidirectional_mask(",
    "create_chunked_causal_mask(",
    "create_sliding_window_causal_mask(",
    "create_masks_for_generate(",
    "create_bidirectional_sliding_window_mask(",
    "mask_function("};

bool asks_for_mask(std::string_view where, std::string_view line) {
  return where.starts_with("modeling_") &&
         std::ranges::any_of(kMaskMakers,
                             [&](std::string_view maker) { return line.find(maker) != line.npos; });
}

}  // namespace

std::string statements_of(std::string_view stack_trace) {
  std::string statements;
  for (std::string_view line; !stack_trace.empty();) {
    line = next_line(stack_trace);
    if (!line.starts_with("File \"")) continue;
    const std::string where = place(line);
    if (where.empty()) return {};
    if (!statements.empty()) statements += ';';
    statements += where;
    if (stack_trace.starts_with("  File \"") || stack_trace.starts_with("File \"")) continue;
    const std::string_view source = next_line(stack_trace);
    // Code that a tracer generated lets go of each value after its last use.
    const bool generated = where.starts_with('<');
    const std::string names = generated ? std::string() : names_assigned(source);
    if (!names.empty()) statements += " " + names + (adds_in_place(source) ? "+=" : "");
    if (open_brackets(source) > 0) statements += "...";
    if (trimmed(stack_trace).empty() && asks_for_mask(where, source))
      statements += ";masking_utils.py:1";
  }
  return statements;
}

}  // namespace plimsoll::onnx
