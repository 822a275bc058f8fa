// `plimsoll validate` on files that are long, and on files of models that changed.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/base/byte_source.h"
#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

// Row E14: rows are judged and written as they come. The bound of a run is 256 MiB of addresses,
// which 120,000 rows that are kept do not fit into (3 kB each).
TEST_CASE("cli: long files of measured runs are judged row by row, in bounded memory") {
  if (skipped()) return;
  constexpr int kLongRows = 120'000;
  const Scratch scratch;
  std::string rows = "kind,device,op,m,n,k,dtype,time_ms\n";
  for (int i = 0; i < kLongRows; ++i) rows += "kernel,titan-xp,softmax,1,1,1,float32,0.1\n";
  const std::string file = scratch.write("runs.csv", rows);
  for (const bool json : {false, true}) {
    std::vector<std::string> asked = {"validate", file, "--allow-skipped"};
    if (json) asked.emplace_back("--json");
    const Ran ran = run_plimsoll(asked, {.seconds = 120});
    CAPTURE(ran.err.substr(0, 300));
    CHECK(ran.status == 1);  // nothing was compared
    const std::string counted = json ? fmt::format("\"skipped\":{}", kLongRows)
                                     : fmt::format("FAILED 0 compared, {} skipped\n", kLongRows);
    CHECK(ran.out.find(counted) != ran.out.npos);
    CHECK(json == (ran.out.find("all in --json") == ran.out.npos));
  }
}

// Row E7.
TEST_CASE("cli: a model that changed since it was measured is not compared") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string examples = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/perceptron.json";
  const auto source = plimsoll::ByteSource::open(examples);
  REQUIRE(source);
  const std::string hash = plimsoll::sha256_of(*source)->value();
  const auto validate = [&](const std::string& model, const std::string& sha256) {
    const std::string runs = scratch.write(
        "runs.csv",
        "kind,device,model,model_sha256,batch,mode,framework,total_ms\nmodel,tesla-t4," + model +
            "," + sha256 + ",32,train,pytorch,5\n");
    return run_plimsoll({"validate", runs, "--wide"});
  };
  CHECK(validate(examples, hash).status == 0);
  CHECK(validate(examples, "").status == 0);
  const Ran changed = validate(examples, std::string(64, '0'));
  CHECK(changed.status == 1);
  CHECK(changed.out.find("not the one that was measured") != changed.out.npos);
  CHECK(changed.out.find("FAILED 0 compared, 1 skipped") != changed.out.npos);
  CHECK(validate("resnet50", hash).out.find("is not a file") != std::string::npos);
}
