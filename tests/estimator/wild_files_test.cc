// Files as other tools than PyTorch's exporters write them (tests/oracles/wild_models.py): each
// opens with the weights that its network has, or is refused for the right reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "graph/base/embedded.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

using nlohmann::json;

const std::string kWild = std::string(PLIMSOLL_SOURCE_DIR) + "/tests/golden/wild";

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What the file leaves open is said as its row says.
Request asked(const std::string& path, const json& row) {
  Request r = test::request(path, "tesla-t4");
  if (row.contains("batch")) r.batch = row["batch"].get<int64_t>();
  const auto each = [&](const char* key, auto set) {
    if (!row.contains(key)) return;
    for (const auto& item : row[key].items()) set(item.key(), item.value());
  };
  each("branches", [&](const auto& node, const json& v) { r.branches[node] = v; });
  each("trips", [&](const auto& node, const json& v) { r.trips[node] = v; });
  each("contents", [&](const auto& tensor, const json& v) {
    r.contents[tensor] = v.get<std::vector<int64_t>>();
  });
  each("assume", [&](const auto& op, const json& v) { r.assume[op] = v; });
  return r;
}

bool has_code(const Diagnostics& said, const std::string& code) {
  return std::ranges::find(said, code, &Diagnostic::code) != said.end();
}

}  // namespace

TEST_CASE("wild files open with their weights or are refused for the right reason") {
  const Hwdb hwdb = Hwdb::open({}).value();
  const test::Scratch scratch;
  const json rows = json::parse(text_of(kWild + ".json"));
  REQUIRE(rows.size() >= 50);
  for (const auto& item : rows.items()) {
    const std::string name = item.key();
    const json& row = item.value();
    CAPTURE(name);
    const auto bytes = gunzip(text_of(kWild + "/" + name + ".onnx.gz"), size_t{1} << 24);
    REQUIRE(bytes);
    const auto answer = estimate(asked(scratch.write(name + ".onnx", *bytes), row), hwdb);
    if (row.contains("refused")) {
      REQUIRE_FALSE(answer);
      CHECK(has_code(answer.error(), row["refused"]));
      continue;
    }
    const std::string why = answer ? "" : answer.error().front().message;
    REQUIRE_MESSAGE(answer, why);
    if (row.contains("parameters")) CHECK(answer->memory.parameter_count == row["parameters"]);
    // A doubt about weights (W23x) is said where there is one, and nowhere else.
    const std::string said = row.value("said", "");
    if (!said.empty()) CHECK(has_code(answer->diagnostics, said));
    for (const Diagnostic& d : answer->diagnostics)
      CHECK_MESSAGE((d.code == said || !d.code.starts_with("W23") || !row.contains("parameters")),
                    d.code << " " << d.message);
  }
}

}  // namespace plimsoll
