#include "graph/onnx/file_type_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "graph/base/setting.h"
#include "graph/base/text.h"

namespace plimsoll::onnx {
namespace {

constexpr std::string_view kConfigHelp =
    "a model config is JSON, in the form that 'plimsoll schema model-config' prints";
constexpr std::string_view kDescribed =
    "it describes a model but has no layers; in Python: plimsoll.from_torch(lambda: what the "
    "library makes of it, inputs)";
constexpr std::string_view kDiffusers =
    "it does not describe the layers; in Python: plimsoll.from_torch(lambda: "
    "diffusers.UNet2DConditionModel.from_config(json.load(open(\"config.json\"))), inputs), with "
    "the "
    "class that _class_name has";
constexpr std::string_view kTrainer = "trainer";  // trainer_help()
constexpr std::string_view kAdapter =
    "it describes adapters: name the folder that contains it, or the base model with settings of "
    "fine-tuning";
constexpr std::string_view kUltralytics =
    "in Python: plimsoll.from_torch(lambda: ultralytics.YOLO(\"yolov8n.yaml\").model, inputs); or "
    "export it: yolo export format=onnx";

// The settings that say what a trainer's file says.
const std::string& trainer_help() {
  static const std::string kHelp = fmt::format(
      "it describes how to train, not which model: name the model, and the file by {}, or say the "
      "same by {} (of one GPU), {}, {}, {}, {}, {}, {} or {}",
      setting("trainer", "FILE"), setting("batch"), setting("accumulate"), setting("precision"),
      setting("optimizer"), setting("checkpoint"), setting("finetune"), setting("gpus"),
      setting("zero"));
  return kHelp;
}

// Calls `use` with each line, without white space around it.
template <class Use>
bool any_line(std::string_view text, Use use) {
  while (!text.empty()) {
    std::string_view line = take_part(text, '\n');
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (use(line)) return true;
  }
  return false;
}

// "key:" or "key: value".
bool is_yaml_line(std::string_view line) {
  const size_t colon = line.find(':');
  const auto in_key = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  };
  return colon != std::string_view::npos && colon > 0 &&
         std::ranges::all_of(line.substr(0, colon), in_key) &&
         (colon + 1 == line.size() || line[colon + 1] == ' ');
}

bool is_python_line(std::string_view line) {
  return line.starts_with("import ") || line.starts_with("from ") || line.starts_with("def ") ||
         line.starts_with("class ");
}

// Of protobuf's text form: messages open with braces at the end of a line.
TextFormat prototxt_format(std::string_view text) {
  if (text.find("ir_version") != std::string_view::npos) {
    return {"an ONNX model in text form",
            "convert it to the binary form: onnx.save(google.protobuf.text_format.Parse(text, "
            "onnx.ModelProto()), 'model.onnx')"};
  }
  const auto opens = [&](std::string_view word) {
    return any_line(text, [&](std::string_view line) {
      return line.starts_with(word) && line.substr(word.size()).find_first_not_of(' ') != 0;
    });
  };
  if (opens("layer") || opens("layers"))
    return {"a Caffe prototxt", "Plimsoll reads no Caffe models: export the network to ONNX"};
  if (opens("node")) return {"a TensorFlow graph in text form", "convert it with tf2onnx"};
  return {"protobuf in text form", "convert the model to the binary form of ONNX"};
}

struct KeyOf {
  std::string_view key;
  TextFormat format;
};

constexpr std::array kKeys = {
    KeyOf{"\"irVersion\"",
          {"an ONNX model in JSON form",
           "convert it to the binary form: onnx.save(google.protobuf.json_format.Parse(text, "
           "onnx.ModelProto()), 'model.onnx')"}},
    KeyOf{"\"nbformat\"",
          {"a notebook", "in it: plimsoll.from_torch(module, inputs), without weights and a GPU"}},
    KeyOf{"\"zero_optimization\"", {"a config of DeepSpeed", kTrainer}},
    KeyOf{"\"train_micro_batch_size_per_gpu\"", {"a config of DeepSpeed", kTrainer}},
    KeyOf{"\"train_batch_size\"", {"a config of DeepSpeed", kTrainer}},
    KeyOf{"\"zero_allow_untested_optimizer\"", {"a config of DeepSpeed", kTrainer}},
    KeyOf{"\"gradient_clipping\"", {"a config of DeepSpeed", kTrainer}},
    KeyOf{"\"compute_environment\"", {"a config of Accelerate", kTrainer}},
    KeyOf{"\"distributed_type\"", {"a config of Accelerate", kTrainer}},
    KeyOf{"\"peft_type\"", {"a config of peft's adapters", kAdapter}},
    KeyOf{"\"log_history\"", {"a trainer's state", kTrainer}},
    KeyOf{"\"per_device_train_batch_size\"", {"Hugging Face's TrainingArguments", kTrainer}},
    KeyOf{"\"weight_map\"",
          {"an index of safetensors files, which has weights and no graph", kDescribed}},
    KeyOf{"\"_diffusers_version\"", {"a config of Hugging Face diffusers", kDiffusers}},
    KeyOf{"\"modelTopology\"", {"a TensorFlow.js model", "convert it with tf2onnx"}},
    KeyOf{"\"keras_version\"", {"a Keras model's config", "convert the model with tf2onnx"}},
    KeyOf{"\"added_tokens\"", {"a tokenizer", kDescribed}},
    KeyOf{"\"model_type\"", {"a Hugging Face config", kDescribed}},
    KeyOf{"\"architectures\"", {"a Hugging Face config", kDescribed}},
    KeyOf{"\"transformers_version\"", {"a Hugging Face config", kDescribed}},
    KeyOf{"\"tokenizer_class\"", {"a tokenizer's config", kDescribed}},
    KeyOf{"\"merges\"", {"a tokenizer", kDescribed}},
    KeyOf{"\"vocab\"", {"a tokenizer", kDescribed}},
    KeyOf{"\"image_processor_type\"", {"a preprocessor's config", kDescribed}},
    KeyOf{"\"feature_extractor_type\"", {"a preprocessor's config", kDescribed}},
};

// Words of files that other programs read, wherever they stand.
struct WordsOf {
  std::string_view words;
  TextFormat format;
};

constexpr std::array kWords = {
    WordsOf{"_component_: torchtune.", {"a config of torchtune", kTrainer}},
    WordsOf{"finetuning_type:", {"a config of LLaMA-Factory", kTrainer}},
    WordsOf{"per_device_train_batch_size:", {"a trainer's YAML, not a model", kTrainer}},
    WordsOf{"base_model:", {"a config of axolotl", kTrainer}},
    WordsOf{"distributed_type:", {"a trainer's YAML, not a model", kTrainer}},
    WordsOf{"deepspeed_config", {"a trainer's YAML, not a model", kTrainer}},
    WordsOf{"fsdp_config:", {"a trainer's YAML, not a model", kTrainer}},
    WordsOf{"micro_batch_size:", {"a trainer's YAML, not a model", kTrainer}},
    WordsOf{"max_epochs:", {"a config of PyTorch Lightning", kTrainer}},
    WordsOf{"_target_:", {"a config of Hydra", kTrainer}},
    WordsOf{"[training]", {"a trainer's TOML, not a model", kTrainer}},
    WordsOf{"[convolutional]",
            {"a Darknet network", "export it to ONNX from a PyTorch module that has loaded it"}},
    WordsOf{"backbone:", {"a network of Ultralytics", kUltralytics}},
};

TextFormat with_help(TextFormat format) {
  if (format.help == kTrainer) format.help = trainer_help();
  return format;
}

}  // namespace

bool is_section(std::string_view text) {
  const auto letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return text.size() > 1 && text[0] == '[' && letter(text[1]);
}

bool is_text(std::string_view head) {
  constexpr size_t kLeast = 4;
  return head.size() >= kLeast && std::ranges::all_of(head, [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte == '\n' || byte == '\r' || byte == '\t' || (byte >= 0x20 && byte != 0x7f);
         });
}

TextFormat text_format(std::string_view head) {
  if (head.starts_with("<") && head.find("ir_version") != std::string_view::npos) {
    return {
        "an ONNX model in text form",
        "convert it to the binary form: onnx.save(onnx.parser.parse_model(text), 'model.onnx')"};
  }
  if (head.starts_with("7767517")) return {"an ncnn model", "use the .onnx file it was made from"};
  if (any_line(head, is_python_line)) {
    return {"a Python program",
            "in it: plimsoll.from_torch(module, inputs), without weights and without a GPU"};
  }
  if (any_line(head, [](std::string_view line) { return line.ends_with(" {"); }))
    return prototxt_format(head);
  for (const WordsOf& one : kWords) {
    if (head.find(one.words) != std::string_view::npos) return with_help(one.format);
  }
  const auto plan = [](std::string_view line) {
    return line.starts_with("parameters:") || line.starts_with("method:") ||
           line.starts_with("program:");
  };
  if (any_line(head, plan)) return {"YAML, such as a sweep plan", "plans are for 'plimsoll sweep'"};
  if (any_line(head, is_yaml_line)) return {"YAML, not a model", kConfigHelp};
  if (is_section(head)) return {"TOML or INI, not a model", kConfigHelp};
  return {"text, not a model", "a model is an ONNX file, a JSON config or builtin:NAME"};
}

std::optional<TextFormat> json_format(std::string_view text) {
  for (const KeyOf& one : kKeys) {
    if (text.find(one.key) != std::string_view::npos) return with_help(one.format);
  }
  return std::nullopt;
}

}  // namespace plimsoll::onnx
