#include "hwdb/framework.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

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

// Where the file says it; else it stays as it is.
template <class Into>
void take_version(Figures& figures, std::string_view key, Into& into) {
  if (figures.object().optional(key)) into = version(figures, key);
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
  figures.take_part(object, "inference", row.inference, kContext);
  row.low = figures.part<Bytes>(object, "low", kContext);
  row.high = figures.part<Bytes>(object, "high", kContext);
  figures.take_part(object, "per_convolution", row.per_convolution, {"0 B", "64 MiB"});
  figures.take_part(object, "per_thread", row.per_thread, {"0 B", "64 KiB"});
  figures.take_part(object, "per_generation", row.per_generation, {"0 B", "1 GiB"});
  figures.take_part(object, "handle", row.handle, {"0 B", "1 GiB"});
  figures.take_part(object, "handle_hopper", row.handle_hopper, {"0 B", "1 GiB"});
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
    const UsualLibraries row{required_version(object, "since"), required_version(object, "cudnn"),
                             required_version(object, "cuda")};
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
  figures.take("guess_limit", profile.guess_limit, {"0 B", "1 TiB"});
  figures.take("workspace_limit", profile.workspace_limit, {"0 B", "1 TiB"});
  if (figures.object().optional("batch_norm")) {
    profile.separate_batch_norm =
        figures.choice("batch_norm", {"library", "separate"}) == "separate";
  }
  profile.autotune_empties_cache = figures.boolean("autotune_empties_cache");
  figures.take("autotune_outside", profile.autotune_outside);
  if (figures.has("workspace_home"))
    profile.workspace_home =
        choice<WorkspaceHome>(figures, "workspace_home", {"allocator", "shared", "own"});
  figures.take("workspace_copies", profile.workspace_copies, {.low = 1, .high = 16});
  figures.take("pointwise_by_gemm", profile.pointwise_by_gemm);
  if (figures.has("scratch_rule"))
    profile.scratch_rule =
        choice<ScratchRule>(figures, "scratch_rule", {"library", "aten", "ideal"});
  figures.take("bf16_library_since", profile.bf16_library_since, {.low = 10, .high = 1000});
  constexpr RealRange kTimes{.low = 1, .high = 30};
  take_version(figures, "turns_half_since", profile.turns_half_since);
  take_version(figures, "turns_first_since", profile.turns_first_since);
  figures.take("channels_last_norm", profile.channels_last_norm, kTimes);
  figures.take("channels_last_concat", profile.channels_last_concat, kTimes);
  figures.take("max_pool_backward", profile.max_pool_backward, kTimes);
  figures.take("bias_factor", profile.bias_factor, kTimes);
  figures.take("relu_factor", profile.relu_factor, kTimes);
  figures.take("norm_buffers", profile.norm_buffers, {.low = 1, .high = 16});
  figures.take("copies_beside_update", profile.copies_beside_update);
  figures.take("bias_operator", profile.bias_is_operator);
  take_version(figures, "persistent_norm_since", profile.persistent_norm_since);
  take_version(figures, "persistent_recurrent_since", profile.persistent_recurrent_since);
  take_version(figures, "small_recurrent_since", profile.small_recurrent_since);
  profile.cudnn = version(figures, "cudnn");
  profile.cuda = version(figures, "cuda");
  take_version(figures, "cuda_since", profile.cuda_since);
  profile.tf32_convolutions = figures.boolean("tf32_convolutions");
  profile.tf32_matmuls = figures.boolean("tf32_matmuls");
  constexpr Plausible kWorkspace{"0 B", "1 GiB"};
  profile.cublas_workspace = figures.quantity<Bytes>("cublas_workspace", kWorkspace);
  profile.cublas_workspace_hopper = figures.quantity<Bytes>("cublas_workspace_hopper", kWorkspace);
  take_version(figures, "cublas_given_back_since", profile.cublas_given_back_since);
}

void read_exchange(Figures& figures, Profile& profile) {
  constexpr Plausible kBucket{"0 B", "1 GiB"};
  profile.exchange = figures.has("exchange") ? figures.text("exchange") : "ring";
  figures.take("exchange_overlaps", profile.exchange_overlaps);
  figures.take("bucket", profile.bucket, kBucket);
  figures.take("first_bucket", profile.first_bucket, kBucket);
  figures.take("collective_buffers", profile.collective_buffers);
  figures.take("data_parallel", profile.data_parallel);
}

// What its users may ask of it.
void read_switches(Figures& figures, Profile& profile) {
  figures.take("allocator_settings", profile.allocator_settings);
  figures.take("algorithm_switch", profile.algorithm_switch);
  take_version(figures, "compiles_since", profile.compiles_since);
  take_version(figures, "shards_since", profile.shards_since);
  take_version(figures, "replays_since", profile.replays_since);
}

// What is rare: absent where a framework does not have the habit.
void read_habits(Figures& figures, Profile& profile) {
  figures.take("response_norm_in_pieces", profile.policy.response_norm_in_pieces);
  figures.take("composes_functions", profile.policy.composes_functions);
  figures.take("fused_softmax_loss", profile.policy.fused_softmax_loss);
  if (figures.has("recurrent"))
    profile.policy.unrolls_recurrent =
        figures.choice("recurrent", {"library", "unrolled"}) == "unrolled";
  if (figures.has("cells"))
    profile.policy.cell_form = figures.choice("cells", {"joined", "apart"}) == "apart"
                                   ? CellForm::kApart
                                   : CellForm::kJoined;
  figures.take("pool_index_bytes", profile.policy.pool_index_bytes, {.low = 4, .high = 8});
  figures.take("system_reserve", profile.system_reserve.least, {"0 B", "4 GiB"});
  figures.take("system_reserve_share", profile.system_reserve.share, {.low = 0, .high = .5});
  take_version(figures, "lazy_loading_since", profile.lazy_loading_since);
  figures.take("autotune_tries_each", profile.autotune_tries_each);
  figures.take("image_models_in_place", profile.image_models_in_place);
  figures.take("python_names", profile.python_names);
  figures.take("smooth_keeps_input", profile.policy.smooth_keeps_input);
  take_version(figures, "relu_keeps_input_before", profile.relu_input_dropped);
  take_version(figures, "softmax_keeps_input_before", profile.softmax_input_dropped);
  take_version(figures, "group_norm_turns_before", profile.group_norm_channels_last);
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
  read_exchange(figures, profile);
  read_switches(figures, profile);
  profile.keeps_activation_gradients = figures.boolean("keeps_activation_gradients");
  profile.zero_grad = choice<ZeroGrad>(figures, "zero_grad", {"none", "before", "after", "keep"});
  profile.prefetched_batches = figures.integer("prefetched_batches", {.low = 0, .high = 64});
  figures.take("memory_spread", profile.memory_spread, {.low = 0, .high = 10});
  figures.take("demand_spread", profile.demand_spread, {.low = 0, .high = 10});
  profile.input_path = choice<Profile::InputPath>(figures, "input_path", {"pageable", "pinned"});
  read_process(figures, profile);
  read_policy(figures, profile);
  profile.policy.names_hold_values = profile.execution != Profile::Execution::kGraph;
  read_habits(figures, profile);
}

}  // namespace

int64_t SystemReserve::of(int64_t free) const {
  if (least.value == 0) return 0;
  return std::min(free,
                  std::max(least.value, static_cast<int64_t>(share * static_cast<double>(free))));
}

void FrameworkProfile::ask(const Version& version) {
  asked = version;
  if (turns_first_since && !(version < *turns_first_since)) channels_last = false;
  for (const UsualLibraries& row : libraries) {
    if (version < row.since && &row != &libraries.front()) break;
    cudnn = row.cudnn;
    cuda = row.cuda;
  }
}

bool FrameworkProfile::names_version() const {
  return asked != Version{.numbers = {std::numeric_limits<int>::max()}};
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
