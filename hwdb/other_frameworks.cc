#include "hwdb/other_frameworks.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "graph/base/text.h"

namespace plimsoll {
namespace {

struct OtherFramework {
  std::array<std::string_view, 9> names;
  std::string_view help;
};

constexpr OtherFramework kRows[] = {
    {{"jax", "flax", "haiku", "equinox", "maxtext"},
     "XLA plans a program's memory as a whole, and its kernels were never measured: JAX is not "
     "modelled"},
    {{"keras"}, "it runs on another framework: give tensorflow or pytorch"},
    {{"lightning", "pytorch-lightning", "fastai", "accelerate", "transformers", "ignite",
      "catalyst", "mmengine"},
     "it trains with PyTorch: give pytorch"},
    {{"deepspeed", "fsdp", "ddp", "colossalai", "axolotl", "llama-factory"},
     "it trains with PyTorch: give pytorch, and settings that shard weights, gradients and states"},
    {{"trl", "torchtitan", "torchtune", "litgpt", "unsloth", "nanotron", "megatron", "megatron-lm",
      "composer"},
     "it trains with PyTorch: give pytorch; known training programs are values of the setting "
     "trainer"},
    {{"paddle", "paddlepaddle", "mindspore", "oneflow", "megengine", "tinygrad", "mlx", "jittor"},
     "its allocator and its kernels were never measured"},
    {{"onnxruntime", "ort", "tensorrt", "trt", "openvino", "tvm", "tflite", "vllm"},
     "it runs trained networks and is not modelled; inference with pytorch is"},
};

}  // namespace

std::string_view help_for_framework(std::string_view name) {
  for (const OtherFramework& row : kRows) {
    if (!name.empty() && std::ranges::find(row.names, name) != row.names.end()) return row.help;
  }
  return {};
}

std::string framework_name(std::string_view written) {
  const std::string lower = lower_case(written);
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  // The word, what joins it to the version, and a version of at least two parts.
  const size_t dot = lower.find('.');
  if (dot == lower.npos) return lower;
  size_t version = dot;
  while (version > 0 && digit(lower[version - 1])) --version;
  size_t end = version;
  if (end > 0 && version < lower.size() && lower[end - 1] == 'v') --end;
  while (end > 0 && std::string_view(" =@_:").find(lower[end - 1]) != std::string_view::npos) --end;
  const bool joined = end > 0 && end < lower.size() && lower[end - 1] != '-';
  return joined && version < lower.size() && version != dot
             ? lower.substr(0, end) + "-" + lower.substr(version)
             : lower;
}

}  // namespace plimsoll
