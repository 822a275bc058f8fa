// A measured run that is given away says what ran, and not whose it was.
#include "estimator/app/validate/shared_run.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "hwdb/measured/reader.h"

using namespace plimsoll;

namespace {

std::vector<MeasuredRun> runs_of(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  const ByteSource source = ByteSource::of("run.json", {bytes, bytes + text.size()});
  std::vector<MeasuredRun> runs;
  const auto file = read_measured(source, [&](MeasuredRun&& r) { runs.push_back(std::move(r)); });
  REQUIRE(file);
  return runs;
}

std::string record(const std::string& model, const std::string& more = R"(, "total_ms": 90.5)") {
  return R"({"source": {"title": "lab-7: python /srv/someone/train.py"}, "kind": "model",
    "records": [{"device": "tesla-t4", "model": ")" +
         model + R"(", "batch": 32, "dtype": "amp-fp16",
    "framework": "pytorch", "framework_version": "2.4.1", "host": "lab-7.example.org",
    "dataset": "customers", "user": "someone", "link": "/data/link.json",
    "input": [3, 224, 224], "compile": true)" +
         more + "}]}";
}

}  // namespace

TEST_CASE("share: settings, versions and figures stay; names do not") {
  const auto shared = to_shared(runs_of(record("builtin:resnet50")), "0.1.0");
  REQUIRE(shared);
  for (const char* name : {"someone", "lab-7", "customers", "/data", "train.py"}) {
    CAPTURE(name);
    CHECK(shared->find(name) == std::string::npos);
  }
  const std::vector<MeasuredRun> again = runs_of(*shared);
  REQUIRE(again.size() == 1);
  const MeasuredRun& run = again[0];
  CHECK(run.kind == RunKind::kModel);
  CHECK(run.device == "tesla-t4");
  CHECK(run.model == "builtin:resnet50");
  CHECK(run.batch == 32);
  CHECK(run.dtype == "amp-fp16");
  CHECK(run.framework_id() == "pytorch-2.4.1");
  CHECK(run.input == std::vector<int64_t>{3, 224, 224});
  CHECK(run.compiled == true);
  CHECK(run.value("total_ms") == 90.5);
  CHECK(run.notes.empty());
}

TEST_CASE("share: what others cannot repeat is refused") {
  const auto refused = [](const std::string& text) {
    const auto shared = to_shared(runs_of(text), "0.1.0");
    REQUIRE_FALSE(shared);
    CHECK(shared.error().front().code == "E533");
    return shared.error().front().message;
  };
  CHECK(refused(record("secret.onnx"))
            .find("'secret.onnx' is not a model that comes with Plimsoll") != std::string::npos);
  CHECK(refused(record("hf:acme/secret")).find("not a model that comes") != std::string::npos);
  CHECK(refused(record("resnet50", "")).find("nothing was measured") != std::string::npos);
  CHECK(to_shared(runs_of(record("resnet50")), "0.1.0"));
}
