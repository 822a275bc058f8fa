// What an operator is, its row says (graph/ops/op_row.h): whoever compares names has a list of his
// own that a new operator is missing from. Counted by folder; the numbers may only fall.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
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

// Names of operators in the lists of a source: `std::array<std::string_view, 2> kOps = {"Add",
// ..}`.
int listed_names(const std::string& source, const std::set<std::string_view>& operators) {
  static const std::regex kList("std::array<std::string_view, [0-9]+> [A-Za-z]+ = \\{([^}]*)\\}");
  static const std::regex kName("\"([A-Za-z0-9]+)\"");
  int found = 0;
  for (std::sregex_iterator at(source.begin(), source.end(), kList), end; at != end; ++at) {
    const std::string list = (*at)[1];
    for (std::sregex_iterator name(list.begin(), list.end(), kName); name != end; ++name)
      found += operators.contains((*name)[1].str()) ? 1 : 0;
  }
  return found;
}

// Comparisons with an operator's name: `node.op == "Conv"`, `op != "Add"`.
int compared_names(const std::string& source, const std::set<std::string_view>& operators) {
  static const std::regex kComparison("\\bop *[!=]= *\"([A-Za-z0-9]+)\"");
  int found = 0;
  for (std::sregex_iterator at(source.begin(), source.end(), kComparison), end; at != end; ++at)
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
      std::stringstream text;
      text << in.rdbuf();
      const std::string source = text.str();
      const int found = compared_names(source, operators) + listed_names(source, operators);
      if (found > 0) counts[file.substr(0, file.rfind('/'))] += found;
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("operators' names are compared in few places, and in fewer with time") {
  const Allowed allowed[] = {
      {"estimator/memory", 7, "Torch7's layers, and what frameworks run in place"},
      {"graph/config", 1, "a layer of configs that is two operators"},
      {"graph/exporter", 3,
       "how TorchScript gives an array back, masked_fill and positions are written"},
      {"graph/train", 1, "scores become their softmax under one name"},
  };
  std::set<std::string_view> operators;
  for (const plimsoll::OpRow* row : plimsoll::all_ops()) operators.insert(row->name);
  REQUIRE(operators.size() > 200);
  CHECK(compared_names("if (node.op == \"Conv\" || op != \"Add\") return;", operators) == 2);
  CHECK(listed_names(
            "constexpr std::array<std::string_view, 3> kOps = {\"Add\",\n \"conv\", \"Mul\"};",
            operators) == 2);
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
