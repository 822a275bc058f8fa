#include "graph/json/toml_reader.h"

#include <doctest/doctest.h>

namespace plimsoll {
namespace {

Diagnostic fault_of(std::string_view text, const Limits& limits = {}) {
  const auto value = read_toml(text, "train.toml", limits);
  REQUIRE_FALSE(value);
  return value.error().front();
}

}  // namespace

TEST_CASE("TOML: tables, arrays, numbers and times, in the file's order") {
  const auto root = read_toml(
      "# a job\ntitle = \"8B\"\n\n[training]\nseq_len = 8_192\nlr = 3e-4\ncompile = false\n"
      "dates = [2026-01-31, 07:30:00]\n\n[optimizer]\nname = 'AdamW'\nb.c = 1\n",
      "train.toml");
  REQUIRE(root);
  REQUIRE(root->members());
  CHECK(root->members()->at(0).key == "title");
  CHECK(root->members()->at(1).key == "training");
  CHECK(root->members()->at(2).key == "optimizer");
  const JsonValue* training = root->find("training");
  CHECK(training->find("seq_len")->integer() == 8192);
  CHECK(training->find("seq_len")->line == 5);
  CHECK(training->find("lr")->real() == 3e-4);
  CHECK_FALSE(training->find("lr")->integer());
  CHECK(training->find("compile")->boolean() == false);
  CHECK(*training->find("dates")->list()->at(0).string() == "2026-01-31");
  CHECK(*training->find("dates")->list()->at(1).string() == "07:30:00");
  CHECK(root->find("optimizer")->find("b")->find("c")->integer() == 1);
  CHECK(*root->find("optimizer")->find("name")->string() == "AdamW");
}

TEST_CASE("TOML: what is refused says where") {
  const Diagnostic broken = fault_of("[training]\nseq_len = \n");
  CHECK(broken.code == "E359");
  CHECK(broken.place.line == 2);
  CHECK(fault_of("a = 1\na = 2\n").code == "E359");
  CHECK(fault_of("a = \"\xff\"\n").code == "E359");
  CHECK(fault_of("a = inf\n").code == "E312");
  Limits limits;
  limits.json_depth = 3;
  CHECK(fault_of("a = [[[1]]]\n", limits).code == "E806");
  limits = {};
  limits.json_values = 2;
  CHECK(fault_of("a = 1\nb = 2\n", limits).code == "E807");
}

}  // namespace plimsoll
