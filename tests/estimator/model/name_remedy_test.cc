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
  CHECK(model_remedy("Qwen/Qwen3-8B") == "its configuration is shipped: hf:Qwen/Qwen3-8B");
  CHECK(says(model_remedy("timm:vit_base_patch16_224"),
             "timm.create_model(\"vit_base_patch16_224\")"));
  const std::string both = model_remedy("torchvision:resnet50");
  CHECK(both.starts_with("did you mean builtin:resnet50?"));
  CHECK(says(both, "torchvision.models.resnet50()"));
}

TEST_CASE("what is no file: the address of a model's page") {
  CHECK(model_remedy("https://huggingface.co/Qwen/Qwen3-8B/tree/main") ==
        "its configuration is shipped: hf:Qwen/Qwen3-8B");
  CHECK(says(model_remedy("https://huggingface.co/nobody/nothing"), "config.json"));
  CHECK(model_remedy("https://huggingface.co/docs").empty());
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
  CHECK(model_remedy(scratch.path("")).empty());
  scratch.write("config.json", "{}");
  CHECK(says(model_remedy(scratch.path("")), "Hugging Face"));
  scratch.write("saved_model.pb", "");
  CHECK(says(model_remedy(scratch.path("")), "tf2onnx.convert --saved-model"));
}

}  // namespace plimsoll
