// What a framework's file may hold, described once (hwdb/file_figures.h).
#include <fmt/format.h>

#include <array>

#include "graph/json/read_fields.h"
#include "hwdb/entry.h"
#include "hwdb/file_figures.h"
#include "hwdb/framework.h"

namespace plimsoll {
namespace {

using Profile = FrameworkProfile;

constexpr std::string_view kFrameworkSchema = "plimsoll.framework";

// In the order of their enumerators.
constexpr std::string_view kExecutions[] = {"eager", "graph", "layers", "modules"};
constexpr std::string_view kLayouts[] = {"nchw", "nhwc"};
constexpr std::string_view kAllocators[] = {"pytorch-caching", "bfc", "mxnet-pool", "static",
                                            "none"};
constexpr std::string_view kConvPolicies[] = {"heuristic", "autotune", "im2col", "products"};
constexpr std::string_view kBatchNorms[] = {"library", "separate"};
constexpr std::string_view kWorkspaceHomes[] = {"allocator", "shared", "own"};
constexpr std::string_view kScratchRules[] = {"library", "aten", "ideal"};
constexpr std::string_view kZeroGrads[] = {"none", "before", "after", "keep"};
constexpr std::string_view kInputPaths[] = {"pageable", "pinned"};
constexpr std::string_view kRecurrents[] = {"library", "unrolled"};
constexpr std::string_view kCellForms[] = {"joined", "apart"};
enum class AttentionWord : uint8_t { kSeparate, kMemoryEfficient, kByOperands };
constexpr std::string_view kAttentions[] = {"separate", "memory_efficient", "by_operands"};

void describe_context_key(Fields& f, ContextRow& row) {
  f("architecture", row.architecture, "of GPUs, or the id of one, or any");
  f("module_loading", row.loading, may_be_absent("of the program that was measured"));
  describe_version(f, "cuda_since", row.cuda_since, "first version of CUDA it holds for");
  describe_version(f, "cuda_before", row.cuda_before, "first version it does not hold for");
}

void describe_context_row(Fields& f, FileFigures& figures, ContextRow& row) {
  constexpr Plausible kContext{"0 B", "16 GiB"}, kHandle{"0 B", "1 GiB"};
  describe_context_key(f, row);
  figures.part<Bytes>("plain", row.plain, kContext, {.meaning = "without cuDNN"});
  figures.part<Bytes>("with_cudnn", row.with_cudnn, kContext);
  figures.part<Bytes>("inference", row.inference, kContext,
                      may_be_absent("of a forward pass, with cuDNN or without"));
  figures.part<Bytes>("low", row.low, kContext);
  figures.part<Bytes>("high", row.high, kContext);
  figures.part<Bytes>("per_convolution", row.per_convolution, {"0 B", "64 MiB"},
                      may_be_absent("for the library handles of each group of each convolution"));
  figures.part<Bytes>("per_thread", row.per_thread, {"0 B", "64 KiB"},
                      may_be_absent("the driver's, of each thread that can be resident"));
  figures.part<Bytes>("per_generation", row.per_generation, kHandle,
                      may_be_absent("kernels of libraries for each generation of tensor cores"));
  figures.part<Bytes>("handle", row.handle, kHandle, may_be_absent("of cuBLAS, of each"));
  figures.part<Bytes>("handle_hopper", row.handle_hopper, kHandle,
                      may_be_absent("on compute capability 9.0 and later"));
  std::string shown =
      fmt::format("{} MiB, {} MiB with cuDNN", row.plain.value >> 20, row.with_cudnn.value >> 20);
  if (row.per_thread.value > 0)
    shown += fmt::format(", {} B more a resident thread", row.per_thread.value);
  const std::string loading = row.loading ? fmt::format(".{}", name(*row.loading)) : "";
  figures.note("context." + row.architecture + loading, shown, figures.source("context"));
}

void describe_platform(Fields& f, FileFigures& figures, Profile& profile) {
  f("framework", profile.framework, "whose versions it is one of");
  describe_version(f, "since", profile.since, "first version it stands for");
  figures.choice("execution", profile.execution, kExecutions,
                 {.meaning = "operator by operator; planned as a whole; layers with buffers that "
                             "share them or not"});
  figures.choice("layout", profile.channels_last, kLayouts, {.meaning = "of its programs' images"});
  figures.choice("allocator", profile.allocator, kAllocators);
  figures("takes_whole_card", profile.takes_whole_card,
          {.meaning = "what nvidia-smi shows is then no measure of need"});
  f.list("context", profile.context,
         [&](ContextRow& row) { describe_context_row(f, figures, row); },
         {.meaning = "what a process takes before its first tensor; low <= plain <= with_cudnn <= "
                     "high; the last one for any architecture, loading and CUDA",
          .least = 1});
}

void describe_binaries(Fields& f, FileFigures& figures, UsualLibraries& row) {
  describe_version(f, "since", row.since, "first version whose binaries were built with them");
  describe_version(f, "cudnn", row.cudnn, {});
  describe_version(f, "cuda", row.cuda, {});
  figures.note("libraries." + row.since.text(),
               fmt::format("cuDNN {}, CUDA {}", row.cudnn.text(), row.cuda.text()),
               figures.source("libraries"));
}

void describe_convolutions(FileFigures& figures, Profile& profile) {
  constexpr Plausible kLimit{"0 B", "1 TiB"};
  figures.choice("conv_policy", profile.conv_policy, kConvPolicies,
                 {.meaning = "the library's first choice, the fastest of those timed, columns and "
                             "a product, or the library's implicit products"});
  figures.quantity<Bytes>("guess_limit", profile.guess_limit, kLimit,
                          may_be_absent("of scratch memory where the library guesses"));
  figures.quantity<Bytes>("workspace_limit", profile.workspace_limit, kLimit,
                          may_be_absent("of scratch memory of one convolution"));
  figures.choice("batch_norm", profile.separate_batch_norm, kBatchNorms,
                 may_be_absent("kernels of cuDNN or of the framework"));
  figures("autotune_empties_cache", profile.autotune_empties_cache,
          {.meaning = "after the first call of each problem"});
  figures("autotune_outside", profile.autotune_outside,
          may_be_absent("the library times with memory that it frees"));
  figures.choice("workspace_home", profile.workspace_home, kWorkspaceHomes,
                 may_be_absent("allocated at each use, one buffer for all, or one for each"));
  figures("workspace_copies", profile.workspace_copies, {.low = 1, .high = 16},
          may_be_absent("copies of each convolution's scratch memory"));
  figures("pointwise_by_gemm", profile.pointwise_by_gemm,
          may_be_absent("1x1 convolutions of stride 1 are matrix products"));
  figures.choice("scratch_rule", profile.scratch_rule, kScratchRules,
                 may_be_absent("whose rules say what scratch memory a convolution takes"));
  figures("bf16_library_since", profile.bf16_library_since, {.low = 10, .high = 1000},
          may_be_absent("ten times the compute capability from which on cuDNN takes bf16"));
}

void describe_kernels(FileFigures& figures, Profile& profile) {
  constexpr RealRange kTimes{.low = 1, .high = 30};
  figures.version("turns_half_since", profile.turns_half_since,
                  may_be_absent("first version that turns networks of 16 bits to channels last"));
  figures.version("turns_first_since", profile.turns_first_since,
                  may_be_absent("first version that turns images to channels first"));
  figures("channels_last_norm", profile.channels_last_norm, kTimes,
          may_be_absent("traffic of its batch norm, channels last, times the library's"));
  figures("channels_last_concat", profile.channels_last_concat, kTimes,
          may_be_absent("the same of a concatenation"));
  figures("max_pool_backward", profile.max_pool_backward, kTimes, may_be_absent("the same"));
  figures("bias_factor", profile.bias_factor, kTimes, may_be_absent("the same, forward"));
  figures("relu_factor", profile.relu_factor, kTimes, may_be_absent("the same, forward"));
  figures("norm_buffers", profile.norm_buffers, {.low = 1, .high = 16},
          may_be_absent("of its result's size, that a batch norm keeps"));
  figures("copies_beside_update", profile.copies_beside_update,
          may_be_absent("the next batch comes while parameters are updated"));
  figures("bias_operator", profile.bias_is_operator,
          may_be_absent("an operator, not a second kernel of the convolution"));
  figures.version("persistent_norm_since", profile.persistent_norm_since,
                  may_be_absent("first cuDNN whose persistent batch norms it calls"));
  figures.version("persistent_recurrent_since", profile.persistent_recurrent_since,
                  may_be_absent("first cuDNN whose persistent recurrent layers it calls, 16 bits"));
  figures.version("small_recurrent_since", profile.small_recurrent_since,
                  may_be_absent("the same, of few hidden units"));
}

void describe_libraries(FileFigures& figures, Profile& profile) {
  constexpr Plausible kWorkspace{"0 B", "1 GiB"};
  figures.version("cudnn", profile.cudnn, {.meaning = "of the newest version's binaries"});
  figures.version("cuda", profile.cuda, {.meaning = "of the newest version's binaries"});
  figures.version("cuda_since", profile.cuda_since,
                  may_be_absent("the oldest that its binaries came with"));
  figures("tf32_convolutions", profile.tf32_convolutions, {.meaning = "by default"});
  figures("tf32_matmuls", profile.tf32_matmuls, {.meaning = "by default"});
  figures.quantity<Bytes>("cublas_workspace", profile.cublas_workspace, kWorkspace,
                          {.meaning = "through the allocator, of each handle"});
  figures.quantity<Bytes>("cublas_workspace_hopper", profile.cublas_workspace_hopper, kWorkspace,
                          {.meaning = "on compute capability 9.0 and later"});
  figures.version("cublas_given_back_since", profile.cublas_given_back_since,
                  may_be_absent("first version that gives it back after each product"));
}

void describe_exchange(FileFigures& figures, Profile& profile) {
  constexpr Plausible kBucket{"0 B", "1 GiB"};
  figures("exchange", profile.exchange,
          may_be_absent("how gradients of several GPUs come together; ring where not given"));
  figures("exchange_overlaps", profile.exchange_overlaps,
          may_be_absent("it begins while the backward pass runs; true where not given"));
  figures.quantity<Bytes>("bucket", profile.bucket, kBucket,
                          may_be_absent("into which gradients are copied"));
  figures.quantity<Bytes>("first_bucket", profile.first_bucket, kBucket, may_be_absent({}));
  figures("collective_buffers", profile.collective_buffers,
          may_be_absent("NCCL's channels take memory outside the allocator"));
  figures("data_parallel", profile.data_parallel,
          may_be_absent("one process can feed all GPUs of a machine"));
}

// What its users may ask of it.
void describe_switches(FileFigures& figures, Profile& profile) {
  figures("allocator_settings", profile.allocator_settings, may_be_absent("as PyTorch's"));
  figures("algorithm_switch", profile.algorithm_switch,
          may_be_absent("cuDNN's algorithms are timed or guessed"));
  figures.version("compiles_since", profile.compiles_since,
                  may_be_absent("first version with a compiler"));
  figures.version("shards_since", profile.shards_since,
                  may_be_absent("first version whose runs share weights, gradients and states"));
  figures.version("replays_since", profile.replays_since,
                  may_be_absent("first version that replays passes captured as graphs"));
}

void describe_gradients(FileFigures& figures, Profile& profile) {
  constexpr RealRange kSpread{.low = 0, .high = 10};
  figures("keeps_activation_gradients", profile.keeps_activation_gradients,
          {.meaning = "gradient buffers live as long as the net"});
  figures.choice("zero_grad", profile.zero_grad, kZeroGrads,
                 {.meaning = "when gradients are set to nothing; keep: to zero"});
  figures("prefetched_batches", profile.prefetched_batches, {.low = 0, .high = 64},
          {.meaning = "that lie on the device besides the one in use"});
  figures("memory_spread", profile.memory_spread, kSpread,
          may_be_absent("half of the 95 % range of its memory, as a share"));
  figures("demand_spread", profile.demand_spread, kSpread,
          may_be_absent("the same of the smallest memory in which its steps run"));
  figures.choice("input_path", profile.input_path, kInputPaths,
                 {.meaning = "of batches to the device"});
}

// Returns its source; nothing where there is none.
std::string describe_process(Fields& f, FileFigures& figures, std::string_view key,
                             std::string_view meaning, std::array<Bytes*, 3> sizes) {
  constexpr Plausible kProcess{"0 B", "64 GiB"};
  std::string source;
  const auto members = [&] {
    figures.part<Bytes>("value", *sizes[0], kProcess);
    figures.part<Bytes>("low", *sizes[1], kProcess);
    figures.part<Bytes>("high", *sizes[2], kProcess);
    source = figures.source(key);
    figures.note(std::string(key), fmt::format("{} MiB", sizes[0]->value >> 20), source);
  };
  f.object(key, members, may_be_absent(meaning));
  return source;
}

void describe_processes(Fields& f, FileFigures& figures, Profile& p) {
  const auto required_with = [](const std::string& source, std::string_view meaning) {
    return FieldNote{.meaning = meaning,
                     .absent_where = source.empty() ? std::optional(false) : std::nullopt};
  };
  const std::string base =
      describe_process(f, figures, "host_base", "the process on the host, nothing loaded",
                       {&p.host_base, &p.host_base_low, &p.host_base_high});
  const std::string worker =
      describe_process(f, figures, "host_worker", "each process that loads batches",
                       {&p.host_worker, &p.host_worker_low, &p.host_worker_high});
  figures("batches_per_worker", p.batches_per_worker, {.low = 1, .high = 64},
          required_with(worker, "that each has ready, the one in work included"));
  figures("host_dataset_copies", p.host_dataset_copies, RealRange{.low = 0, .high = 16},
          required_with(base, "of a data set that lies in memory"));
}

void describe_policy(FileFigures& figures, Profile& profile) {
  Policy& policy = profile.policy;
  figures("sums_in_place", policy.sums_in_place,
          {.meaning = "gradients are added into one that nobody else holds"});
  figures("first_layer_data_gradient", policy.first_layer_data_gradient,
          {.meaning = "of an input that needs none"});
  figures("pool_keeps_indices", policy.pool_keeps_indices);
  figures("foreach_optimizer", policy.foreach_optimizer,
          {.meaning = "updates work on lists of parameters"});
  auto attention = AttentionWord::kSeparate;
  if (policy.attention.memory_efficient)
    attention =
        profile.chooses_attention ? AttentionWord::kByOperands : AttentionWord::kMemoryEfficient;
  figures.choice("attention", attention, kAttentions);
  policy.attention.memory_efficient = attention != AttentionWord::kSeparate;
  profile.chooses_attention = attention == AttentionWord::kByOperands;
  figures("attention_row_padding", policy.attention.row_padding, {.low = 1, .high = 4096});
  figures("in_place_activations", policy.in_place_activations);
  figures("dropout_mask_bytes", policy.dropout_mask_bytes, {.low = 0, .high = 8},
          {.meaning = "of an element"});
}

// What is rare: absent where a framework does not have the habit.
void describe_habits(FileFigures& figures, Profile& profile) {
  Policy& policy = profile.policy;
  figures("response_norm_in_pieces", policy.response_norm_in_pieces,
          may_be_absent("a norm across channels is a function of plain operators"));
  figures("composes_functions", policy.composes_functions,
          may_be_absent("GELU, layer norm and some updates are functions of plain operators"));
  figures("fused_softmax_loss", policy.fused_softmax_loss,
          may_be_absent("softmax and cross entropy are one operator"));
  figures.choice("recurrent", policy.unrolls_recurrent, kRecurrents, may_be_absent({}));
  figures.choice("cells", policy.cell_form, kCellForms,
                 may_be_absent("of unrolled recurrent layers"));
  figures("pool_index_bytes", policy.pool_index_bytes, {.low = 4, .high = 8}, may_be_absent({}));
  figures.quantity<Bytes>("system_reserve", profile.system_reserve.least, {"0 B", "4 GiB"},
                          may_be_absent("what its allocator leaves free of a card, at least"));
  figures("system_reserve_share", profile.system_reserve.share, RealRange{.low = 0, .high = .5},
          may_be_absent("of what is free, where that is more"));
  figures.version("lazy_loading_since", profile.lazy_loading_since,
                  may_be_absent("first version that asks for lazy loading of modules itself"));
  figures("autotune_tries_each", profile.autotune_tries_each,
          may_be_absent("each with its scratch memory, one after the other"));
  figures("image_models_in_place", profile.image_models_in_place,
          may_be_absent("its library's image models overwrite their inputs"));
  figures("python_names", profile.python_names, may_be_absent("hold values that no file tells"));
  figures("smooth_keeps_input", policy.smooth_keeps_input,
          may_be_absent("tanh and sigmoid keep input and result"));
  figures.version("relu_keeps_input_before", profile.relu_input_dropped,
                  may_be_absent("first version in which ReLU keeps only its result"));
  figures.version("softmax_keeps_input_before", profile.softmax_input_dropped,
                  may_be_absent("first version in which softmax keeps only its result"));
  figures.version("denominator_lists_before", profile.denominators_in_place,
                  may_be_absent("first version whose Adam by lists needs one temporary list"));
  figures.version("group_norm_turns_before", profile.group_norm_channels_last,
                  may_be_absent("first version with a group norm for channels last"));
}

struct FrameworkFile {
  Profile profile;
};

void describe(Fields& f, FrameworkFile& file) {
  Profile& profile = file.profile;
  FileFigures figures(f, profile.figures);
  describe_identity(f, kFrameworkSchema, profile.id, profile.aliases);
  describe_platform(f, figures, profile);
  f.list(
      "libraries", profile.libraries,
      [&](UsualLibraries& row) { describe_binaries(f, figures, row); },
      may_be_absent("of older versions' binaries; ascending in since"));
  describe_convolutions(figures, profile);
  describe_kernels(figures, profile);
  describe_libraries(figures, profile);
  describe_exchange(figures, profile);
  describe_switches(figures, profile);
  describe_gradients(figures, profile);
  describe_processes(f, figures, profile);
  describe_policy(figures, profile);
  describe_habits(figures, profile);
}

// What figures say together.
void check_context(JsonObject& root, const ContextRow& row, const JsonValue& at) {
  if (row.cuda_since && row.cuda_before && !(*row.cuda_since < *row.cuda_before))
    root.fail("E402", "cuda_since must lie before cuda_before", at);
  if (row.plain < row.low || row.with_cudnn < row.plain || row.high < row.with_cudnn)
    root.fail("E402", "a context must satisfy low <= plain <= with_cudnn <= high", at);
  if (row.inference && (*row.inference < row.low || row.with_cudnn < *row.inference))
    root.fail("E402", "a context must satisfy low <= inference <= with_cudnn", at);
}

void check_contexts(JsonObject& root, const std::vector<ContextRow>& rows) {
  const JsonValue& written = *root.value().find("context");
  for (size_t i = 0; i < rows.size(); ++i) check_context(root, rows[i], (*written.list())[i]);
  const ContextRow* last = rows.empty() ? nullptr : &rows.back();
  if (!last || last->architecture != "any" || last->loading || last->cuda_since ||
      last->cuda_before) {
    root.fail("E402", "the last context must be for \"any\" architecture, loading and CUDA",
              written);
  }
}

void check_libraries(JsonObject& root, const std::vector<UsualLibraries>& rows) {
  const JsonValue* written = root.value().find("libraries");
  for (size_t i = 1; i < rows.size(); ++i) {
    if (!(rows[i - 1].since < rows[i].since))
      root.fail("E402", "libraries must ascend in since", (*written->list())[i]);
  }
}

// What is said of a process's parts is said of the process.
void check_processes(JsonObject& root) {
  if (root.has("host_worker") || root.has("host_dataset_copies")) root.required("host_base");
  if (root.has("batches_per_worker")) root.required("host_worker");
}

}  // namespace

Result<FrameworkProfile> read_framework(std::string_view text, std::string_view file,
                                        std::string_view stem) {
  return read_entry<Profile>(
      kFrameworkSchema, text, file, stem, [](JsonObject& root, Profile& profile) {
        profile = read_described<FrameworkFile>(root).profile;
        profile.policy.names_hold_values = profile.execution != Profile::Execution::kGraph;
        if (has_error(root.faults())) return;
        check_contexts(root, profile.context);
        check_libraries(root, profile.libraries);
        check_processes(root);
      });
}

void describe_framework_file(Fields& f) {
  FrameworkFile any;
  f.visit(any);
}

}  // namespace plimsoll
