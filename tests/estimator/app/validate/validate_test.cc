#include "estimator/app/validate/validate.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "estimator/app/report/schemas.h"
#include "estimator/app/report/validation.h"
#include "estimator/estimator.h"
#include "hwdb/measured/reader.h"
#include "tests/support/requests.h"
#include "tests/support/schema_fault.h"
#include "tests/support/validated.h"

using namespace plimsoll;
using test::answer;
using test::skipped;

namespace {

const std::string kRun =
    R"("device": "titan-xp", "model": "builtin:cnn-torres", "batch": 32, "mode": "train",
       "framework": "pytorch", "framework_version": "1.4")";

}  // namespace

TEST_CASE("validate: each measured quantity of a record gives a line, in the record's unit") {
  const auto lines = answer(
      kRun +
          R"~(, "total_ms": 5, "forward_ms": 2, "nvidia_smi_mb": 600, "unit": "MB (10^6 bytes)")~",
      "model");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].quantity == "total_ms");
  CHECK(lines[1].quantity == "forward_ms");
  CHECK(lines[2].quantity == "nvidia_smi_mb");
  for (const ValidationLine& l : lines) {
    CAPTURE(l.quantity);
    CHECK(l.file == "runs.json");
    CHECK(l.index == 0);
    CHECK(l.kind == "model");
    CHECK(l.skipped.empty());
    REQUIRE(l.predicted);
    REQUIRE(l.error);
    CHECK(*l.error == doctest::Approx(*l.predicted / *l.measured - 1));
  }
  REQUIRE(lines[2].low);
  CHECK(*lines[2].low <= *lines[2].predicted);
  CHECK(*lines[2].high >= *lines[2].predicted);
  const auto mebibytes = answer(kRun + R"(, "nvidia_smi_mb": 600)", "memory");
  CHECK(*mebibytes[0].predicted * 1.048576 == doctest::Approx(*lines[2].predicted));
}

// What a record says of a setting under its own name is read, or the run is another one.
TEST_CASE("validate: a setting that records do not read leaves the run out") {
  const auto why = [](const std::string& more) {
    return answer(kRun + R"(, "nvidia_smi_mb": 600)" + more, "memory")[0].skipped;
  };
  CHECK(why("").empty());
  for (const char* key : {"dim", "shape", "context", "conv_algo", "clip_grad_norm",
                          "workspace_limit", "train", "rank"}) {
    CAPTURE(std::string(key));
    const std::string wanted = fmt::format("key {} of records is not read", key);
    CHECK(why(fmt::format(R"(, "{}": 2)", key)) == wanted);
    CHECK(why(fmt::format(R"(, "{}": "2")", key)) == wanted);
    CHECK(why(fmt::format(R"(, "{}": null)", key)).empty());
  }
  for (const char* key : {"dims", "lora", "paged", "memory_format"})
    CHECK(why(fmt::format(R"(, "{}": "x")", key)) == fmt::format("key {} is not modelled", key));
  // What says no more of the run, or the same in other words.
  CHECK(why(R"(, "epochs": 90, "use_reentrant": true, "image": 224, "machine": "a box")").empty());
  CHECK(why(R"(, "lora": false, "memory_format": "contiguous_format")").empty());
  const auto two = answer(kRun + R"(, "nvidia_smi_mb": 600, "gpus": 2)", "memory");
  const auto same = answer(kRun + R"(, "nvidia_smi_mb": 600, "n_gpus": 2)", "memory");
  CHECK(two[0].predicted == same[0].predicted);
}

TEST_CASE("validate: what is not predicted says why") {
  CHECK(skipped(R"("device": "unknown", "model": "resnet50", "batch": 1, "total_ms": 1)",
                "model") == "the record names no GPU");
  CHECK(skipped(R"("device": "titan-xp", "model": "nonet", "batch": 1, "total_ms": 1)", "model") ==
        "there is no built-in model 'nonet'");
  CHECK(skipped(R"("device": "titan-xq", "model": "resnet50", "batch": 1, "total_ms": 1)", "model")
            .find("titan-xq") != std::string::npos);
  CHECK(skipped(kRun + R"(, "total_ms": 5, "flags": ["suspect_x"])", "model") ==
        "its source marks it as doubtful: suspect_x");
  CHECK(skipped(kRun + R"(, "quantity": "specification")", "model") ==
        "a specification, not a run");
  CHECK(skipped(kRun + R"(, "total_ms": 5, "parallelism": "tensor parallel 4")", "scaling") ==
        "parallelism 'tensor parallel 4' is not modelled");
  CHECK(skipped(R"("device": "titan-xp", "op": "sort", "time_ms": 1)", "kernel") ==
        "op 'sort' is not a timed kernel");
  CHECK(skipped(R"("device": "titan-xp")", "workspace").starts_with("cuDNN's answers"));
  CHECK(skipped(R"("device": "h100", "op": "rnn", "cell": "lstm", "hidden": 1536, "batch": 8,
                   "timesteps": 10, "algo": "persistent", "time_ms": 1)",
                "kernel") == "the persistent kernel does not keep these weights");
}

TEST_CASE("validate: a key that makes another run of it is read, or the record is skipped") {
  const std::string record = kRun + R"(, "total_ms": 5, )";
  const std::vector<std::pair<std::string, std::string>> changed = {
      {R"("cpu_offload": true)", "cpu_offload"},
      {R"("kernels": "TE + triton")", "kernels"},
      {R"("liger": true)", "liger"}};
  for (const auto& each : changed) {
    CAPTURE(each.first);
    CHECK(skipped(record + each.first, "model") == "key " + each.second + " is not modelled");
  }
  for (const char* same :
       {R"("parallel": {"dp": 1, "tp": 1})", R"("zero_stage": 0)", R"("packed": false)",
        R"("finetune": {"method": "full"})", R"("offload": null)", R"("offload": {})",
        R"("offload": {"optimizer": false})", R"("machine": "a box")", R"("nodes": "single")"}) {
    CAPTURE(std::string(same));
    const auto lines = answer(record + same, "model");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].predicted);
  }
}

TEST_CASE("validate: where sequences differ, the peak is of the longest and a mean of the mean") {
  const std::string record =
      R"("device": "l40s", "model": "gpt2", "micro_batch": 4, "mode": "train", "dtype": "bf16",
         "framework": "pytorch", "total_ms": 5, "peak_allocated_gib": 9,
         "allocated_after_step_mean_gib": 2, )";
  const auto fixed = answer(record + R"("seq": 512)", "memory");
  const auto longest = answer(record + R"("seq": 512, "seq_is_maximum": true)", "memory");
  const auto mean = answer(
      record + R"("seq": 512, "seq_is_maximum": true, "tokens_per_step_mean": 800.3)", "memory");
  const auto shorter = answer(record + R"("seq": 200)", "memory");
  REQUIRE(mean.size() == 3);
  for (const size_t i : {0, 2}) {
    CHECK(longest[i].skipped == "sequences differ in length: key tokens_per_step_mean is missing");
    CHECK(mean[i].predicted == shorter[i].predicted);
    CHECK(mean[i].predicted != fixed[i].predicted);
  }
  CHECK(longest[1].predicted == fixed[1].predicted);
  CHECK(mean[1].predicted == fixed[1].predicted);
}

TEST_CASE("validate: a run that ended out of memory is a fact, whatever it measured before") {
  for (const char* ended : {R"("out_of_memory": true)",
                            R"("run_failed": true, "flags": ["out_of_memory_or_failed_run"])"}) {
    const auto lines = answer(kRun + R"(, "peak_allocated_mb": 100, )" + ended, "memory");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].quantity == "fits");
    CHECK(lines[0].measured == 0);
    CHECK(lines[0].fits == true);
  }
  CHECK(skipped(kRun + R"(, "peak_allocated_mb": 100, "run_failed": true)", "memory") ==
        "the run did not finish");
}

TEST_CASE("validate: memory in any unit, by the counter that the record names") {
  const auto lines = answer(kRun + R"(, "peak_allocated_mb": 100, "peak_allocated_gib": 0.1,
      "peak_allocated_gb": 0.1, "peak_allocated_bytes": 100000000)",
                            "memory");
  REQUIRE(lines.size() == 4);
  const double mib = *lines[0].predicted;
  CHECK(*lines[1].predicted == doctest::Approx(mib / 1024));
  CHECK(*lines[2].predicted == doctest::Approx(mib * 1.048576 / 1000));
  CHECK(*lines[3].predicted == doctest::Approx(mib * 1048576));
  const auto of = [](const std::string& counter) {
    return answer(kRun + R"(, "peak_memory_mb": 100, "peak_reserved_mb": 100, "nvidia_smi_mb": 100,
        "memory_counter": ")" +
                      counter + "\"",
                  "memory");
  };
  CHECK(of("torch max_memory_reserved, worst rank")[0].predicted == of("")[1].predicted);
  CHECK(of("nvidia-smi of the worst node")[0].predicted == of("")[2].predicted);
  CHECK(*of("torch max_memory_allocated / 1e9")[0].predicted == doctest::Approx(mib));
  for (const char* unsaid : {"", "GB as printed", "allocated and reserved"}) {
    CAPTURE(std::string(unsaid));
    CHECK(of(unsaid)[0].skipped.starts_with("memory_counter must be"));
  }
}

TEST_CASE("validate: a throughput is of all GPUs, in samples; ran and out_of_memory are facts") {
  const std::string rate = kRun + R"(, "quantity": "throughput", "value": 1000, "unit": )";
  for (const char* unit : {R"("images/s")", R"("sequences/sec")", R"("samples/s")"}) {
    const auto lines = answer(rate + unit, "scaling");
    REQUIRE(lines.size() == 1);
    REQUIRE(lines[0].predicted);
    REQUIRE(lines[0].low);
    CHECK(*lines[0].low <= *lines[0].predicted);
    CHECK(*lines[0].predicted <= *lines[0].high);
  }
  const auto step = answer(kRun + R"(, "total_ms": 5)", "model");
  CHECK(*answer(rate + R"("images/s")", "scaling")[0].predicted ==
        doctest::Approx(32 / (*step[0].predicted / 1000)));
  CHECK(skipped(rate + R"("mel frames/s")", "scaling") == "quantity 'throughput' is not predicted");
  for (const char* fact : {R"("ran": true)", R"("ran": false)", R"("out_of_memory": true)"}) {
    const auto lines = answer(kRun + ", " + fact, "memory");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].quantity == "fits");
    CHECK(lines[0].measured == (std::string(fact) == R"("ran": true)" ? 1 : 0));
    CHECK(lines[0].predicted == 1);
  }
}

TEST_CASE("validate: a run that ended out of memory measured that it does not fit") {
  const auto lines = answer(
      R"("device": "gtx-1080", "model": "vgg16", "batch": 4096, "result": "OOM at 8 GB")", "model");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].quantity == "fits");
  CHECK(lines[0].measured == 0.0);
  CHECK(lines[0].predicted == 0.0);
  CHECK(lines[0].skipped.empty());
  CHECK_FALSE(lines[0].error);
}

TEST_CASE("validate: the largest batch that fits is the largest power of two") {
  const auto lines = answer(
      R"("device": "gtx-1080", "model": "vgg16", "batch": 64, "quantity": "largest_batch_that_fits")",
      "memory");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].quantity == "largest_batch_that_fits");
  CHECK(lines[0].measured == 64.0);
  CHECK(lines[0].predicted == 32.0);
  CHECK(lines[0].error == doctest::Approx(-0.5));
}

TEST_CASE("validate: a record's range is the estimate's") {
  struct Row {
    const char *card, *model, *precision, *framework;
    int64_t batch;
    bool training;
  };
  constexpr Row kRows[] = {
      {"rtx-3090", "resnet50", "amp-fp16", "pytorch", 64, true},
      {"rtx-4090", "vgg16", "amp-fp16", "pytorch", 32, false},
      {"a100-sxm-40gb", "resnet18", "tf32", "pytorch", 16, true},
      {"tesla-v100-sxm2-16gb", "resnet18", "fp32", "pytorch", 1, false},
      {"rtx-2080-ti", "mobilenet_v2", "fp32", "pytorch", 8, true},
      {"tesla-t4", "resnet18", "fp16", "pytorch", 4, false},
      {"quadro-p4000", "alexnet", "fp32", "pytorch-1.4", 32, true},
      {"gtx-1080-ti", "squeezenet1_0", "fp32", "tensorflow-1.3", 16, true},
      {"gtx-titan-x", "googlenet", "fp32", "caffe", 16, false},
      {"tesla-p100-pcie-16gb", "resnet18", "fp64", "pytorch-1.4", 8, true},
      {"tesla-k80", "alexnet", "fp32", "mxnet", 32, true},
      {"h200", "resnet18", "bf16", "pytorch", 128, true},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.card);
    const auto lines = answer(
        fmt::format(R"("device": "{}", "model": "{}", "dtype": "{}", "framework": "{}", "batch": {},
                       "mode": "{}", "total_ms": 1, "nvidia_smi_mb": 1)",
                    row.card, row.model, row.precision, row.framework, row.batch,
                    row.training ? "train" : "inference"),
        "model");
    REQUIRE(lines.size() == 2);
    Request request;
    request.devices = {row.card};
    request.model = std::string("builtin:") + row.model;
    request.batch = row.batch;
    request.framework = row.framework;
    request.recipe.optimizer = find_optimizer("momentum");
    request.recipe.mode = row.training ? Mode::kTrain : Mode::kInference;
    request.recipe.precision = find_precision(row.precision);
    const auto estimated = estimate(request, test::hwdb());
    REQUIRE(estimated);
    const auto is = [](const std::optional<double>& value, int64_t count, double unit) {
      REQUIRE(value);
      CHECK(*value == doctest::Approx(static_cast<double>(count) / unit));
    };
    const Range& time = estimated->time.step_range_ns;
    const auto& grown = estimated->memory.grown;  // as measured processes are told to
    const Range& memory = grown ? grown->range : estimated->memory.device_range;
    for (const ValidationLine& l : lines) {
      REQUIRE_MESSAGE(l.skipped.empty(), l.skipped);
      const bool of_time = l.quantity == "total_ms";
      is(l.low, of_time ? time.low : memory.low, of_time ? 1e6 : 1048576);
      is(l.high, of_time ? time.high : memory.high, of_time ? 1e6 : 1048576);
      CHECK(l.roofline.has_value() == of_time);
    }
  }
}

TEST_CASE("validate: host memory is the framework's and the data set's copies") {
  const auto host = [](const std::string& more) {
    return answer(kRun + R"(, "host_mb": 2749)" + more, "memory")[0];
  };
  const auto streamed = host("");
  const auto loaded = host(R"(, "samples": 60000)");
  REQUIRE(streamed.predicted);
  CHECK(*streamed.low < *streamed.predicted);
  const double set = 60000.0 * (3 * 32 * 32 * 4 + 8) / 1048576;
  CHECK(*loaded.predicted - *streamed.predicted == doctest::Approx(2.005 * set));
}

TEST_CASE("validate: host memory needs no GPU") {
  const auto host = [](const std::string& more) {
    return answer(R"("device": "host", "model": "mlp", "input": [784], "hidden": [285, 61],
                     "batch": 8, "samples": 60000, "host_mb": 2516)" +
                      more,
                  "memory")[0];
  };
  const auto unnamed = host("");
  REQUIRE(unnamed.predicted);
  CHECK(*unnamed.predicted == *host(R"(, "framework": "pytorch")").predicted);
  CHECK(skipped(R"("device": "host", "model": "resnet18", "batch": 8, "nvidia_smi_mb": 500)",
                "memory") == "the record names no GPU");
}

TEST_CASE("validate: what Torch7's modules hold needs no GPU; other frameworks have no modules") {
  const auto lines = [](const std::string& more) {
    return answer(R"("device": "none", "model": "vgg-a", "batch": 2, "mode": "inference",
                     "outputs_mb": 1, "parameters_and_gradients_mb": 1, "total_mb": 2)" +
                      more,
                  "memory");
  };
  const auto plain = lines(R"(, "framework": "torch7")");
  const auto shared = lines(R"(, "framework": "torch7", "memory_option": "optnet")");
  REQUIRE(plain.size() == 3);
  REQUIRE(plain[2].predicted);
  CHECK(*plain[2].predicted == doctest::Approx(*plain[0].predicted + *plain[1].predicted));
  CHECK(*plain[1].predicted == doctest::Approx(2 * 132863336 * 4 / 1048576.0));
  CHECK(*shared[1].predicted == doctest::Approx(*plain[1].predicted / 2));
  CHECK(*shared[0].predicted < *plain[0].predicted);
  for (const ValidationLine& l : lines(R"(, "framework": "caffe")")) {
    CHECK_FALSE(l.predicted);
    CHECK(l.skipped == "this framework keeps no memory per module");
  }
}

TEST_CASE("validate: a data-parallel step costs an exchange more than one GPU's") {
  const std::string step =
      R"("device": "gtx-1080-ti", "model": "alexnet", "batch_per_gpu": 1, "total_ms": 100)";
  const auto one = answer(step, "scaling");
  const auto eight = answer(step + R"(, "n_gpus": 8)", "scaling");
  CHECK(*eight[0].predicted > *one[0].predicted);
}

TEST_CASE("validate: summaries by kind, device, op, pass and quantity") {
  const auto line = [](double measured, double predicted, double low, double high) {
    ValidationLine l;
    l.kind = "model";
    l.device = "d";
    l.quantity = "total_ms";
    l.measured = measured;
    l.predicted = predicted;
    l.low = low;
    l.high = high;
    l.error = predicted / measured - 1;
    return l;
  };
  ValidationLine none;
  none.kind = "model";
  none.device = "d";
  none.quantity = "total_ms";
  none.skipped = "why";
  Summaries summaries;
  for (const ValidationLine& l :
       {line(10, 11, 9, 12), line(10, 8, 7, 9), line(10, 10.5, 9, 11), none})
    summaries.add(l);
  const auto sums = summaries.take();
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].n == 3);
  CHECK(sums[0].skipped == 1);
  CHECK(*sums[0].median_ape == doctest::Approx(.1));
  CHECK(*sums[0].mape == doctest::Approx((.1 + .2 + .05) / 3));
  CHECK(*sums[0].bias == doctest::Approx((.1 - .2 + .05) / 3));
  CHECK(*sums[0].within_range == doctest::Approx(2. / 3));
}

TEST_CASE("validate: the JSON is of its schema") {
  std::vector<ValidationLine> lines =
      answer(kRun + R"(, "total_ms": 5, "nvidia_smi_mb": 600)", "model");
  for (auto& l : answer(kRun + R"(, "quantity": "qualitative")", "model")) lines.push_back(l);
  for (auto& l : answer(R"("op": "conv", "device": "titan-xp", "n": 16, "c": 64, "h": 56, "w": 56,
                           "k": 64, "r": 3, "s": 3, "algo": "WINOGRAD", "time_ms": 0.5)",
                        "kernel")) {
    lines.push_back(l);
  }
  std::string text;
  ValidationReport report(ValidationReport::Form::kJson,
                          [&](const std::string& more) { text += more; });
  Judge judge({});
  Summaries summaries;
  for (const ValidationLine& l : lines) {
    summaries.add(l);
    report.add(l, judge.add(l));
  }
  report.finish(summaries.take(), judge.gate(), {});
  const auto schema = nlohmann::json::parse(schema_text("validate"));
  const auto document = nlohmann::json::parse(text);
  CHECK(test::schema_fault(schema, document) == "");
  REQUIRE(document["records"].size() == 4);
  CHECK(document["records"][0]["algorithm"].is_null());
  CHECK(document["records"][3]["algorithm"]["measured"] == "WINOGRAD");
}
