// How several GPUs share a model.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "estimator/model/compiled_model.h"
#include "estimator/settings/acts.h"
#include "estimator/settings/offload_value.h"
#include "estimator/settings/record_forms.h"
#include "estimator/settings/setting_value.h"
#include "estimator/settings/tables.h"
#include "estimator/settings/values.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/base/text.h"
#include "graph/base/try.h"
#include "graph/eager/masters.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

using Type = SettingValue::Type;

constexpr int64_t kMostRanks = 1 << 20, kMostChunks = 1024, kMostElements = int64_t{1} << 50;
constexpr double kMostCapacity = 1024;
constexpr std::string_view kEveryRank = "all";

// Axes that a plan may name.
constexpr std::array kAxes = {Axis::kShard, Axis::kData,    Axis::kTensor,
                              Axis::kStage, Axis::kContext, Axis::kExpert};
// Beside them, chunks of a stage: "vp" of Megatron-LM's configs.
constexpr std::string_view kChunks = "vp";

std::vector<std::string> axis_words() {
  std::vector<std::string> words;
  for (const Axis axis : kAxes) words.emplace_back(kAxisNames[static_cast<size_t>(axis)]);
  words.emplace_back(kChunks);
  return words;
}

// So many ranks along the axis, which another setting may have said too.
Result<void> take_ranks(const std::string& called, Axis axis, std::string_view text,
                        ParallelRequest& into) {
  const auto ranks = TRY(parse_count(called, text, 1, kMostRanks));
  int64_t& extent = into.axes[static_cast<size_t>(axis)];
  if (extent > 0 && extent != ranks)
    return error("E114", fmt::format("{}: {} is given twice, as {} and {}", called,
                                     kAxisNames[static_cast<size_t>(axis)], extent, ranks));
  extent = ranks;
  return {};
}

Result<void> read_axes(const SettingRow& row, std::string_view text, Request& into) {
  const std::string called = setting(row.name);
  for (const std::string_view part : split(text, ',')) {
    const auto pair = TRY(parse_assignment(called, trimmed(part)));
    const auto at = TRY(parse_word(called, pair.first, axis_words()));
    if (at == kAxes.size()) {
      into.parallel.chunks = TRY(parse_count(called, pair.second, 1, kMostChunks));
      if (*into.parallel.chunks > 1) into.parallel.schedule = Schedule::kInterleaved;
      continue;
    }
    const bool shards = kAxes[at] == Axis::kShard;
    if (shards) into.parallel.fsdp = true;
    if (shards && pair.second == kEveryRank) continue;
    auto read = take_ranks(called, kAxes[at], pair.second, into.parallel);
    if (!read) return read;
  }
  return {};
}

// "fsdp=8,tp=2": of the axes that were said.
std::string axes_text_of(const ParallelRequest& from) {
  std::string text;
  for (const Axis axis : kAxes) {
    const auto index = static_cast<size_t>(axis);
    if (const int64_t ranks = from.axes[index]; ranks > 0)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", kAxisNames[index], ranks);
  }
  return text;
}

constexpr SettingValue axes() {
  return {.type = Type::kText,
          .placeholder = "AXIS=N,...",
          .read = read_axes,
          .write = [](JsonWriter& out, const Request& from) {
            out.string_or_null(axes_text_of(from.parallel));
          }};
}

// What all settings of axes together say.
void write_axes(JsonWriter& out, const Request& from) {
  ParallelRequest said = from.parallel;
  if (!said.fsdp) said.axes[static_cast<size_t>(Axis::kShard)] = 0;  // "zero_group" says it
  std::string text = axes_text_of(said);
  if (said.fsdp && said.axes[static_cast<size_t>(Axis::kShard)] == 0)
    text = fmt::format("fsdp={}{}{}", kEveryRank, text.empty() ? "" : ",", text);
  if (!text.empty()) out.key("parallel").string(text);
}

void write_passes(JsonWriter& out, const Request& from) {
  if (from.given.contains("micro-batches") && !from.given.contains("accumulate"))
    out.key("accumulation").integer(from.recipe.accumulate);
}

// Is written with all axes, and read so (estimator/app/validate/measured_request.cc).
constexpr RecordKey kInParallel{.name = "parallel", .write = write_nothing, .composed = true};

constexpr SettingValue shards() {
  return {.type = Type::kWord,
          .placeholder = "N",
          .implied = kEveryRank.data(),
          .words = [] { return std::vector<std::string>{std::string(kEveryRank)}; },
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            into.parallel.fsdp = true;
            if (text == kEveryRank) return {};
            return take_ranks(setting(row.name), Axis::kShard, text, into.parallel);
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                const int64_t ranks = from.parallel.axes[static_cast<size_t>(Axis::kShard)];
                if (!from.parallel.fsdp) {
                  out.null();
                } else if (ranks > 0) {
                  out.integer(ranks);
                } else {
                  out.string(kEveryRank);
                }
              }};
}

// Of one axis alone.
template <Axis axis>
constexpr SettingValue ranks_along() {
  return {.type = Type::kCount,
          .placeholder = "N",
          .low = 1,
          .high = kMostRanks,
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            return take_ranks(setting(row.name), axis, text, into.parallel);
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                const int64_t ranks = from.parallel.axes[static_cast<size_t>(axis)];
                ranks > 0 ? out.integer(ranks) : out.null();
              }};
}

bool splits_operators(const SettingScope& s) {
  return s.model.recipe.parallel.mesh.extent(Axis::kTensor) > 1;
}

// The loss reads scores of which each rank has some classes.
bool splits_scores(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  const bool of_scores = recipe.loss == Loss::kCrossEntropy || recipe.loss == Loss::kCausalLm;
  if (!of_scores || !trains(s) || !splits_operators(s)) return false;
  const parallel::TensorSplit& split = s.model.placements.split;
  if (!split.gathered.empty()) return true;
  // One kernel for the loss is nobody's of these; what is left is the gradient of words.
  const bool one_kernel = s.model.policy.fused_softmax_loss && recipe.loss == Loss::kCrossEntropy;
  if (one_kernel && std::ranges::none_of(split.ends, [&](NodeId id) {
        return has(s.model.graph.nodes[id], OpRow::kPicksByIndex);
      }))
    return false;
  return std::ranges::any_of(s.model.graph.outputs, [&](TensorId id) {
    const auto part = split.values.find(id);
    return part != split.values.end() &&
           part->second + 1 == s.model.graph.tensors[id].shape->size();
  });
}

constexpr std::array<std::string_view, 3> kSplitLosses = {"dtensor", "megatron", "gathered"};
constexpr std::array<std::string_view, 3> kReduceTypes = {"fp32", "bf16", "fp16"};
constexpr std::array<std::string_view, 4> kSchedules = {"1f1b", "gpipe", "interleaved", "zb"};
constexpr std::array<std::string_view, 2> kBalances = {"blocks", "cost"};
constexpr std::array<std::string_view, 3> kContexts = {"ring", "allgather", "ulysses"};

bool has_stages(const SettingScope& s) {
  return s.model.recipe.parallel.mesh.extent(Axis::kStage) > 1;
}

bool has_chunks(const SettingScope& s) {
  return has_stages(s) && s.model.recipe.parallel.schedule == Schedule::kInterleaved;
}
bool shares_sequences(const SettingScope& s) {
  return s.model.recipe.parallel.mesh.extent(Axis::kContext) > 1;
}
bool shares_experts(const SettingScope& s) {
  return s.model.recipe.parallel.mesh.extent(Axis::kExpert) > 1;
}

// A factor, or none.
constexpr SettingValue capacity() {
  return {.type = Type::kNumber,
          .placeholder = "F",
          .read = [](const SettingRow& row, std::string_view text, Request& into) -> Result<void> {
            into.parallel.capacity = TRY(parse_real(setting(row.name), text, 0, kMostCapacity));
            return {};
          },
          .write =
              [](JsonWriter& out, const Request& from) {
                from.parallel.capacity ? out.real(*from.parallel.capacity) : out.null();
              }};
}

bool has_host(const SettingScope& s) {
  return trains(s) || s.model.recipe.parallel.offload.parameters;
}

constexpr std::string_view kOneStage = "one GPU runs all layers; {} sets the number of stages";
constexpr std::string_view kOneGpu = "there is one GPU; {} sets how many";

bool has_passes(const SettingScope& s) { return trains(s) || has_stages(s); }
bool is_fsdp(const SettingScope& s) { return s.request.parallel.fsdp && plimsoll::shards(s); }
// Also of one rank, whose gradients are joined for copies of weights.
bool shards_or_joins(const SettingScope& s) {
  const Recipe& recipe = s.model.recipe;
  return plimsoll::shards(s) ||
         (trains(s) && eager::casts_gradients(recipe) && eager::updates_flat_arrays(recipe));
}
// Of FSDP's types and DeepSpeed's buckets.
bool sends_gradients(const SettingScope& s) { return plimsoll::shards(s) && trains(s); }
bool fills_buckets(const SettingScope& s) {
  const ParallelPlan& plan = s.model.recipe.parallel;
  return sends_gradients(s) && plan.sharded_by == ShardedBy::kZero && !buffers_gradients(plan);
}
constexpr std::string_view kNoStage3 = "ZeRO gathers no weights; {} shards them";
constexpr std::string_view kSameWhole = "the same weights stay whole; {} shards the others";
bool accumulates_parts(const SettingScope& s) {
  return is_fsdp(s) && trains(s) && s.request.recipe.accumulate > 1;
}

constexpr SettingRow kParallelRows[] = {
    {.name = "parallel",
     .group = kRunGroup,
     .help = "numbers of GPUs for fsdp, dp, tp, pp, cp and ep, e.g. fsdp=8,tp=2; --gpus is their "
             "product",
     .default_text = "all GPUs for dp",
     .value = axes(),
     .record = {.name = "parallel", .write = write_axes, .composed = true}},
    {.name = "fsdp",
     .group = kRunGroup,
     .help = "shard weights, gradients and optimizer states over N GPUs; without N: over all",
     .value = shards(),
     .record = kInParallel,
     .acts = {plimsoll::shards, kOneGpu, "gpus"}},
    {.name = "zero",
     .group = kRunGroup,
     .help = "ZeRO stage: 1 shards optimizer states, 2 gradients too, 3 weights too; with --fsdp, "
             "2 is SHARD_GRAD_OP",
     .value = count_value<&Request::parallel, &ParallelRequest::zero>(1, 3),
     .record = {.name = "zero_stage", .word = written_stage},
     .acts = {shards_or_joins, kOneGpu, "gpus"}},
    {.name = "zero-group",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "shard over groups of N GPUs; the groups are replicas",
     .default_text = "all GPUs",
     .value = ranks_along<Axis::kShard>(),
     .record = {.name = "zero_group"},
     .acts = {plimsoll::shards, "nothing is sharded; {} enables it", "zero=3"}},
    {.name = "fsdp-version",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "1: FullyShardedDataParallel, 2: fully_shard",
     .default_text = "2",
     .value = count_value<&Request::parallel, &ParallelRequest::fsdp_version>(1, 2),
     .record = {.name = "fsdp_version"},
     .acts = {is_fsdp, "nothing is sharded; {} enables FSDP", "fsdp"}},
    {.name = "zero-bucket",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --zero: gradients are summed N elements at a time (reduce_bucket_size)",
     .default_text = "500000000",
     .value = count_value<&Request::parallel, &ParallelRequest::zero_bucket>(1, kMostElements),
     .record = {.name = "zero_bucket"},
     .acts = {fills_buckets, "gradients are not summed in buckets; {} does so", "zero=2"}},
    {.name = "zero-prefetch",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --zero 3: gather N weight elements ahead (stage3_prefetch_bucket_size)",
     .default_text = "50000000",
     .value = count_value<&Request::parallel, &ParallelRequest::zero_prefetch>(0, kMostElements),
     .record = {.name = "zero_prefetch"},
     .acts = {gathers_weights, kNoStage3, "zero=3"}},
    {.name = "zero-live",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --zero 3: prefetch only while fewer weight elements than N are gathered "
             "(stage3_max_live_parameters)",
     .default_text = "1000000000",
     .value = count_value<&Request::parallel, &ParallelRequest::zero_live>(0, kMostElements),
     .record = {.name = "zero_live"},
     .acts = {gathers_weights, kNoStage3, "zero=3"}},
    {.name = "zero-persistent",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --zero 3: weights of up to N elements stay whole "
             "(stage3_param_persistence_threshold)",
     .default_text = "100000",
     .value = count_value<&Request::parallel, &ParallelRequest::zero_persistent>(0, kMostElements),
     .record = {.name = "zero_persistent"},
     .acts = {parts_other_weights, kSameWhole, "zero=3"}},
    {.name = "reduce-dtype",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --fsdp or --zero: type of gradients while they are summed, fp32, bf16 or fp16",
     .default_text = "FSDP: the shards' type; ZeRO: the weights' type",
     .value =
         word_value<kReduceTypes, 0, &Request::parallel, &ParallelRequest::reduce_type>("TYPE"),
     .record = {.name = "reduce_dtype"},
     .acts = {sends_gradients, "no gradients are sharded in training; {} shards them", "fsdp"}},
    {.name = "no-sync",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --fsdp and --accumulate: exchange gradients only in the last pass",
     .value = on_off_switch<&Request::parallel, &ParallelRequest::no_sync>(),
     .record = {.name = "no_sync"},
     .acts = {accumulates_parts,
              "no pass before the last one exchanges gradients; {} sets the number of passes, and "
              "FSDP exchanges in each",
              "accumulate"}},
    {.name = "offload",
     .group = kRunGroup,
     .help = "keep in the host's memory: none, states, parameters, activations; several with "
             "commas",
     .default_text = "none",
     .value = offload_value(),
     .record = {.name = "offload", .word = written_offload},
     .acts = {has_host, "inference keeps neither states nor feature maps"}},
    {.name = "tp",
     .group = kRunGroup,
     .help = "tensor parallel: split dense layers and vocabulary over N GPUs",
     .default_text = "1",
     .value = ranks_along<Axis::kTensor>(),
     .record = kInParallel},
    {.name = "sequence-parallel",
     .group = kRunGroup,
     .help = "with --tp: also split norms and residual sums, along the sequence",
     .value = on_off_switch<&Request::parallel, &ParallelRequest::sequence_parallel>(),
     .record = {.name = "sequence_parallel"},
     .acts = {splits_operators, "no layer is split; {} sets over how many GPUs", "tp"}},
    {.name = "tp-overlap",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --tp: matrix products run while the rest of their inputs or results is sent "
             "(Megatron-LM's --tp-comm-overlap)",
     .value = on_off_switch<&Request::parallel, &ParallelRequest::tensor_overlap>(),
     .record = {.name = "tp_overlap"},
     .acts = {splits_operators, "no layer is split; {} sets over how many GPUs", "tp"}},
    {.name = "split-loss",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --tp: loss of split logits as in PyTorch's loss_parallel (dtensor) or "
             "Megatron-LM (megatron), or of all logits on each GPU, as in transformers (gathered)",
     .default_text = "dtensor",
     .value = word_value<kSplitLosses, 0, &Request::parallel, &ParallelRequest::split_loss>("NAME"),
     .acts = {splits_scores, "the loss reads no split logits; {} splits the output layer", "tp"}},
    {.name = "pp",
     .group = kRunGroup,
     .help = "pipeline parallel: N stages of repeated blocks",
     .default_text = "1",
     .value = ranks_along<Axis::kStage>(),
     .record = kInParallel},
    {.name = "schedule",
     .group = kRunGroup,
     .help = "pipeline schedule: 1f1b, gpipe, interleaved or zb (ZB-H1)",
     .default_text = "1f1b",
     .value = word_value<kSchedules, 0, &Request::parallel, &ParallelRequest::schedule>("NAME"),
     .record = {.name = "schedule", .word = written_schedule},
     .acts = {has_stages, kOneStage, "pp"}},
    {.name = "virtual-stages",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --schedule interleaved: groups of blocks per GPU",
     .default_text = "2",
     .value = count_value<&Request::parallel, &ParallelRequest::chunks>(1, kMostChunks),
     .acts = {has_chunks, "a stage has one chunk of blocks; {} gives it several",
              "schedule=interleaved"}},
    {.name = "stage-balance",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "what is equal in all pipeline stages: blocks (their number) or cost (as in nanotron)",
     .default_text = "blocks",
     .value = word_value<kBalances, 0, &Request::parallel, &ParallelRequest::balance>("BY"),
     .acts = {has_stages, kOneStage, "pp"}},
    {.name = "micro-batches",
     .group = kRunGroup,
     .help = "micro-batches per update, each of --batch samples; same as --accumulate",
     .default_text = "1",
     .value = count_value<&Request::recipe, &Recipe::accumulate>(1, 4096),
     .record = {.name = "accumulation", .write = write_passes, .composed = true},
     .acts = {has_passes, kOneStage, "pp"}},
    {.name = "cp",
     .group = kRunGroup,
     .help = "context parallel: split sequences over N GPUs",
     .default_text = "1",
     .value = ranks_along<Axis::kContext>(),
     .record = kInParallel},
    {.name = "cp-kind",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --cp: ring, allgather (of keys and values) or ulysses (heads)",
     .default_text = "ring",
     .value = word_value<kContexts, 0, &Request::parallel, &ParallelRequest::context_by>("KIND"),
     .record = {.name = "cp_kind"},
     .acts = {shares_sequences, "each GPU has whole sequences; {} splits them", "cp"}},
    {.name = "ep",
     .group = kRunGroup,
     .help = "expert parallel: split experts over N of the data-parallel GPUs",
     .default_text = "1",
     .value = ranks_along<Axis::kExpert>(),
     .record = kInParallel},
    {.name = "capacity",
     .group = kRunGroup,
     .shown = kDetail,
     .help = "with --ep: capacity factor, tokens per expert relative to the mean",
     .default_text = "no limit; tokens are spread evenly",
     .value = capacity(),
     .acts = {shares_experts, "each GPU has all experts; {} splits them", "ep"}},
    {.name = "rank",
     .group = kRunGroup,
     .help = "the GPU whose memory and time are shown",
     .default_text = "one with the highest memory",
     .value = count_value<&Request::parallel, &ParallelRequest::rank>(0, kMostRanks),
     .axis = SweepAxis::kNone},
};

}  // namespace

std::span<const SettingRow> parallel_settings() { return kParallelRows; }

}  // namespace plimsoll
