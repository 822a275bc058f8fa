// What an operator is, its row says (graph/ops/op_row.h): whoever compares names has a list of his
// own that a new operator is missing from. Counted by folder; the numbers may only fall.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "graph/ops/op_row.h"

namespace {

namespace fs = std::filesystem;

struct Allowed {
  std::string_view folder;
  int comparisons;
  std::string_view why;
};

// Rows and patterns are where names belong; inlining is control flow, which has no rows.
bool may_name(const std::string& file) {
  return file.starts_with("graph/ops/") || file.starts_with("graph/rewrite/patterns") ||
         file.starts_with("graph/onnx/inline");
}

// Comparisons with an operator's name in a line: `node.op == "Conv"`, `op != "Add"`.
int compared_names(const std::string& line, const std::set<std::string_view>& operators) {
  static const std::regex kComparison("\\bop *[!=]= *\"([A-Za-z0-9]+)\"");
  int found = 0;
  for (std::sregex_iterator at(line.begin(), line.end(), kComparison), end; at != end; ++at)
    found += operators.contains((*at)[1].str()) ? 1 : 0;
  return found;
}

std::map<std::string, int> comparisons_by_folder(const std::set<std::string_view>& operators) {
  const fs::path root = PLIMSOLL_SOURCE_DIR;
  std::map<std::string, int> counts;
  for (const auto room : {"graph", "hwdb", "estimator", "calibrate", "monitor"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const auto extension = entry.path().extension();
      const std::string file = fs::relative(entry.path(), root).string();
      if ((extension != ".cc" && extension != ".h") || may_name(file)) continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (const int found = compared_names(line, operators); found > 0)
          counts[file.substr(0, file.rfind('/'))] += found;
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("operators' names are compared in few places, and in fewer with time") {
  const Allowed allowed[] = {
      {"estimator/memory", 14, "what frameworks that run layers, not operators, keep"},
      {"estimator/model", 2, "which axis of a convolution's weight is turned"},
      {"graph/config", 1, "a layer of configs that is two operators"},
      {"graph/eager", 9, "gradients by the kernel that reduces"},
      {"graph/exporter", 53, "what exporters do to weights, told by who reads them"},
      {"graph/rewrite", 3, "casts of a graph that is not rewritten"},
      {"graph/train", 22, "what modules hold, told by the operators they call"},
  };
  std::set<std::string_view> operators;
  for (const plimsoll::OpRow* row : plimsoll::all_ops()) operators.insert(row->name);
  REQUIRE(operators.size() > 200);
  CHECK(compared_names("if (node.op == \"Conv\" || op != \"Add\") return;", operators) == 2);
  CHECK(compared_names("if (kernel.op == \"conv\" || group == \"Add\") return;", operators) == 0);

  std::map<std::string, int> counts = comparisons_by_folder(operators);
  for (const Allowed& row : allowed) {
    const std::string folder(row.folder);
    CAPTURE(row.why);
    CHECK_MESSAGE(counts[folder] <= row.comparisons, folder << ": ask has(node, OpRow::...)");
    counts.erase(folder);
  }
  for (const auto& rest : counts)
    CHECK_MESSAGE(rest.second == 0, rest.first << ": ask has(node, OpRow::...)");
}
