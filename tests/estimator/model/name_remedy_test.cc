#include "estimator/model/name_remedy.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/scratch.h"

namespace plimsoll {
namespace {

bool says(const std::string& remedy, const std::string& part) {
  return remedy.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("what is no file: names of hubs and libraries are told the call that makes the model") {
  for (const char* name :
       {"bigcode/tiny_starcoder_py", "EleutherAI/pythia-70m", "mistralai/Mistral-7B-v9"}) {
    CAPTURE(name);
    CHECK(says(model_remedy(name), "plimsoll.from_torch(lambda: AutoModelForCausalLM"));
    CHECK(says(model_remedy(name), name));
  }
  CHECK(model_remedy("Qwen/Qwen3-8B") == "its configuration comes with Plimsoll: hf:Qwen/Qwen3-8B");
  for (const char* name : {"HF:Qwen/Qwen3-8B", "https://hub.example/Qwen/Qwen3-8B",
                           "hub.example/Qwen/Qwen3-8B/tree/main"}) {
    CAPTURE(name);
    CHECK(model_remedy(name) == "its configuration comes with Plimsoll: hf:Qwen/Qwen3-8B");
  }
  CHECK(says(model_remedy("timm:vit_base_patch16_224"),
             "timm.create_model(\"vit_base_patch16_224\")"));
  const std::string both = model_remedy("torchvision:resnet50");
  CHECK(both.starts_with("did you mean builtin:resnet50?"));
  CHECK(says(both, "torchvision.models.resnet50()"));
}

TEST_CASE("what is no file: a built-in without its prefix; a path stays a path") {
  CHECK(model_remedy("resnet50") == "did you mean builtin:resnet50?");
  CHECK(model_remedy("resnet50.onnx") == "did you mean builtin:resnet50?");
  for (const char* path :
       {"./net", "/net", "~/net", "exports/net.onnx", "a/b/c", "exports/step.py"}) {
    CAPTURE(path);
    CHECK(model_remedy(path).empty());
  }
}

TEST_CASE("what is a folder: whose it is") {
  const test::Scratch scratch;
  CHECK(says(model_remedy(scratch.path("")), "this one has none"));
  scratch.write("a.onnx", "");
  CHECK(model_remedy(scratch.path("")).empty());  // who opens it lists them
  scratch.write("config.json", "{}");
  CHECK(says(model_remedy(scratch.path("")), "Hugging Face"));
  scratch.write("saved_model.pb", "");
  CHECK(says(model_remedy(scratch.path("")), "tf2onnx.convert --saved-model"));
}

}  // namespace plimsoll
