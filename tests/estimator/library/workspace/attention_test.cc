#include "estimator/library/workspace/attention.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace plimsoll {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  return cells;
}

std::vector<Row> measured() {
  std::ifstream in(PLIMSOLL_SOURCE_DIR "/hwdb/calibrations/measured/attention-h200.csv");
  std::vector<std::string> names;
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (names.empty()) {
      names = cells;
      continue;
    }
    Row& row = rows.emplace_back();
    for (size_t i = 0; i < names.size(); ++i) row[names[i]] = cells.at(i);
  }
  return rows;
}

AttentionProblem<int64_t> problem_of(const Row& row) {
  const auto number = [&](const char* name) -> int64_t { return std::stoll(row.at(name)); };
  return {.form = *attention_form_from_name(row.at("form")),
          .batch = number("batch"),
          .heads = number("heads"),
          .kv_heads = number("kv_heads"),
          .queries = number("tokens"),
          .keys = number("keys"),
          .head_size = number("head_size"),
          .value_size = number("head_size"),
          .causal = row.at("causal") == "1",
          .masked = row.at("masked") == "1",
          .dropout = false};
}

// The measured operands do not lie in the order of tokens before heads: PyTorch copies the gradient
// for the memory-efficient kernel, for flash the output too.
int64_t copies_of(const AttentionProblem<int64_t>& p) {
  switch (p.form) {
    case AttentionForm::kFlash:
      return 2;
    case AttentionForm::kMemoryEfficient:
      return 1;
    case AttentionForm::kLibrary:
      break;
  }
  return 0;
}

}  // namespace

TEST_CASE("attention's workspace is what PyTorch took on a card") {
  // The allocator gives out blocks of up to 1 MiB more than it is asked for; there are up to three.
  constexpr int64_t kSlack = int64_t{3} << 20;
  int rows = 0;
  for (const Row& row : measured()) {
    const AttentionProblem<int64_t> p = problem_of(row);
    const DType dtype = row.at("arithmetic") == "f32" ? DType::kFloat32 : DType::kFloat16;
    CAPTURE(row.at("form"));
    CAPTURE(row.at("arithmetic"));
    CAPTURE(p.queries);
    CAPTURE(p.head_size);
    // cuDNN's plan asks for 256 bytes, in a block of 512.
    CHECK(attention_workspace(p, Pass::kForward, dtype) ==
          std::stoll(row.at("forward_workspace")) / 1024 * 1024);
    const int64_t copied =
        copies_of(p) * p.batch * p.heads * p.queries * p.head_size * bits(dtype) / 8;
    const int64_t taken = std::stoll(row.at("backward_workspace")) - copied;
    const int64_t told = attention_workspace(p, Pass::kBackward, dtype);
    CHECK(taken >= told);
    CHECK(taken <= told + std::min(kSlack, std::max<int64_t>(1 << 18, told / 25)));
    ++rows;
  }
  CHECK(rows > 150);
}

}  // namespace plimsoll
