#include "hwdb/measured/source.h"

#include <doctest/doctest.h>

#include <set>

using namespace plimsoll;

namespace {

MeasuredSource only(const std::string& members) {
  auto sources = read_sources(
      R"({"schema": "plimsoll.sources", "version": 1, "sources": [{)" + members + "}]}", "s.json");
  REQUIRE_MESSAGE(sources, sources.error().front().message);
  REQUIRE(sources->size() == 1);
  return sources->front();
}

std::string fault(const std::string& members) {
  const auto sources = read_sources(
      R"({"schema": "plimsoll.sources", "version": 1, "sources": [{)" + members + "}]}", "s.json");
  return sources ? "" : sources.error().front().code;
}

}  // namespace

TEST_CASE("measured source: a record is completed, never overruled") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words",
         "networks": [{"model": "alexnet", "framework": "caffe", "network": "alexnet-bvlc"}],
         "defaults": {"loss": "sum", "cudnn_benchmark": true, "n_gpus": 2,
                      "module_loading": "eager"})");
  MeasuredRun run;
  run.model = "alexnet";
  run.framework = "caffe";
  run.loss = "mse";
  source.complete(run);
  CHECK(run.loss == "mse");
  CHECK(run.cudnn_benchmark == true);
  CHECK(run.n_gpus == 2);
  CHECK(run.module_loading == "eager");
  CHECK(run.network == "alexnet-bvlc");
  MeasuredRun other;
  other.model = "alexnet";
  other.framework = "pytorch";
  source.complete(other);
  CHECK(other.network.empty());
  CHECK(other.loss == "sum");
}

TEST_CASE("measured source: a trainer's word for a precision, with FSDP's own or any") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "precisions": [
           {"dtype": "amp-bf16", "mixed_precision": "DEFAULT", "precision": "mixed-bf16"},
           {"dtype": "bf16", "precision": "mixed-bf16"}], "defaults": {})");
  const auto completed = [&](const char* dtype, const char* mixed) {
    MeasuredRun run;
    run.dtype = dtype;
    run.mixed_precision = mixed;
    source.complete(run);
    return run.dtype + " " + run.mixed_precision;
  };
  CHECK(completed("amp-bf16", "DEFAULT") == "mixed-bf16 ");
  CHECK(completed("amp-bf16", "PURE") == "amp-bf16 PURE");
  CHECK(completed("bf16", "") == "mixed-bf16 ");
  CHECK(completed("bf16-true", "") == "bf16-true ");
}

TEST_CASE("measured source: keys that repeat others in words are no notes") {
  const MeasuredSource source =
      only(R"("source": "a/b", "says": "words", "repeats": ["technique"], "defaults": {})");
  MeasuredRun run;
  run.notes = {{"technique", 0, 0, {}}, {"offload", 0, 0, {}}};
  source.complete(run);
  REQUIRE(run.notes.size() == 1);
  CHECK(run.notes[0].key == "offload");
}

TEST_CASE("measured source: a word under a key stands for other keys; other words stay notes") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words",
         "precisions": [{"dtype": "bf16-amp", "kbit_prepare": "norms", "precision": "amp-bf16"},
                        {"dtype": "bf16-amp", "precision": "bf16"}],
         "cases": [{"key": "config", "words": ["bnb", "bnb-plain"], "says": "x",
                    "defaults": {"quantize": "nf4", "kbit_prepare": "norms"}}], "defaults": {})");
  const auto completed = [&](const char* word) {
    MeasuredRun run;
    run.dtype = "bf16-amp";
    run.notes = {{"config", 0, 0, {.data = std::string(word)}}};
    source.complete(run);
    return run;
  };
  const MeasuredRun known = completed("bnb-plain"), other = completed("bnb-fast");
  CHECK(known.notes.empty());
  CHECK(known.quantize == "nf4");
  CHECK(known.dtype == "amp-bf16");
  CHECK(other.notes.size() == 1);
  CHECK(other.quantize.empty());
  CHECK(other.dtype == "bf16");
}

TEST_CASE("measured source: a word for what is computed again is that of its program") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "defaults": {},
         "checkpoints": [{"checkpoint": "selective", "means": "per-op selective"}])");
  const auto completed = [&](const char* word) {
    MeasuredRun run;
    run.checkpoint = word;
    source.complete(run);
    return run.checkpoint;
  };
  CHECK(completed("selective") == "per-op selective");
  CHECK(completed("full") == "full");
}

TEST_CASE("measured source: a network may be that of one version of its framework") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "networks": [
           {"model": "alexnet", "version": "0.9", "network": "older"},
           {"model": "alexnet", "network": "newer"}], "defaults": {})");
  const auto network = [&](const char* version) {
    MeasuredRun run;
    run.model = "alexnet";
    run.framework_version = version;
    source.complete(run);
    return run.network;
  };
  CHECK(network("0.9 era") == "older");
  CHECK(network("1.2.0rc1") == "newer");
}

TEST_CASE("measured source: a case may ask for arithmetic and for what a program saved") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "cases": [
           {"dtype": "fp64", "optimisation": "after", "says": "saved",
            "defaults": {"memory_option": "optnet"}}], "defaults": {})");
  const auto option = [&](const char* dtype, const char* optimisation) {
    MeasuredRun run;
    run.dtype = dtype;
    run.optimisation = optimisation;
    run.framework = "torch7 + optnet";
    source.complete(run);
    return run.shares_storages();
  };
  CHECK(option("fp64", "after"));
  CHECK_FALSE(option("fp64", "before"));
  CHECK_FALSE(option("fp32", "after"));
}

TEST_CASE("measured source: a case may name models by a glob, and a version's beginning") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "cases": [
           {"version": "2", "model": "*_gn*", "says": "--fast-norm",
            "defaults": {"half_norms": true}}], "defaults": {})");
  const auto half = [&](const char* model, const char* version) {
    MeasuredRun run;
    run.model = model;
    run.framework_version = version;
    source.complete(run);
    return run.half_norms.value_or(false);
  };
  CHECK(half("onnx/resnet50_gn_288.onnx", "2.9"));
  CHECK_FALSE(half("onnx/resnet50_gn_288.onnx", "1.13"));
  CHECK_FALSE(half("onnx/resnet50_288.onnx", "2.9"));
}

TEST_CASE("measured source: a case holds for the records it names") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "cases": [
           {"framework": "pytorch", "device": "gtx-1080", "says": "without cuDNN",
            "defaults": {"conv_library": "im2col"}},
           {"several_nodes": true, "says": "Ethernet", "defaults": {"link": "ethernet-10g"}},
           {"gpus": 8, "says": "another machine", "defaults": {"link": "nvlink-2"}}],
         "defaults": {"link": "pcie-3-x16"})");
  MeasuredRun run;
  run.framework = "pytorch";
  run.device = "gtx-1080";
  source.complete(run);
  CHECK(run.conv_library == "im2col");
  CHECK(run.link == "pcie-3-x16");
  MeasuredRun other;
  other.framework = "pytorch";
  other.device = "gtx-1080-ti";
  other.nodes = 4;
  source.complete(other);
  CHECK(other.conv_library.empty());
  CHECK(other.link == "ethernet-10g");
  MeasuredRun eight;
  eight.n_gpus = 8;
  source.complete(eight);
  CHECK(eight.link == "nvlink-2");
}

TEST_CASE("measured source: a case may be of one way of fine-tuning, and set FSDP's precision") {
  const MeasuredSource source = only(
      R"("source": "a/b", "says": "words", "defaults": {}, "precisions": [
           {"dtype": "amp", "mixed_precision": "upcast", "precision": "mixed-bf16"},
           {"dtype": "amp", "precision": "autocast-bf16"}],
         "cases": [{"finetune": "full", "several_gpus": true, "says": "words",
                    "defaults": {"mixed_precision": "upcast"}}])");
  const auto precision = [&](const char* finetune, int64_t gpus) {
    MeasuredRun run;
    run.dtype = "amp";
    run.finetune = finetune;
    run.n_gpus = gpus;
    source.complete(run);
    return run.dtype;
  };
  CHECK(precision("full", 2) == "mixed-bf16");
  CHECK(precision("full", 4) == "mixed-bf16");
  CHECK(precision("lora", 2) == "autocast-bf16");
  CHECK(precision("full", 1) == "autocast-bf16");
}

TEST_CASE("measured source: a misspelt key is refused") {
  CHECK(fault(R"("source": "a", "says": "b", "defaults": {"los": "sum"})") == "E305");
  CHECK(fault(R"("source": "a", "says": "b", "default": {})") == "E304");
  CHECK(fault(R"("source": "a")") == "E306");
  CHECK(fault(R"("source": "a", "says": "b", "cases": [{"defaults": {}}])") == "E306");
}

TEST_CASE("measured source: the database knows the transcribed sources once each") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  const auto sources = MeasuredSources::open(*hwdb, true);
  REQUIRE_MESSAGE(sources, sources.error().front().message);
  RunFile file;
  file.repository = "jcjohnson/cnn-benchmarks";
  REQUIRE(sources->find(file));
  CHECK(sources->find(file)->defaults.loss == "none");
  file.repository = "nobody/nothing";
  CHECK(sources->find(file) == nullptr);
  file.title = "pytorch-gpu-benchmark, TITAN Xp";
  REQUIRE(sources->find(file));
  CHECK(sources->find(file)->defaults.host == "titan-xp-node");
  const auto untold = MeasuredSources::open(*hwdb, false);
  REQUIRE(untold);
  CHECK(untold->find(file)->defaults.host.empty());
  CHECK(untold->find(file)->defaults.loss == "cross_entropy");
  for (const MeasuredCase& c : untold->find(file)->cases) CHECK(c.defaults.host.empty());
  const auto text = hwdb->read("sources.json");
  REQUIRE(text);
  const auto all = read_sources(*text, "sources.json");
  REQUIRE(all);
  std::set<std::string> names;
  for (const MeasuredSource& s : *all) {
    CAPTURE(s.source);
    CHECK(names.insert(s.source).second);
    CHECK_FALSE(s.says.empty());
    if (!s.defaults.host.empty()) CHECK(hwdb->host(s.defaults.host));
  }
}
