// What an operator is, its row says (graph/ops/op_row.h): whoever writes its name in a string has a
// list of his own that a new operator is missing from. Counted by folder; the numbers may only
// fall.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/ops/op_row.h"
#include "tests/support/source_text.h"

namespace {

using plimsoll::test::SourceText;

struct Allowed {
  std::string_view folder;
  int names;
  std::string_view why;
};

// Rows, patterns and configs are where names belong; inlining is control flow, which has no rows.
bool may_name(const SourceText& source) {
  for (const std::string_view folder :
       {"graph/ops/", "graph/rewrite/patterns", "graph/onnx/inline", "graph/config/"}) {
    if (source.path.starts_with(folder)) return true;
  }
  return false;
}

int named_operators(const SourceText& source, const std::set<std::string_view>& operators) {
  int found = 0;
  for (const auto& literal : source.literals) found += operators.contains(literal.text) ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("operators' names are written in few places, and in fewer with time") {
  const Allowed allowed[] = {
      {"calibrate/card", 2, "functions of cuDNN's library that have these names"},
      {"estimator/memory", 7, "Torch7's layers, and what frameworks run in place"},
      {"graph/exporter", 3, "how TorchScript gives an array back, masked_fill and positions"},
      {"graph/rewrite", 23, "nodes that passes write anew, adapters among them"},
      {"graph/train", 2, "scores become their softmax under one name; what passes detached"},
  };
  std::set<std::string_view> operators;
  for (const plimsoll::OpRow* row : plimsoll::all_ops()) operators.insert(row->name);
  REQUIRE(operators.size() > 200);
  const SourceText example = plimsoll::test::read_source(
      "if (has_op(std::array{\"LSTM\", \"GRU\"}) || op == \"Conv\") name(\"Converter\");  // "
      "\"Add\"");
  CHECK(named_operators(example, operators) == 3);

  std::map<std::string, int> counts;
  for (const SourceText& source : plimsoll::test::all_sources()) {
    if (may_name(source)) continue;
    counts[source.path.substr(0, source.path.rfind('/'))] += named_operators(source, operators);
  }
  for (const Allowed& row : allowed) {
    const std::string folder(row.folder);
    CAPTURE(row.why);
    CHECK_MESSAGE(counts[folder] <= row.names, folder << ": ask has(node, OpRow::...)");
    counts.erase(folder);
  }
  for (const auto& rest : counts)
    CHECK_MESSAGE(rest.second == 0, rest.first << ": ask has(node, OpRow::...)");
}
