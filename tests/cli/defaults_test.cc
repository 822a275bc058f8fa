// Defaults of one's own, files that are checked, and what shells complete.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/run_plimsoll.h"

namespace plimsoll::test {
namespace {

const std::string kExamples = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/";
const std::string kPerceptron = kExamples + "perceptron.json";

}  // namespace

TEST_CASE("cli: defaults come from plimsoll.yaml and the environment, are named, and flags win") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string folder =
      std::filesystem::path(
          scratch.write("plimsoll.yaml", "gpu: l4\nprecision: amp-bf16\nbatch: 7\n"))
          .parent_path();
  const Ran file = run_plimsoll({"estimate", kPerceptron, "--basis"}, {.folder = folder});
  CHECK(file.status == 0);
  CHECK(says(file, "gpu l4 of plimsoll.yaml"));
  CHECK(says(file.out, "amp-bf16, batch 7"));
  CHECK(says(file.out, "basis: defaults: "));
  const Ran environment =
      run_plimsoll({"estimate", kPerceptron, "--basis"},
                   {.environment = {"PLIMSOLL_PRECISION=amp-fp16"}, .folder = folder});
  CHECK(says(environment, "precision amp-fp16 of the environment"));
  CHECK(says(environment.out, "amp-fp16, batch 7"));
  const Ran flag =
      run_plimsoll({"estimate", kPerceptron, "--basis", "--precision", "fp32", "--gpu", "t4"},
                   {.environment = {"PLIMSOLL_PRECISION=amp-fp16"}, .folder = folder});
  CHECK(says(flag.out, "fp32, batch 7"));
  CHECK(says(flag.out, "tesla-t4"));
  CHECK(!says(flag, "precision"));
}

TEST_CASE("cli: a plimsoll.yaml with a fault is refused with its place") {
  if (skipped()) return;
  const Scratch scratch;
  const auto with = [&](const std::string& text) {
    const std::string path = scratch.write("plimsoll.yaml", text);
    return run_plimsoll({"estimate", kPerceptron, "--gpu", "l4"},
                        {.folder = std::filesystem::path(path).parent_path()});
  };
  const Ran misspelt = with("precison: fp32\n");
  CHECK(misspelt.status == 3);
  CHECK(says(misspelt, "plimsoll.yaml:1:1"));
  CHECK(says(misspelt, "did you mean precision?"));
  const Ran wrong = with("precision: fp17\n");
  CHECK(wrong.status == 2);
  CHECK(says(wrong, "did you mean fp16?"));
  CHECK(with("- a list\n").status == 3);
  for (const char* none : {"gpu: null\n", "gpu:\n", "precision: ''\n", "gpu: ~\n"}) {
    const Ran ran = with(none);
    CAPTURE(ran.err);
    CHECK(ran.status == 3);
    CHECK(says(ran, "has no value"));
    CHECK(says(ran, "plimsoll.yaml:1:1"));
  }
  for (const char* several : {"gpu: [t4, l4]\n", "batch: {a: 1}\n", "precision: [fp32]\n"}) {
    const Ran ran = with(several);
    CAPTURE(ran.err);
    CHECK(ran.status == 3);
    CHECK(says(ran, "takes one value"));
  }
}

TEST_CASE("cli: a variable that is no default is refused by its name") {
  if (skipped()) return;
  const auto with = [](const char* variable) {
    return run_plimsoll({"estimate", kPerceptron, "--gpu", "l4"}, {.environment = {variable}});
  };
  for (const char* variable : {"PLIMSOLL_STRICT=1", "PLIMSOLL_DIM=a=1", "PLIMSOLL_PRECISON=fp32",
                               "PLIMSOLL_BATCH_SIZE=8", "PLIMSOLL_COMPILE=true"}) {
    const Ran ran = with(variable);
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, std::string(variable).substr(0, std::string(variable).find('='))));
  }
  CHECK(says(with("PLIMSOLL_PRECISON=fp32"), "did you mean PLIMSOLL_PRECISION?"));
  CHECK(with("PLIMSOLL_STRICT=").status == 0);  // set to nothing is not set
  CHECK(with("PLIMSOLL_BATCH=8").status == 0);
  CHECK(with("PLIMSOLL_CUDNN=/opt/cudnn").status == 0);
}

TEST_CASE("cli: defaults hold in every verb; a plan and flags win over them") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("plimsoll.yaml", "gpu: l4\nprecision: amp-fp16\n");
  scratch.write("p.yaml", "model: builtin:resnet50\nparameters: {batch: [16]}\n");
  scratch.write("q.yaml",
                "model: builtin:resnet50\nparameters: {batch: [16], precision: [fp32]}\n");
  const RunOptions here = {.folder = scratch.path("")};
  const auto bytes = [](const Ran& ran) {
    const size_t at = ran.out.find("\"device_bytes\":");
    return at == std::string::npos ? "none: " + ran.err
                                   : ran.out.substr(at, ran.out.find(',', at) - at);
  };
  const auto sweep = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "sweep");
    more.emplace_back("--json");
    return run_plimsoll(more, here);
  };
  const Ran half = sweep({"p.yaml"}), whole = sweep({"q.yaml"});
  CHECK(says(half, "precision amp-fp16 of plimsoll.yaml"));
  CHECK(bytes(half) != bytes(whole));
  CHECK(bytes(whole) == bytes(sweep({"p.yaml", "--precision", "fp32"})));
  CHECK(bytes(half) == bytes(sweep({"p.yaml", "--precision", "amp-fp16"})));
  CHECK(half.out.find("\"device_id\":\"l4\"") != std::string::npos);
  const Ran environment =
      run_plimsoll({"sweep", "p.yaml", "--json"},
                   {.environment = {"PLIMSOLL_PRECISION=fp32"}, .folder = scratch.path("")});
  CHECK(bytes(environment) == bytes(whole));
  const Ran records = run_plimsoll({"validate", kExamples + "kernels.csv"}, here);
  CHECK(says(records, "project defaults are not used"));
  CHECK(says(run_plimsoll({"workspace"}, here), "amp-fp16"));  // problems have no autocast
  CHECK(run_plimsoll({"max-batch", "builtin:mlp", "--max", "8"}, here).status == 0);
}

TEST_CASE("cli: a training program's file wins over plimsoll.yaml, a flag over the file") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("plimsoll.yaml", "gpu: l4\nbatch: 3\noptimizer: sgd\n");
  scratch.write("args.json", R"({"per_device_train_batch_size": 5, "optim": "adafactor"})");
  const RunOptions here = {.folder = scratch.path("")};
  const Ran file = run_plimsoll({"estimate", kPerceptron, "--trainer", "args.json"}, here);
  CHECK(file.status == 0);
  CHECK(says(file, "batch 5, optimizer adafactor of args.json"));
  CHECK(says(file, "gpu l4 of plimsoll.yaml"));
  CHECK(!says(file, "optimizer sgd"));
  const Ran flag = run_plimsoll(
      {"estimate", kPerceptron, "--trainer", "args.json", "--batch", "7", "--json"}, here);
  CHECK(says(flag.out, R"("batch": 7)"));
  CHECK(says(flag.out, R"("optimizer": "adafactor")"));
  CHECK(says(flag.out, R"("trainer": "hf")"));
  scratch.write("p.yaml", "model: builtin:mlp\nparameters: {batch: [2, 4]}\n");
  const Ran swept = run_plimsoll({"sweep", "p.yaml", "--trainer", "args.json", "--json"}, here);
  CHECK(swept.status == 0);
  CHECK(says(swept, "optimizer adafactor of args.json"));  // the plan has the batch
  CHECK(run_plimsoll({"sweep", "p.yaml", "--trainer", "nobody"}, here).status == 2);
  scratch.write("zero.json", R"({"zero_optimization": {"stage": 2}})");
  const std::vector<std::string> sharded = {"estimate", kPerceptron, "--trainer", "zero.json"};
  CHECK(says(run_plimsoll(sharded, here), "--gpus"));  // a warning
  std::vector<std::string> strict = sharded;
  strict.emplace_back("--strict");
  CHECK(run_plimsoll(strict, here).status != 0);
}

TEST_CASE("cli: a training program's file may be a default: flags and other defaults win over it") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("args.json", R"({"per_device_train_batch_size": 5, "optim": "adafactor"})");
  scratch.write("plimsoll.yaml", "gpu: l4\nbatch: 3\ntrainer: args.json\n");
  const RunOptions here = {.folder = scratch.path("")};
  const Ran file = run_plimsoll({"estimate", kPerceptron, "--json"}, here);
  CHECK(file.status == 0);
  CHECK(says(file, "trainer args.json of plimsoll.yaml"));
  CHECK(says(file, "optimizer adafactor of args.json"));
  CHECK(says(file.out, R"("batch": 3)"));
  CHECK(says(file.out, R"("optimizer": "adafactor")"));
  const Ran flag =
      run_plimsoll({"estimate", kPerceptron, "--optimizer", "sgd", "--trainer", "hf"}, here);
  CHECK(!says(flag, "args.json"));
  const Ran variable =
      run_plimsoll({"estimate", kPerceptron, "--gpu", "l4"},
                   {.environment = {"PLIMSOLL_TRAINER=" + scratch.path("args.json")}});
  CHECK(says(variable, "batch 5, optimizer adafactor of "));
  // A search varies the batch, whoever has said one.
  const Ran searched = run_plimsoll({"max-batch", kPerceptron, "--max", "64"}, here);
  CHECK(says(searched, "optimizer adafactor of args.json"));
  CHECK(!says(searched, "batch 3"));
  scratch.write("plimsoll.yaml", "gpu: l4\ntrainer: lost.json\n");
  const Ran lost = run_plimsoll({"estimate", kPerceptron}, here);
  CHECK(lost.status == 4);
  CHECK(says(lost, "lost.json: error: no such file"));
}

TEST_CASE("cli: a default that its flag does not take is told where it stands") {
  if (skipped()) return;
  const std::vector<std::string> asked = {"estimate", kPerceptron, "--gpu", "l4"};
  for (const char* text : {"batch: 8.5\n", "precision: no\n", "workspace-limit: much\n"}) {
    const Scratch scratch;
    scratch.write("plimsoll.yaml", text);
    const Ran ran = run_plimsoll(asked, {.folder = scratch.path("")});
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, "plimsoll.yaml:1:"));
  }
  for (const char* variable : {"PLIMSOLL_BATCH=8.5", "PLIMSOLL_GPUS=0", "PLIMSOLL_EPOCHS=x"}) {
    const Ran ran = run_plimsoll(asked, {.environment = {variable}});
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(says(ran, std::string(variable).substr(0, std::string(variable).find('=')) +
                        " is set in the environment"));
  }
}

TEST_CASE("cli: a default that a recorded step does not follow is named") {
  if (skipped()) return;
  const std::string step =
      std::string(PLIMSOLL_SOURCE_DIR) + "/tests/golden/steps/losses_inside.plimsoll.json.gz";
  const auto with = [&](const std::string& text) {
    const Scratch scratch;
    scratch.write("plimsoll.yaml", text);
    return run_plimsoll({"estimate", step, "--gpu", "l4"}, {.folder = scratch.path("")});
  };
  for (const std::string name : {"precision", "optimizer", "accumulate"}) {
    const Ran ran = with(name + (name == "precision"   ? ": bf16\n"
                                 : name == "optimizer" ? ": adamw\n"
                                                       : ": 4\n"));
    CAPTURE(ran.err);
    CHECK(says(ran, "--" + name + ", a default of this project, has no effect: the recorded step"));
  }
  CHECK_FALSE(says(with("reserve: 1GiB\n"), "W516"));
}

TEST_CASE("cli: check tells good files from bad ones, with their kind and place") {
  if (skipped()) return;
  const Ran good = run_plimsoll({"check", kPerceptron, kExamples + "sweep.yaml",
                                 kExamples + "measured-runs.csv", kExamples + "kernels.csv"});
  CHECK(good.status == 0);
  CHECK(says(good.out, "perceptron.json: a model\n"));
  CHECK(says(good.out, "sweep.yaml: a plan\n"));
  CHECK(says(good.out, "measured-runs.csv: 4 measured runs\n"));
  const Scratch scratch;
  const std::string plan = scratch.write("plan.yaml", "model: x.onnx\nparametres: {batch: [1]}\n");
  const Ran bad = run_plimsoll({"check", "--quiet", kPerceptron, plan});
  CHECK(bad.status == 3);
  CHECK(bad.out.empty());
  CHECK(says(bad, "plan.yaml:2:1"));
  CHECK(run_plimsoll({"check"}).status == 2);
  CHECK(run_plimsoll({"check", "no-such.onnx"}).status == 4);
}

TEST_CASE("cli: bash completes verbs, flags, GPUs, words and a model's dimensions") {
  if (skipped()) return;
  const std::string script = run_plimsoll({"completion", "bash"}).out;
  CHECK(says(script, "complete -o default -F _plimsoll plimsoll"));
  const auto completed = [&](const std::string& line, int words, const char* program = "") {
    const std::string asked = script + "COMP_WORDS=(" + plimsoll_binary() + program + " " + line +
                              "); COMP_CWORD=" + std::to_string(words) +
                              "; _plimsoll; printf '%s\\n' \"${COMPREPLY[@]}\"";
    return run_plimsoll({"-c", asked},
                        {.program = "/bin/bash", .environment = {"PATH=/bin:/usr/bin"}})
        .out;
  };
  CHECK(completed("max", 1) == "max-batch\n");
  CHECK(completed("estimate --workspace", 2) == "--workspace-limit\n");
  CHECK(says(completed("estimate x.onnx --gpu tesla-p100", 4), "tesla-p100-pcie-16gb\n"));
  CHECK(completed("estimate --precision amp-b", 3) == "amp-bf16\n");
  CHECK(completed("estimate builtin:gpt2 --dim seq", 4) == "sequence=\n");
  CHECK(completed("estimate --layout ''", 3) == "nchw\nnhwc\n");
  CHECK(completed("models resnet15", 2) == "resnet152\n");
  CHECK(completed("estimate hf:Qwen/Qwen3-235", 2) == "hf:Qwen/Qwen3-235B-A22B\n");
  CHECK(completed("nonsense ''", 2) == "\n");
  CHECK(run_plimsoll({"completion", "tcsh"}).status == 2);
  if (::access((plimsoll_binary() + std::string("-monitor")).c_str(), X_OK) != 0)
    return not_run("no plimsoll-monitor beside PLIMSOLL_BINARY");
  CHECK(completed("--inter", 1, "-monitor") == "--interval\n");
  CHECK(completed("--model builtin:gpt2 --dim seq", 4, "-monitor") == "sequence=\n");
  CHECK(completed("--model builtin:resnet15", 2, "-monitor") == "builtin:resnet152\n");
  CHECK(completed("-- ls --al", 3, "-monitor") == "\n");
  CHECK(completed("re", 1, "-calibrate") == "replay\n");
  CHECK(completed("ask --gpu tesla-p100-pcie-16", 3, "-calibrate") == "tesla-p100-pcie-16gb\n");
  CHECK(completed("run --toler", 2, "-calibrate") == "--tolerance\n");
}

}  // namespace plimsoll::test
