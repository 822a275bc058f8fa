// What a new user types first and gets wrong: each slip is told for what it is, with the next step,
// on a machine without nvidia-smi as well as with a GPU named.
#include <doctest/doctest.h>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

// The first bytes of torch.save(module): a zip whose first member is NAME/data.pkl.
std::string saved_module() {
  std::string head("PK\x03\x04\x14\x00\x00\x00\x00\x00", 10);
  head += std::string(16, '\0') + std::string("\x0c\x00\x00\x00", 4) + "net/data.pkl";
  return head + std::string("\x80\x02}q\x00.", 6);
}

using Arguments = std::vector<std::string>;

const std::vector<Arguments> kModelVerbs = {
    {"estimate"}, {"max-batch"}, {"compare"}, {"explain", "conv1"}};

Arguments with(Arguments verb, const Arguments& more) {
  verb.insert(verb.end(), more.begin(), more.end());
  return verb;
}

}  // namespace

TEST_CASE("slips: what is no model is said before the GPU is asked for, by every verb") {
  if (skipped()) return;
  const Scratch scratch;
  scratch.write("net.pt", saved_module());
  scratch.write("train.yaml", "model: resnet50\nlr: 0.1\n");
  struct Slip {
    const char* model;
    int status;
    const char* code;
    const char* message;
  };
  const std::vector<Slip> slips = {
      {"resnet50", 4, "[E601]", "did you mean builtin:resnet50?"},
      {"net.pt", 3, "[E203]", "torch.onnx.export(module, inputs, 'model.onnx')"},
      {"meta-llama/Llama-3.1-8B", 4, "[E601]", "comes with Plimsoll: hf:meta-llama/Llama-3.1-8B"},
      {"somebody/net-of-mine", 4, "[E601]", "plimsoll.from_torch(lambda: AutoModel"},
      {"train.yaml", 3, "[E203]", "is YAML"},
      {"builtin:resnet5", 2, "[E150]", "did you mean resnet50?"},
  };
  for (const Slip& slip : slips) {
    for (const Arguments& verb : kModelVerbs) {
      CAPTURE(verb.front());
      CAPTURE(std::string(slip.model));
      const Ran bare = run_plimsoll(with(verb, {slip.model}), {.folder = scratch.path("")});
      CAPTURE(bare.err);
      CHECK(bare.status == slip.status);
      CHECK(says(bare, slip.code));
      CHECK(says(bare, slip.message));
      CHECK(bare.err.find(slip.code) < bare.err.find("[E109]"));
      const Ran named = run_plimsoll(with(verb, {slip.model, "--gpu", "NVIDIA A100-SXM4-40GB"}),
                                     {.folder = scratch.path("")});
      CHECK(named.status == slip.status);
      CHECK(says(named, slip.message));
      CHECK_FALSE(says(named, "[E109]"));
    }
  }
}

TEST_CASE("slips: a GPU as nvidia-smi prints it, and a batch of 0, by every verb") {
  if (skipped()) return;
  for (const Arguments& verb : kModelVerbs) {
    CAPTURE(verb.front());
    const Arguments asked =
        with(verb, {"builtin:resnet18", "--gpu", "NVIDIA A100-SXM4-40GB", "--batch", "2"});
    CHECK(run_plimsoll(asked).status == 0);
    const Ran none = run_plimsoll(with(verb, {"builtin:resnet18", "--batch", "0"}));
    CHECK(none.status == 2);
    CHECK(says(none, "--batch must be a whole number from 1"));
  }
}

TEST_CASE("slips: a model where a plan, measured runs, a node or a command is meant") {
  if (skipped()) return;
  struct Slip {
    Arguments arguments;
    const char* code;
    const char* help;
  };
  const std::vector<Slip> slips = {
      {{"sweep", "resnet50"}, "[E122]", "--model builtin:resnet50"},
      {{"sweep", "builtin:resnet50"}, "[E122]", "--model builtin:resnet50"},
      {{"sweep", "net.onnx"}, "[E122]", "--model net.onnx"},
      {{"validate", "resnet50"}, "[E122]", "plimsoll estimate builtin:resnet50"},
      {{"validate", "net.pt"}, "[E122]", "examples/measured-runs.csv"},
      {{"explain", "resnet50"}, "[E108]", "plimsoll explain NODE builtin:resnet50"},
      {{"resnet50"}, "[E101]", "plimsoll estimate builtin:resnet50"},
      {{"net.onnx"}, "[E101]", "plimsoll estimate net.onnx"},
  };
  for (const Slip& slip : slips) {
    CAPTURE(slip.arguments.back());
    const Ran ran = run_plimsoll(slip.arguments);
    CAPTURE(ran.err);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(says(ran, slip.code));
    CHECK(says(ran, slip.help));
  }
  const Scratch scratch;
  const std::string config = scratch.write(
      "net.json", "{\"schema\": \"plimsoll.model-config\", \"version\": 1, \"layers\": []}");
  const Ran plan = run_plimsoll({"sweep", config});
  CHECK(plan.status == 3);
  CHECK(says(plan, "is a model config, not a plan [E203]"));
}

TEST_CASE("slips: a misspelt column is named, and the gate is not green") {
  if (skipped()) return;
  const Scratch scratch;
  const std::string runs = scratch.write(
      "runs.csv", "kind,device,modle,batch,mode,total_ms\nmodel,tesla-t4,resnet50,32,train,300\n");
  const Ran ran = run_plimsoll({"validate", runs, "--tolerance", "time=50%"});
  CHECK(ran.status == 1);
  CHECK(says(ran, "\"modle\" is no key of measured runs"));
  CHECK(says(ran, "did you mean \"model\"?"));
  CHECK(ran.out.find("FAILED 0 compared") != ran.out.npos);
  // Without a single record there is no table to read.
  const Ran nothing = run_plimsoll({"validate", "nosuch.csv"});
  CHECK(nothing.status == 4);
  CHECK(nothing.out == "FAILED 0 compared\n");
}

TEST_CASE("slips: one name is not given two values") {
  if (skipped()) return;
  const std::vector<Arguments> twice = {
      {"--dim", "height=32", "--dim", "height=64"},
      {"--branch", "gate=then", "--branch", "gate=else"},
      {"--trip", "loop=3", "--trip", "loop=4"},
      {"--contents", "counts=1,2", "--contents", "counts=2,1"},
      {"--assume", "X=FREE", "--assume", "X=ELEMENTWISE"},
      {"--limit", "nodes=3", "--limit", "nodes=4"},
  };
  for (const Arguments& flags : twice) {
    CAPTURE(flags.front());
    const Ran ran = run_plimsoll(with({"estimate", "builtin:resnet18", "--gpu", "l4"}, flags));
    CHECK(ran.status == 2);
    CHECK(says(ran, "is given twice"));
    CHECK(says(ran, "[E114]"));
  }
}
