#include "hwdb/framework.h"

#include <fmt/format.h>

#include <algorithm>

#include "hwdb/entry.h"

namespace plimsoll {
namespace {

using Profile = FrameworkProfile;

// A choice by its place in the list of words; the first where the file is wrong (a fault then).
template <class Enum>
Enum choice(Figures& figures, std::string_view key, const std::vector<std::string>& words) {
  const std::string word = figures.choice(key, words);
  const auto at = std::find(words.begin(), words.end(), word);
  return static_cast<Enum>(at == words.end() ? 0 : at - words.begin());
}

Version version(Figures& figures, std::string_view key) {
  const std::string text = figures.text(key);
  const auto found = parse_version(text);
  if (!found && !text.empty()) {
    figures.object().fail("E401", fmt::format("{} is not a version", key));
  }
  return found.value_or(Version{});
}

// A row may say of which CUDA and of which loading of modules it holds.
void read_context_key(JsonObject& object, ContextRow& row) {
  row.architecture = object.required_string("architecture");
  if (const auto word = object.optional_choice("module_loading", {"lazy", "eager"}))
    row.loading = parse_module_loading(*word);
  const auto bound = [&](const char* key, std::optional<Version>& into) {
    const auto text = object.optional_string(key);
    if (!text) return;
    into = parse_version(*text);
    if (!into) object.fail("E401", fmt::format("{} is not a version", key));
  };
  bound("cuda_since", row.cuda_since);
  bound("cuda_before", row.cuda_before);
  if (row.cuda_since && row.cuda_before && !(*row.cuda_since < *row.cuda_before))
    object.fail("E402", "cuda_since must lie before cuda_before");
}

ContextRow read_context_row(JsonObject& object, Profile& profile) {
  constexpr Plausible kContext{"0 B", "16 GiB"};
  Figures figures(object, profile.figures);
  ContextRow row;
  read_context_key(object, row);
  row.plain = figures.part<Bytes>(object, "plain", kContext);
  row.with_cudnn = figures.part<Bytes>(object, "with_cudnn", kContext);
  if (object.has("inference")) row.inference = figures.part<Bytes>(object, "inference", kContext);
  row.low = figures.part<Bytes>(object, "low", kContext);
  row.high = figures.part<Bytes>(object, "high", kContext);
  if (object.has("per_convolution"))
    row.per_convolution = figures.part<Bytes>(object, "per_convolution", {"0 B", "64 MiB"});
  const auto optional = [&](const char* key, Bytes& into, Plausible range) {
    if (object.has(key)) into = figures.part<Bytes>(object, key, range);
  };
  optional("per_thread", row.per_thread, {"0 B", "64 KiB"});
  optional("per_generation", row.per_generation, {"0 B", "1 GiB"});
  optional("handle", row.handle, {"0 B", "1 GiB"});
  optional("handle_hopper", row.handle_hopper, {"0 B", "1 GiB"});
  if (row.plain < row.low || row.with_cudnn < row.plain || row.high < row.with_cudnn) {
    object.fail("E402", "a context must satisfy low <= plain <= with_cudnn <= high");
  }
  if (row.inference && (*row.inference < row.low || row.with_cudnn < *row.inference)) {
    object.fail("E402", "a context must satisfy low <= inference <= with_cudnn");
  }
  const std::string name_of_loading = row.loading ? fmt::format(".{}", name(*row.loading)) : "";
  figures.note(
      object, "context." + row.architecture + name_of_loading,
      fmt::format("{} MiB, {} MiB with cuDNN{}", row.plain.value >> 20, row.with_cudnn.value >> 20,
                  row.per_thread.value > 0
                      ? fmt::format(", {} B more a resident thread", row.per_thread.value)
                      : ""));
  object.finish();
  return row;
}

void read_context(JsonObject& root, Profile& profile) {
  for (const JsonValue& value : root.required_list("context")) {
    JsonObject object(value, root.file(), root.faults());
    profile.context.push_back(read_context_row(object, profile));
  }
  const ContextRow* last = profile.context.empty() ? nullptr : &profile.context.back();
  if (!last || last->architecture != "any" || last->loading || last->cuda_since ||
      last->cuda_before) {
    root.fail("E402", "the last context must be for \"any\" architecture, loading and CUDA");
  }
}

void read_usual_libraries(JsonObject& root, Profile& profile) {
  if (!root.has("libraries")) return;
  for (const JsonValue& value : root.required_list("libraries")) {
    JsonObject object(value, root.file(), root.faults());
    Figures figures(object, profile.figures);
    const auto part = [&](const char* key) {
      const auto found = parse_version(object.required_string(key));
      if (!found) object.fail("E401", fmt::format("{} is not a version", key));
      return found.value_or(Version{});
    };
    const UsualLibraries row{part("since"), part("cudnn"), part("cuda")};
    figures.note(object, "libraries." + row.since.text(),
                 fmt::format("cuDNN {}, CUDA {}", row.cudnn.text(), row.cuda.text()));
    object.finish();
    if (!profile.libraries.empty() && !(profile.libraries.back().since < row.since))
      object.fail("E402", "libraries must ascend in since");
    profile.libraries.push_back(row);
  }
}

void read_libraries(Figures& figures, Profile& profile) {
  profile.conv_policy = choice<Profile::ConvPolicy>(
      figures, "conv_policy", {"heuristic", "autotune", "im2col", "products"});
  if (figures.has("guess_limit"))
    profile.guess_limit = figures.quantity<Bytes>("guess_limit", {"0 B", "1 TiB"});
  if (figures.has("workspace_limit")) {
    profile.workspace_limit = figures.quantity<Bytes>("workspace_limit", {"0 B", "1 TiB"});
  } else {
    figures.object().optional("workspace_limit");
  }
  if (figures.has("batch_norm")) {
    profile.separate_batch_norm =
        figures.choice("batch_norm", {"library", "separate"}) == "separate";
  } else {
    figures.object().optional("batch_norm");
  }
  profile.exchange = figures.has("exchange") ? figures.text("exchange") : "ring";
  if (figures.has("exchange_overlaps"))
    profile.exchange_overlaps = figures.boolean("exchange_overlaps");
  profile.autotune_empties_cache = figures.boolean("autotune_empties_cache");
  if (figures.has("autotune_outside"))
    profile.autotune_outside = figures.boolean("autotune_outside");
  if (figures.has("workspace_home"))
    profile.workspace_home =
        choice<Profile::WorkspaceHome>(figures, "workspace_home", {"allocator", "shared", "own"});
  if (figures.has("workspace_copies"))
    profile.workspace_copies = figures.integer("workspace_copies", {.low = 1, .high = 16});
  if (figures.has("pointwise_by_gemm"))
    profile.pointwise_by_gemm = figures.boolean("pointwise_by_gemm");
  constexpr RealRange kTimes{.low = 1, .high = 30};
  if (figures.has("turns_half_since"))
    profile.turns_half_since = version(figures, "turns_half_since");
  if (figures.has("turns_first_since"))
    profile.turns_first_since = version(figures, "turns_first_since");
  if (figures.has("channels_last_norm"))
    profile.channels_last_norm = figures.real("channels_last_norm", kTimes);
  if (figures.has("channels_last_concat"))
    profile.channels_last_concat = figures.real("channels_last_concat", kTimes);
  if (figures.has("max_pool_backward"))
    profile.max_pool_backward = figures.real("max_pool_backward", kTimes);
  if (figures.has("bias_factor")) profile.bias_factor = figures.real("bias_factor", kTimes);
  if (figures.has("relu_factor")) profile.relu_factor = figures.real("relu_factor", kTimes);
  if (figures.has("norm_buffers"))
    profile.norm_buffers = figures.integer("norm_buffers", {.low = 1, .high = 16});
  if (figures.has("copies_beside_update"))
    profile.copies_beside_update = figures.boolean("copies_beside_update");
  if (figures.has("bias_operator")) profile.bias_is_operator = figures.boolean("bias_operator");
  if (figures.has("persistent_norm_since"))
    profile.persistent_norm_since = version(figures, "persistent_norm_since");
  if (figures.has("persistent_recurrent_since"))
    profile.persistent_recurrent_since = version(figures, "persistent_recurrent_since");
  if (figures.has("small_recurrent_since"))
    profile.small_recurrent_since = version(figures, "small_recurrent_since");
  profile.cudnn = version(figures, "cudnn");
  profile.cuda = version(figures, "cuda");
  if (figures.has("cuda_since")) profile.cuda_since = version(figures, "cuda_since");
  profile.tf32_convolutions = figures.boolean("tf32_convolutions");
  profile.tf32_matmuls = figures.boolean("tf32_matmuls");
  constexpr Plausible kWorkspace{"0 B", "1 GiB"};
  profile.cublas_workspace = figures.quantity<Bytes>("cublas_workspace", kWorkspace);
  profile.cublas_workspace_hopper = figures.quantity<Bytes>("cublas_workspace_hopper", kWorkspace);
}

// What is rare: absent where a framework does not have the habit.
void read_habits(Figures& figures, Profile& profile) {
  if (figures.has("response_norm_in_pieces"))
    profile.policy.response_norm_in_pieces = figures.boolean("response_norm_in_pieces");
  if (figures.has("fused_softmax_loss"))
    profile.policy.fused_softmax_loss = figures.boolean("fused_softmax_loss");
  if (figures.has("recurrent"))
    profile.policy.unrolls_recurrent =
        figures.choice("recurrent", {"library", "unrolled"}) == "unrolled";
  if (figures.has("cells"))
    profile.policy.cell_form = figures.choice("cells", {"joined", "apart"}) == "apart"
                                   ? CellForm::kApart
                                   : CellForm::kJoined;
  if (figures.has("pool_index_bytes"))
    profile.policy.pool_index_bytes = figures.integer("pool_index_bytes", {.low = 4, .high = 8});
  if (figures.has("system_reserve"))
    profile.system_reserve = figures.quantity<Bytes>("system_reserve", {"0 B", "4 GiB"});
  if (figures.has("system_reserve_share"))
    profile.system_reserve_share = figures.real("system_reserve_share", {.low = 0, .high = .5});
  if (figures.has("lazy_loading_since"))
    profile.lazy_loading_since = version(figures, "lazy_loading_since");
  if (figures.has("autotune_tries_each"))
    profile.autotune_tries_each = figures.boolean("autotune_tries_each");
  if (figures.has("smooth_keeps_input"))
    profile.policy.smooth_keeps_input = figures.boolean("smooth_keeps_input");
  if (figures.has("relu_keeps_input_before"))
    profile.relu_input_dropped = version(figures, "relu_keeps_input_before");
}

void read_policy(Figures& figures, Profile& profile) {
  Policy& policy = profile.policy;
  policy.sums_in_place = figures.boolean("sums_in_place");
  policy.first_layer_data_gradient = figures.boolean("first_layer_data_gradient");
  policy.pool_keeps_indices = figures.boolean("pool_keeps_indices");
  policy.foreach_optimizer = figures.boolean("foreach_optimizer");
  const std::string attention =
      figures.choice("attention", {"separate", "memory_efficient", "by_operands"});
  policy.attention.memory_efficient = attention != "separate";
  profile.chooses_attention = attention == "by_operands";
  policy.attention.row_padding = figures.integer("attention_row_padding", {.low = 1, .high = 4096});
  policy.in_place_activations = figures.boolean("in_place_activations");
  policy.dropout_mask_bytes = figures.integer("dropout_mask_bytes", {.low = 0, .high = 8});
}

void read_process(Figures& figures, Profile& profile) {
  const auto process = [&](const char* key, Bytes& value, Bytes& low, Bytes& high) {
    constexpr Plausible kProcess{"0 B", "64 GiB"};
    JsonObject one = figures.open(key);
    value = figures.part<Bytes>(one, "value", kProcess);
    low = figures.part<Bytes>(one, "low", kProcess);
    high = figures.part<Bytes>(one, "high", kProcess);
    figures.note(one, key, fmt::format("{} MiB", value.value >> 20));
    one.finish();
  };
  if (!figures.has("host_base")) return;
  process("host_base", profile.host_base, profile.host_base_low, profile.host_base_high);
  if (figures.has("host_worker")) {
    process("host_worker", profile.host_worker, profile.host_worker_low, profile.host_worker_high);
    profile.batches_per_worker = figures.integer("batches_per_worker", {.low = 1, .high = 64});
  }
  profile.host_dataset_copies = figures.real("host_dataset_copies", {.low = 0, .high = 16});
}

void read_profile(JsonObject& root, Profile& profile) {
  Figures figures(root, profile.figures);
  profile.framework = root.required_string("framework");
  profile.since = parse_version(root.required_string("since")).value_or(Version{});
  profile.execution =
      choice<Profile::Execution>(figures, "execution", {"eager", "graph", "layers", "modules"});
  profile.channels_last = figures.choice("layout", {"nchw", "nhwc"}) == "nhwc";
  profile.allocator = choice<Profile::Allocator>(
      figures, "allocator", {"pytorch-caching", "bfc", "mxnet-pool", "static", "none"});
  profile.takes_whole_card = figures.boolean("takes_whole_card");
  read_context(root, profile);
  read_usual_libraries(root, profile);
  read_libraries(figures, profile);
  profile.keeps_activation_gradients = figures.boolean("keeps_activation_gradients");
  profile.zero_grad = choice<ZeroGrad>(figures, "zero_grad", {"none", "before", "after", "keep"});
  profile.prefetched_batches = figures.integer("prefetched_batches", {.low = 0, .high = 64});
  if (figures.has("memory_spread"))
    profile.memory_spread = figures.real("memory_spread", {.low = 0, .high = 10});
  if (figures.has("demand_spread"))
    profile.demand_spread = figures.real("demand_spread", {.low = 0, .high = 10});
  profile.input_path = choice<Profile::InputPath>(figures, "input_path", {"pageable", "pinned"});
  read_process(figures, profile);
  read_policy(figures, profile);
  profile.policy.names_hold_values = profile.execution != Profile::Execution::kGraph;
  read_habits(figures, profile);
}

}  // namespace

void FrameworkProfile::ask(const Version& version) {
  asked = version;
  if (turns_first_since && !(version < *turns_first_since)) channels_last = false;
  for (const UsualLibraries& row : libraries) {
    if (version < row.since && &row != &libraries.front()) break;
    cudnn = row.cudnn;
    cuda = row.cuda;
  }
}

ModuleLoading FrameworkProfile::usual_loading(const Version& with) const {
  const bool asks = lazy_loading_since && !(asked < *lazy_loading_since) && can_load_lazily(with);
  return asks || loads_lazily_by_default(with) ? ModuleLoading::kLazy : ModuleLoading::kEager;
}

Result<FrameworkProfile> read_framework(std::string_view text, std::string_view file,
                                        std::string_view stem) {
  return read_entry<Profile>("plimsoll.framework", text, file, stem, read_profile);
}

}  // namespace plimsoll
