// Request: one question to the estimator, as flags, a Python call or a sweep point ask it. Words
// are parsed; what is a name of hwdb is looked up once, for the Platform. Each stage behind takes
// the part that is its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "estimator/request/algorithm_policy.h"
#include "estimator/request/layout.h"
#include "estimator/request/parallel_request.h"
#include "estimator/request/serving_request.h"
#include "estimator/request/weight_loading.h"
#include "graph/base/limits.h"
#include "graph/ir/recipe.h"
#include "graph/symbol/dim.h"
#include "hwdb/context.h"
#include "hwdb/host.h"
#include "hwdb/machine.h"

namespace plimsoll {

class AskedWorkspaces;

// Batches of these sizes are `share` of all, in any unit.
struct LengthBucket {
  Binding sizes;
  double share = 1;
  bool operator==(const LengthBucket&) const = default;
};

// The exchange of torch.nn.DataParallel: one process feeds all GPUs, copies the parameters to each
// in every step and gathers what they give out; else there is a process for each.
inline constexpr std::string_view kDataParallel = "data-parallel";

// Fully connected layers are split over the GPUs, gradients of the others come around a ring.
inline constexpr std::string_view kSplitLayers = "split-layers";

// Which of its kernels a framework is to take for attention, or what code calls them.
enum class AskedAttention : uint8_t {
  kNone,
  kFused,
  kMath,
  kEager,
  kSdpa,
  kMaskedSoftmax,  // Megatron-LM's own kernel between two products
  kCudnn,          // called directly, as Transformer Engine does
  kFlash,
  kFlashFirst,  // flash-attn before 2.0
};

// Which model, and what of it its file leaves open.
struct ModelRequest {
  std::string model;  // path, or "builtin:NAME"
  std::optional<int64_t> batch, image;
  Binding dims;
  Binding longest;                                     // of the largest batch, where memory is read
  std::vector<LengthBucket> lengths;                   // of which time is the mean
  std::map<std::string, std::string> settings;         // parameters of a config or built-in
  std::map<std::string, std::vector<int64_t>> shapes;  // of a graph's inputs
  std::map<std::string, int64_t> trips;                // of its loops, by node
  std::map<std::string, std::string> branches;         // "then" or "else", by node
  // Numbers that shapes are computed from, by tensor.
  std::map<std::string, std::vector<int64_t>, std::less<>> contents;
  std::map<std::string, std::string, std::less<>> assume;  // ELEMENTWISE or FREE, by operator
  bool loss_given = false;       // by the recipe; else a config's own loss holds
  bool serving = false;          // the last position's scores alone are wanted
  bool precision_given = false;  // else weights have the type that a Hugging Face config says
  bool recover = true;
  Limits limits;
  bool operator==(const ModelRequest&) const = default;
};

// On what it runs, by the names that hwdb has: find_platform() looks them up.
struct PlatformRequest {
  std::vector<std::string> devices;     // ids or aliases; at least one to evaluate
  std::optional<int64_t> memory_bytes;  // capacity instead of the device's
  int64_t reserve_bytes = 0;            // kept free
  int64_t display_bytes = 0;            // taken by a desktop on the card
  std::string framework = "pytorch";    // NAME[-VERSION]
  std::optional<std::string> cudnn, cuda;
  std::string allocator;           // PyTorch's settings, as in PYTORCH_CUDA_ALLOC_CONF
  int64_t gpu_count = 1;           // of all machines
  int64_t nodes = 1;               // machines, each with gpu_count / nodes of them
  ParallelRequest parallel;        // how they share the model
  std::string exchange;            // of gradients, a scheme's name; empty: the framework's
  std::string network;             // between machines
  std::string link;                // between the GPUs; empty: PCIe or NVLink as the card has
  std::string host = "generic";    // the machine around them: an id, an alias or a file
  std::string cpu;                 // of a machine that nobody named; one not known says nothing
  std::optional<Machine> machine;  // what was measured on one card; acts on that card alone
  std::string machine_file;        // where that was read
  // What cuDNN was asked about this model's convolutions (convolutions.h); it stands before tables.
  std::shared_ptr<const AskedWorkspaces> asked;
  // What cuDNN listed on the machine's card; it stands before tables, but behind `asked`.
  std::shared_ptr<const AskedWorkspaces> listed;
  std::string hwdb_directory;  // overrides embedded data, file by file
  bool operator==(const PlatformRequest&) const = default;
};

// How the framework is told to compute.
struct KernelRequest {
  std::optional<int64_t> workspace_limit;
  std::optional<bool> cudnn_benchmark;
  std::optional<AskedAlgorithm> conv_algorithm;      // nothing: the framework's policy
  Layout layout = Layout::kNative;                   // the framework's
  AskedAttention attention = AskedAttention::kNone;  // as the framework chooses
  bool half_norms = false;             // in mixed precision norms over rows run in 16 bits
  std::optional<bool> input_gradient;  // the first layer's data gradient; nothing: the framework's
  bool operator==(const KernelRequest&) const = default;
};

struct TrainerRow;  // estimator/request/trainer.h

// What the program does around a step: how it starts, loads batches and goes through its data.
struct ProgramRequest {
  const TrainerRow* trainer = nullptr;          // whose defaults hold where no setting is given
  std::optional<ModuleLoading> module_loading;  // nothing: the framework's and CUDA's default
  std::optional<WeightLoading> weight_loading;  // nothing: as the library that shards does
  std::optional<int64_t> context_bytes;
  bool cuda_graphs = false;        // forward and backward passes are captured once and replayed
  bool share_storages = false;     // of modules, by a program such as optnet (module_storages.h)
  std::optional<bool> input_copy;  // of a batch, inside the step; nothing: the framework's
  int64_t prefetch = 0;
  int64_t epochs = 0;
  int64_t samples = 0;            // per epoch
  int64_t samples_in_memory = 0;  // of a data set that lies in the host's memory as floats
  // Processes that load batches; 0: the one that launches loads too. Nothing: batches lie ready.
  std::optional<int64_t> workers;
  std::optional<LoaderKind> loader;  // nothing: what workers load is converted
  // Of a pipeline, the passes of other stages over those of this one, in the mean: for a picture of
  // a stage whose other_stages() are known (estimator/pipeline.h).
  double other_stages = 1;
  bool operator==(const ProgramRequest&) const = default;
};

struct Request : ModelRequest, PlatformRequest, KernelRequest, ProgramRequest {
  Recipe recipe;
  ServingRequest server;
  bool strict = false;
  bool trace = false;  // fill Estimate::trace
  // Fill Estimate::memory_curve, peak_tensors, modules, TimeEstimate::lanes: two walks over events.
  bool detail = false;
  bool minimum = false;  // fill MemoryEstimate::minimum_bytes: some ten replays more
  // Settings that the user gave, by name: of those without effect it is said (effects.h).
  std::set<std::string, std::less<>> given;
  std::string defaults;  // the user's own that were taken, and whence: for the basis
  std::set<std::string, std::less<>> by_default;  // their names
  bool operator==(const Request&) const = default;
};

}  // namespace plimsoll
