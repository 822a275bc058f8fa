// The rows of patterns, each by its own example and near miss, and the notation they are in.
#include "graph/rewrite/pattern.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/ir/text_reader.h"
#include "graph/rewrite/patterns.h"
#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using patterns::Expression;
using patterns::Pattern;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = notation::next_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

bool is_declaration(std::string_view line) {
  const std::string_view word = line.substr(0, line.find(' '));
  return word == "input" || word == "param" || word == "const" || word == "opset";
}

// What a line defines: "s" of "s = Sigmoid(x)" and of "input s: f32[B,8]", or "opset".
std::string_view defined(std::string_view line) {
  if (line.starts_with("opset")) return line.substr(0, 5);
  if (is_declaration(line)) line.remove_prefix(line.find(' ') + 1);
  return line.substr(0, line.find_first_of(" :"));
}

// The example with the near miss's lines in place of its own; lines of new names before the next
// of those, or at the end.
std::vector<std::string> near_miss_of(const Pattern& row) {
  std::vector<std::string> lines = lines_of(row.example), pending;
  for (const std::string& line : lines_of(row.near_miss)) {
    const auto at = std::find_if(lines.begin(), lines.end(), [&](const std::string& old) {
      return defined(old) == defined(line);
    });
    if (at != lines.end()) {
      *at = line;
      lines.insert(at, pending.begin(), pending.end());
      pending.clear();
    } else if (is_declaration(line)) {
      lines.insert(lines.begin(), line);
    } else {
      pending.push_back(line);
    }
  }
  lines.insert(lines.end(), pending.begin(), pending.end());
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// A graph that returns what no line reads.
std::string returning(const std::vector<std::string>& lines) {
  std::string text = joined(lines);
  const auto graph = parse_text(text);
  REQUIRE_MESSAGE(graph, text << graph.error().front().message);
  const Consumers readers(*graph);
  for (const Node& node : graph->nodes) {
    for (const TensorId out : node.outputs) {
      if (readers[out].empty()) text += "output " + graph->tensors[out].name + "\n";
    }
  }
  return text.find("opset") == text.npos ? "opset 20\n" + text : text;
}

// The lines of a graph's nodes, without their types.
std::string nodes_of(const Graph& graph) {
  std::vector<std::string> nodes;
  for (const std::string& line : lines_of(to_text(graph))) {
    if (is_declaration(line) || line.starts_with("output ")) continue;
    nodes.push_back(line.substr(0, line.find("  #")));
  }
  return joined(nodes);
}

}  // namespace

TEST_CASE("every pattern recovers its example and leaves its near miss") {
  size_t rows = 0;
  for (const auto& table : pattern_tables()) {
    const patterns::PatternSet set(table);
    for (const Diagnostic& error : set.errors()) FAIL_CHECK(error.message);
    for (const Pattern& row : table) {
      CAPTURE(row.name);
      CAPTURE(row.match);
      const std::string producer = row.exporter == Exporter::kOther ? "tf2onnx" : "pytorch 2.9";
      const std::string example = returning(lines_of(row.example));
      CHECK(nodes_of(test::recovered(example, producer)) ==
            joined(lines_of(row.after.empty() ? row.result : row.after)));
      const std::string miss = returning(near_miss_of(row));
      CHECK(nodes_of(test::recovered(miss, producer)) == nodes_of(test::folded(miss)));
      ++rows;
    }
  }
  CHECK(rows > 40);
}

namespace {

// Whether the last node of a graph is as the pattern says.
bool matches(std::string_view pattern, const std::string& text) {
  const auto expression = Expression::parse(pattern);
  REQUIRE_MESSAGE(expression, expression.error().front().message);
  auto graph = parse_text(
      "input a: f32[4]\ninput b: f32[4]\nparam w: f32[4]\n"
      "const two: f32[] = [2]\n" +
      text);
  REQUIRE_MESSAGE(graph, graph.error().front().message);
  const Rewrite rewrite(*graph);
  return expression->match(rewrite, static_cast<NodeId>(graph->nodes.size() - 1)).has_value();
}

}  // namespace

TEST_CASE("a pattern is in the notation of graphs, with holes") {
  const std::string exp = "e = Exp(a)\n";
  CHECK(matches("y = Add(Exp(x), 2)", exp + "y = Add(e, two)"));
  CHECK(matches("y = Add(Exp(x), 2)", exp + "y = Add(two, e)"));  // it commutes
  CHECK_FALSE(matches("y = Sub(Exp(x), 2)", exp + "y = Sub(two, e)"));
  CHECK_FALSE(matches("y = Add(Exp(x), 3)", exp + "y = Add(e, two)"));
  CHECK(matches("y = Add(Exp(x), x)", exp + "y = Add(a, e)"));
  CHECK_FALSE(matches("y = Add(Exp(x), x)", exp + "y = Add(b, e)"));
  CHECK(matches("e = Exp|Log(x); y = Mul(e, e)", exp + "y = Mul(e, e)"));
  CHECK_FALSE(matches("y = Mul(Exp(x)!, _)", exp + "y = Mul(e, e)"));
  CHECK(matches("y = Neg(Cast?(Exp(x)))", exp + "y = Neg(e)"));
  CHECK(matches("y = Neg(Cast?(Exp(x)))", exp + "c = Cast(e) {to=1}\ny = Neg(c)"));
  CHECK(matches("y = Mul(x, $v)", "y = Mul(w, a)"));
  CHECK_FALSE(matches("y = Mul(x, $v)", "y = Mul(b, a)"));
  CHECK(matches("e = Exp(x) | Neg(x); y = Log(e)", "n = Neg(a)\ny = Log(n)"));
  CHECK(matches("l, r = Split(x); y = Sub(l, r)", "c, d = Split(a)\ny = Sub(c, d)"));
  CHECK_FALSE(matches("l, r = Split(x); y = Sub(l, r)", "c, d = Split(a)\ny = Sub(d, c)"));
  CHECK(matches("y = ReduceSum(x, axes?) {keepdims=0}", "y = ReduceSum(a) {keepdims=0}"));
  CHECK_FALSE(matches("y = ReduceSum(x, axes?) {keepdims=0}", "y = ReduceSum(a) {keepdims=1}"));
  const std::string product = "m = Mul(a, b)\nn = Mul(two, m)\n";
  CHECK(matches("y = Mul*(2, x, x, z)", product + "y = Mul(n, b)"));
  CHECK_FALSE(matches("y = Mul*(2, x, x, z)", product + "k = Neg(m)\ny = Mul(n, b)"));
}

TEST_CASE("an order of operands that its surroundings refute is taken back") {
  // The first order of the inner sum binds x to what the outer one does not have.
  CHECK(matches("s = Add(x, z); y = Sub(s, x)", "s = Add(a, b)\ny = Sub(s, b)"));
}

TEST_CASE("what is not in the notation is told with its place") {
  for (const char* text : {"y = Add(a", "y Add(a, b)", "= Add(a)", "y = Add(a) z", "y = Add(a,, b)",
                           "y = Exp(a); y = Neg(a)", "y = Neg(a) {axis}"})
    CHECK_FALSE(Expression::parse(text));
}

}  // namespace plimsoll
