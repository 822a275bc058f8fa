// What people pass that is no model says what it is, and what to do.
#include "graph/onnx/file_type.h"

#include <doctest/doctest.h>

#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;
using namespace std::string_literals;

namespace {

std::string told(const Result<void>& result) {
  if (result) return "sound";
  const Diagnostic& d = result.error()[0];
  CHECK(d.code == "E203");
  return d.message + ": " + d.help;
}

std::string said_of(std::string_view bytes) {
  return told(onnx::refuse_other_formats(source_of(bytes)));
}
std::string said_of_json(std::string_view text) {
  return told(onnx::refuse_other_json(text, "m.json"));
}

// The beginning of an archive whose first member has this name.
std::string zip(const std::string& name) {
  return "PK\x03\x04" + std::string(22, '\0') + static_cast<char>(name.size()) + "\0\0\0"s + name;
}

}  // namespace

TEST_CASE("archives are told apart by what is in them") {
  CHECK(said_of(zip("module/data.pkl")).starts_with("is a PyTorch file: weights, or a module"));
  CHECK(said_of(zip("archive/byteorder")).find("torch.onnx.export") != std::string::npos);
  CHECK(said_of(zip("metadata.json")).starts_with("is a Keras model"));
  CHECK(said_of(zip("a.npy")).starts_with("is an archive of NumPy arrays"));
  CHECK(said_of(zip("readme")).starts_with("is a zip archive"));
}

TEST_CASE("protobuf messages of others are told apart by their first fields") {
  CHECK(said_of("\x0a\x0f\x0a\x01x\x12\x0bPlaceholder").starts_with("is a TensorFlow graph"));
  CHECK(said_of("\x0a\x10\x08\x00\x10\x01"s).starts_with("is a Paddle program"));
  CHECK(said_of("\x08\x01\x12\x09\x0a\x07\x22\x05serve").starts_with("is a TensorFlow SavedModel"));
  CHECK(said_of("\x08\x04\x12\x0b\x0a\x09\x0a\x05image").starts_with("is a Core ML model"));
  CHECK(said_of("\x0a\x07"
                "AlexNet")
            .find("Caffe") != std::string::npos);
  CHECK(said_of("\x08\x08\x12\x07pytorch") == "sound");
}

TEST_CASE("texts are told apart") {
  CHECK(said_of("method: grid\nparameters:\n  batch:\n    values: [1]\n") ==
        "is YAML, such as a sweep plan: plans are for 'plimsoll sweep'");
  CHECK(said_of("# settings\nlr: 0.1\n").starts_with("is YAML, not a model"));
  CHECK(said_of("import torch\n\nclass Net:\n").starts_with("is a Python program"));
  CHECK(said_of("name: \"AlexNet\"\nlayer {\n}\n").starts_with("is a Caffe prototxt"));
  CHECK(said_of("node {\n  op: \"Relu\"\n}\n").starts_with("is a TensorFlow graph in text form"));
  CHECK(said_of("ir_version: 8\ngraph {\n}\n").starts_with("is an ONNX model in text form"));
  CHECK(said_of("<\n  ir_version: 8\n>\nnet (x) => (y) {}\n")
            .starts_with("is an ONNX model in text form"));
  CHECK(said_of("7767517\n3 3\n").starts_with("is an ncnn model"));
  for (const char* yaml : {"compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n",
                           "micro_batch_size: 2\n", "fsdp_config:\n  fsdp_version: 2\n"}) {
    CHECK(said_of(yaml).starts_with("is a trainer's YAML, not a model"));
  }
  for (const auto& [text, is] :
       {std::pair("base_model: x\nmicro_batch_size: 2\n", "is a config of axolotl"),
        std::pair("model:\n  _component_: torchtune.models.llama3.llama3_8b\n",
                  "is a config of torchtune"),
        std::pair("stage: sft\nfinetuning_type: lora\n", "is a config of LLaMA-Factory"),
        std::pair("[job]\nname = \"x\"\n[training]\nsteps = 10\n",
                  "is a trainer's TOML, not a model"),
        std::pair("[net]\nbatch=64\n[convolutional]\n", "is a Darknet network"),
        std::pair("nc: 80\nbackbone:\n  - [-1, 1, Conv, [64]]\n", "is a network of Ultralytics"),
        std::pair("<net name=\"x\" version=\"10\"></net>", "is a network of OpenVINO"),
        std::pair("[tool]\nname = 1\n", "is TOML or INI, not a model")}) {
    CHECK(said_of(text).starts_with(is));
  }
  CHECK(said_of("hello there\n").starts_with("is text, not a model"));
}

TEST_CASE("JSON documents of others are told apart; a config is none of them") {
  CHECK(said_of_json(R"({"architectures": ["BertModel"], "model_type": "bert"})")
            .starts_with("is a Hugging Face config"));
  CHECK(said_of_json(R"({"_class_name": "UNet", "_diffusers_version": "0.30"})")
            .starts_with("is a config of Hugging Face diffusers"));
  for (const char* trainer :
       {R"({"zero_optimization": {"stage": 3}})", R"({"train_micro_batch_size_per_gpu": "auto"})",
        R"({"train_batch_size": 64, "fp16": {"enabled": true}})"}) {
    CHECK(said_of_json(trainer).starts_with("is a config of DeepSpeed"));
  }
  CHECK(said_of_json(R"({"per_device_train_batch_size": 2})").find("of one GPU") !=
        std::string::npos);
  CHECK(said_of_json(R"({"optimizer": {"type": "AdamW"}, "gradient_clipping": 1.0})")
            .starts_with("is a config of DeepSpeed"));
  CHECK(said_of_json(R"({"peft_type": "LORA", "r": 8})").starts_with("is a config of peft"));
  CHECK(said_of_json(R"({"model": {"vocab": {}, "merges": []}})").starts_with("is a tokenizer"));
  CHECK(said_of_json("[job]\n[training]\n").starts_with("is a trainer's TOML"));
  CHECK(said_of_json(R"({"cells": [], "nbformat": 4})").starts_with("is a notebook"));
  CHECK(said_of_json(R"({"irVersion": "8", "graph": {}})")
            .starts_with("is an ONNX model in JSON form"));
  CHECK(said_of_json(R"({"weight_map": {}})").find("safetensors") != std::string::npos);
  CHECK(said_of_json(R"({"schema": "plimsoll.model-config", "model_type": "x"})") == "sound");
  CHECK(said_of_json(R"({"hello": 1})") == "sound");
}

TEST_CASE("a classical model is refused as one, features around a network are not") {
  const Diagnostic d =
      refusal(model_of({node("TreeEnsembleClassifier", {"x"}, {"y"}, {}, "trees", "ai.onnx.ml")}));
  CHECK(d.code == "E256");
  CHECK(d.message ==
        "is a classical model (TreeEnsembleClassifier), which is not trained in steps on a GPU");
  import(model_of({node("Scaler", {"x"}, {"y"}, {}, "scale", "ai.onnx.ml")}));
}
