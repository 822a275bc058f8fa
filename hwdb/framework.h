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
#include "graph/ir/recipe.h"
#include "hwdb/context.h"
#include "hwdb/figure_note.h"
#include "hwdb/version.h"

namespace plimsoll {

// What binaries of a framework were built with, from a version on.
struct UsualLibraries {
  Version since, cudnn, cuda;
};

// Whose rules say what scratch memory a convolution takes.
enum class ScratchRule : uint8_t {
  kLibrary,  // cuDNN's choice within a limit
  kAten,     // PyTorch's: depthwise convolutions, attention and sums are kernels of its own
  kIdeal,    // cuDNN's own first choice
};

// Where a convolution's scratch memory lies.
enum class WorkspaceHome : uint8_t {
  kAllocator,  // asked for at each use: PyTorch, TensorFlow
  kShared,     // one buffer for all, as large as the largest: MXNet, Caffe2, Torch7
  kOwn,        // each convolution keeps its own: Caffe
};

// What an allocator leaves alone of a card.
struct SystemReserve {
  Bytes least;
  double share = 0;  // of what is free, where that is more
  // At most all of it; 0 where there is none.
  int64_t of(int64_t free) const;
};

struct FrameworkProfile {
  enum class Execution : uint8_t {
    kEager,    // operator by operator, autograd tape
    kGraph,    // planned as a whole: TensorFlow 1, MXNet, CNTK, Theano
    kLayers,   // a list of layers with output and gradient buffers: Caffe
    kModules,  // the same, each with buffers of its own: Torch7
  };
  enum class Allocator : uint8_t { kPytorchCaching, kBfc, kMxnetPool, kStatic, kNone };
  enum class ConvPolicy : uint8_t {
    kHeuristic,  // the library's first choice
    kAutotune,   // the fastest of those tried, within workspace_limit
    kIm2col,     // columns and a GEMM, image by image
    kProducts,   // the library's implicit GEMMs, whatever else it has
  };
  enum class InputPath : uint8_t { kPageable, kPinned };

  std::string id;
  std::vector<std::string> aliases;
  std::string framework;       // "pytorch"
  Version since;               // first version this profile stands for
  Version asked;               // the one that was asked for; later than all where none was
  bool names_version() const;  // whether one was
  Execution execution = Execution::kEager;
  bool channels_last = false;
  Allocator allocator = Allocator::kPytorchCaching;
  bool takes_whole_card = false;    // what nvidia-smi shows is then no measure of need
  std::vector<ContextRow> context;  // the last one is for "any", whatever CUDA and loading
  // First version that asks for lazy loading itself, where CUDA has it; empty: never.
  std::optional<Version> lazy_loading_since;
  ConvPolicy conv_policy = ConvPolicy::kHeuristic;
  std::optional<Bytes> workspace_limit;
  std::optional<Bytes> guess_limit;  // the same where the library guesses: not timed, or told so
  bool separate_batch_norm = false;  // kernels of its own, not cuDNN's
  bool bias_is_operator = false;     // of its own, not a convolution's second kernel
  // First cuDNN that is asked for its persistent batch norm in training; empty: never.
  std::optional<Version> persistent_norm_since;
  // First cuDNN that is asked for a persistent kernel of recurrent layers, in 16 bits; and for the
  // one of few hidden units.
  std::optional<Version> persistent_recurrent_since, small_recurrent_since;
  bool autotune_empties_cache = false;  // after the first call of each problem
  bool autotune_outside = false;        // the library times with memory of its own, given back
  bool autotune_tries_each = false;     // with its own scratch memory, one after the other
  SystemReserve system_reserve;
  ScratchRule scratch_rule = ScratchRule::kLibrary;
  WorkspaceHome workspace_home = WorkspaceHome::kAllocator;
  int64_t workspace_copies = 1;    // kOwn: of each convolution's
  bool pointwise_by_gemm = false;  // 1x1 convolutions of stride 1 are matrix products
  // First version whose graph optimiser turns networks of 16 bits to channels last, where tensor
  // cores are; empty: never.
  std::optional<Version> turns_half_since;
  // First version whose graph optimiser turns images of a program to channels first, whatever its
  // layout; empty: never.
  std::optional<Version> turns_first_since;
  // Traffic of its own forward batch norm and concatenation of channels-last images, times that of
  // the library's kernels.
  double channels_last_norm = 1, channels_last_concat = 1;
  double max_pool_backward = 1;             // of its own kernel, times the library's traffic
  double bias_factor = 1, relu_factor = 1;  // the same, forward
  int64_t norm_buffers = 1;  // kLayers: buffers of its result's size that a batch norm keeps
  Version cudnn, cuda;       // usual for the version that was asked for, or the newest
  std::vector<UsualLibraries> libraries;  // of others, ascending
  std::optional<Version> cuda_since;  // the oldest that its binaries came with; nothing: not told
  bool tf32_convolutions = false, tf32_matmuls = false;  // by default, where the card can
  // Ten times the compute capability from which on cuDNN is asked for convolutions of bf16.
  int64_t bf16_library_since = 0;
  Bytes cublas_workspace;         // through the allocator, per handle
  Bytes cublas_workspace_hopper;  // ... on compute capability 9.0 and later
  // First version that gives it back after each product; empty: it is kept.
  std::optional<Version> cublas_given_back_since;
  bool keeps_activation_gradients = false;  // gradient buffers live as long as the net
  ZeroGrad zero_grad = ZeroGrad::kNone;
  int64_t prefetched_batches = 0;  // that lie on the device beside the one in use
  // Half-width of the 95 % range of what the framework takes beside its context, as a share, where
  // its allocations are modelled in outline only; 0 where they are replayed one by one.
  double memory_spread = 0;
  // The same of the smallest memory in which the steps run, by which a framework is judged that
  // takes more where there is room; 0: it is judged by what it takes.
  double demand_spread = 0;
  bool is_judged_by_demand() const { return takes_whole_card || demand_spread > 0; }
  // How gradients of several GPUs come together, by the name of a scheme
  // (estimator/time/exchange.h), and whether that begins while the backward pass runs.
  std::string exchange = "ring";
  bool exchange_overlaps = true;
  // Gradients are copied into buckets of this size, the first of another; 0: sent as they are.
  Bytes bucket, first_bucket;
  bool collective_buffers = false;  // NCCL's channels take memory beside the allocator
  bool data_parallel = false;       // one process can feed all GPUs of a machine
  bool allocator_settings = false;  // users can give the caching allocator PyTorch's settings
  bool algorithm_switch = false;    // users can have cuDNN's algorithms timed or guessed
  // First versions with a compiler, and that replay passes captured as graphs; empty: never.
  std::optional<Version> compiles_since, replays_since;
  // First version whose runs share weights, gradients and states; empty: never.
  std::optional<Version> shards_since;
  InputPath input_path = InputPath::kPageable;
  bool copies_beside_update = false;  // the next batch comes while parameters are updated
  // Of the process on the host: what it takes with nothing loaded, and how many times it holds a
  // data set that lies in memory.
  Bytes host_base, host_base_low, host_base_high;
  double host_dataset_copies = 1;
  // Of each process that loads batches; nothing where threads do.
  Bytes host_worker, host_worker_low, host_worker_high;
  int64_t batches_per_worker = 0;  // that it has ready, the one in work included
  // Which fused attention kernel runs, each operator's operands decide; else one takes all.
  bool chooses_attention = false;
  bool image_models_in_place =
      false;  // InPlaceReuse::kImageModels (estimator/behaviour/allocator.h)
  // How long names of its programs hold values no file says: ranges of inference allow for one.
  bool python_names = false;
  // First version in which ReLU keeps its result alone, where tanh and sigmoid keep both.
  Version relu_input_dropped;
  // Softmax keeps its input as well as its result; from this version on it does not.
  Version softmax_input_dropped;
  // First version whose Adam by lists adds to denominators in their place.
  Version denominators_in_place;
  // First version whose group norm has a kernel for images with channels last.
  Version group_norm_channels_last;
  Policy policy;
  std::vector<FigureNote> figures;
  Diagnostics warnings;

  // Stands for this version: with the libraries that its binaries were built with, where a row
  // says, and the layout that its programs run in.
  void ask(const Version& version);
  // How modules are loaded with a version of CUDA where nobody asks.
  ModuleLoading usual_loading(const Version& with) const;
};

// E3xx and E4xx as read_device.
Result<FrameworkProfile> read_framework(std::string_view text, std::string_view file,
                                        std::string_view stem);

// What a framework file may hold, of no values: for its schema.
void describe_framework_file(Fields& f);

}  // namespace plimsoll
