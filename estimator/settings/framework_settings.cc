// Framework and libraries, and how they are told to compute.
#include <array>

#include "estimator/settings/acts.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "graph/base/try.h"

namespace plimsoll {
namespace {

constexpr std::string_view kNoConvolution = "the model has no convolution";

constexpr std::array<std::string_view, 2> kLayouts = {"nchw", "nhwc"};
constexpr std::array<std::string_view, 8> kAttentions = {
    "fused", "math", "eager", "sdpa", "masked-softmax", "cudnn", "flash", "flash-1"};
constexpr std::array<std::string_view, 2> kLoadings = {"lazy", "eager"};
constexpr std::array<std::string_view, 2> kRecurrents = {"library", "unrolled"};

constexpr SettingValue algorithm() {
  return {.type = SettingValue::Type::kWord,
          .placeholder = "NAME",
          .words = algorithm_words,
          .read = [](const SettingRow&, std::string_view text, Request& into) -> Result<void> {
            const auto choice = TRY(asked_algorithm(text));
            into.conv_algorithm = choice;
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                from.conv_algorithm ? out.string(word_of(*from.conv_algorithm)) : out.null();
              }};
}

constexpr SettingRow kFrameworkRows[] = {
    {.name = "framework",
     .group = kFrameworkGroup,
     .shown = kOften,
     .help = "NAME[-VERSION], e.g. tensorflow-1.15",
     .default_text = "pytorch",
     .value = text_value<&Request::framework>("NAME", SettingValue::Type::kWord),
     .record = {.name = "framework", .write = write_framework, .composed = true}},
    {.name = "cudnn",
     .group = kFrameworkGroup,
     .help = "cuDNN version, e.g. 7.6",
     .default_text = "the framework's",
     .value = text_value<&Request::cudnn>("VERSION"),
     .record = {.name = "cudnn", .word = written_version},
     .acts = {runs_cudnn, "no kernel of the model uses cuDNN or cuBLAS"}},
    {.name = "cuda",
     .group = kFrameworkGroup,
     .help = "CUDA version, e.g. 12.8; determines whether kernels are loaded lazily",
     .default_text = "the framework's",
     .value = text_value<&Request::cuda>("VERSION"),
     .record = {.name = "cuda", .word = written_version}},
    {.name = "module-loading",
     .group = kFrameworkGroup,
     .help = "lazy or eager, like CUDA_MODULE_LOADING",
     .default_text = "the default of framework and CUDA",
     .value = word_value<kLoadings, 0, &Request::module_loading>("HOW"),
     .record = {.name = "module_loading"},
     .acts = {loads_modules, "{} sets the size of the context", "context"},
     .also = {knows_loading, "the framework's memory with lazy and eager loading is unknown"}},
    {.name = "workspace-limit",
     .group = kFrameworkGroup,
     .help = "largest workspace of a convolution; 'sweep' compares all limits",
     .default_text = "the framework's",
     .value = size_value<&Request::workspace_limit>(),
     .acts = {convolves, kNoConvolution}},
    {.name = "conv-algo",
     .group = kFrameworkGroup,
     .help = "how convolution algorithms are chosen: by timing (autotune, time_once), by "
             "prediction (heuristic, guess_once), deterministic ones only, or one algorithm by "
             "name (im2col, FFT, ...)",
     .default_text = "the framework's policy",
     .value = algorithm(),
     .acts = {convolves, kNoConvolution}},
    {.name = "cudnn-benchmark",
     .group = kFrameworkGroup,
     .help = "time the algorithms and use the fastest",
     .default_text = "the framework's policy",
     .value = on_off_value<&Request::cudnn_benchmark>(),
     .record = {.name = "cudnn_benchmark"},
     .acts = {convolves, kNoConvolution}},
    {.name = "input-gradient",
     .group = kFrameworkGroup,
     .help = "whether the gradient of the model's input is computed",
     .default_text = "the framework's choice",
     .value = on_off_value<&Request::input_gradient>(),
     .record = {.name = "input_gradient"},
     .acts = {trains, "inference has no gradients"},
     .also = {convolves, kNoConvolution}},
    {.name = "layout",
     .group = kFrameworkGroup,
     .help = "memory layout of images",
     .default_text = "the framework's",
     .value = word_value<kLayouts, 1, &Request::layout>("nchw|nhwc"),
     .record = {.name = "layout"},
     .acts = {has_images, "the model has no images"}},
    {.name = "half-norms",
     .group = kFrameworkGroup,
     .shown = kDetail,
     .help = "run layer and group norms in 16 bits under mixed precision (timm's --fast-norm)",
     .value = on_off_switch<&Request::half_norms>(),
     .record = {.name = "half_norms"},
     .acts = {normalises_rows, "no layer, group or RMS norm runs in mixed precision"}},
    {.name = "attention",
     .group = kFrameworkGroup,
     .help = "fused (also where the file has separate operators), math (separate operators), or as "
             "transformers calls it: eager, sdpa, flash; flash-1 is flash-attn before 2.0, "
             "masked-softmax is Megatron-LM's kernel between two products, cudnn as Transformer "
             "Engine calls it",
     .default_text = "the framework's choice",
     .value = word_value<kAttentions, 1, &Request::attention>("HOW"),
     .record = {.name = "attention", .word = written_attention},
     .acts = {attends, "no attention was recognised in the model"},
     .also = {fuses_attention, "the framework has no fused attention"}},
    {.name = "recurrent",
     .group = kFrameworkGroup,
     .help = "how recurrent layers run: library (cuDNN) or unrolled (an operator at a time)",
     .default_text = "the choice of model and framework",
     .value = word_value<kRecurrents, 0, &Request::recipe, &Recipe::unrolled>("HOW"),
     .record = {.name = "cudnn_rnn", .word = written_recurrent, .write = write_recurrent},
     .axis = SweepAxis::kKernels,
     .acts = {recurs, "the model has no recurrent layer"}},
    {.name = "allocator",
     .group = kFrameworkGroup,
     .help = "PyTorch's PYTORCH_CUDA_ALLOC_CONF, e.g. expandable_segments:True",
     .value = text_value<&Request::allocator>("SETTINGS"),
     .record = {.name = "allocator"}},
    {.name = "prefetch",
     .group = kFrameworkGroup,
     .help = "batches that the loader copies to the GPU in advance",
     .default_text = "0",
     .value = count_value<&Request::prefetch>(0, 1024),
     .record = {.name = "prefetch"}},
};

}  // namespace

std::span<const SettingRow> framework_settings() { return kFrameworkRows; }

}  // namespace plimsoll
