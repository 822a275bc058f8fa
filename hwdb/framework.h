// FrameworkProfile: how a framework trains, from one file hwdb/frameworks/ID.json. The file is
// flat: each key is one member below, each value has its source. Allocators' constants stand with
// the allocators (estimator/memory); costs of the host stand with the hosts (hwdb/host.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"
#include "graph/base/units.h"
#include "graph/recipe.h"
#include "hwdb/figures.h"
#include "hwdb/version.h"

namespace plimsoll {

// What the process takes from the device before the first tensor: driver context, loaded kernels,
// library handles. Depends on card, driver and build; the interval says how much.
struct ContextRow {
  std::string architecture;  // of a device, or "any"
  Bytes plain;               // no cuDNN call was made
  Bytes with_cudnn;          // convolutions, batch norm or recurrent layers were run
  Bytes low, high;
};

struct FrameworkProfile {
  enum class Execution : uint8_t {
    kEager,   // operator by operator, autograd tape
    kGraph,   // planned as a whole: TensorFlow 1, MXNet, CNTK, Theano
    kLayers,  // a list of layers with output and gradient buffers: Caffe, Torch7
  };
  enum class Allocator : uint8_t { kPytorchCaching, kBfc, kMxnetPool, kStatic, kNone };
  enum class ConvPolicy : uint8_t {
    kHeuristic,  // the library's first choice
    kAutotune,   // the fastest of those tried, within workspace_limit
    kIm2col,     // columns and a GEMM, image by image
  };
  enum class InputPath : uint8_t { kPageable, kPinned };

  std::string id;
  std::vector<std::string> aliases;
  std::string framework;  // "pytorch"
  Version since;          // first version this profile stands for
  Execution execution = Execution::kEager;
  bool channels_last = false;
  Allocator allocator = Allocator::kPytorchCaching;
  bool takes_whole_card = false;    // what nvidia-smi shows is then no measure of need
  std::vector<ContextRow> context;  // the last one is for "any"
  ConvPolicy conv_policy = ConvPolicy::kHeuristic;
  std::optional<Bytes> workspace_limit;
  bool autotune_empties_cache = false;                   // after the first call of each problem
  Version cudnn, cuda;                                   // usual for this framework version
  bool tf32_convolutions = false, tf32_matmuls = false;  // by default, where the card can
  Bytes cublas_workspace;                                // through the allocator, per handle
  Bytes cublas_workspace_hopper;
  bool keeps_activation_gradients = false;  // gradient buffers live as long as the net
  ZeroGrad zero_grad = ZeroGrad::kNone;
  int64_t prefetched_batches = 0;  // that lie on the device beside the one in use
  InputPath input_path = InputPath::kPageable;
  Policy policy;
  std::vector<FigureNote> figures;
  Diagnostics warnings;

  // The row for a device's architecture, else the one for "any".
  const ContextRow& context_for(std::string_view architecture) const;
};

// E3xx and E4xx as read_device.
Result<FrameworkProfile> read_framework(std::string_view text, std::string_view file,
                                        std::string_view stem);

}  // namespace plimsoll
