// Recipe: the user's choices about a training step. Policy: a framework's habits, as plain values
// that hwdb's framework profiles fill in. The graph room knows the meaning of each value, not which
// framework has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/dtype.h"
#include "graph/ir/exchange_behaviour.h"
#include "graph/ir/finetune.h"
#include "graph/ir/kernel.h"
#include "graph/ir/optimizer.h"
#include "graph/ir/parallel_plan.h"
#include "graph/ir/precision.h"

namespace plimsoll {

enum class Mode : uint8_t { kTrain, kTrainNoUpdate, kInference };
enum class Loss : uint8_t { kCrossEntropy, kMse, kBce, kSum, kCtc, kCausalLm, kNone };
std::string_view name(Loss loss);  // "cross_entropy"
// How the cross entropy of next tokens is computed: by PyTorch's operators; by one kernel, which
// puts the gradient in the scores' place; over parts of the sequence, after the last layer or
// together with it; or with the last layer, whose gradients are made in the forward pass.
enum class LossForm : uint8_t {
  kOperators,
  kFused,
  kChunked,
  kChunkedLinear,
  kFusedLinear,
  kTiledLinear
};
// Whose wrapper of the network casts what it returns to 32 bits. The loss of Lightning Fabric's
// programs reads that (lightning/fabric/wrappers.py, _FabricModule.forward(), convert_output() of
// its plugins for 16 bits); accelerate's come behind the loss that the model itself computes, under
// autocast alone (accelerate/accelerator.py, prepare_model(): convert_outputs_to_fp32()).
enum class WidenedOutputs : uint8_t { kNone, kFabric, kAccelerate };
// When gradients are set to nothing (or to zero: kKeep) relative to the step.
enum class ZeroGrad : uint8_t { kNone, kBefore, kAfter, kKeep };

// Whether the weights whose paths match are trained: "layer1.*". A star stands for any characters,
// a question mark for one.
struct TrainingRule {
  std::string glob;
  bool trained = false;
  bool operator==(const TrainingRule&) const = default;
};

// What a program evaluates between steps of training.
struct Evaluation {
  int64_t batch = 0;     // of one pass; 0: nothing is evaluated
  int64_t gathered = 0;  // passes whose outputs gather on the device; 0: their losses alone
  bool operator==(const Evaluation&) const = default;
};

struct Recipe {
  Mode mode = Mode::kTrain;
  const OptimizerRow* optimizer = find_optimizer("momentum");
  const PrecisionRow* precision = find_precision("fp32");
  Loss loss = Loss::kCrossEntropy;
  LossForm loss_form = LossForm::kOperators;
  int64_t loss_chunks = 8;  // of kChunked and kChunkedLinear
  // Scores are copied without the last position, where others move the labels by one
  // (transformers before 4.49, loss/loss_utils.py, ForCausalLMLoss()).
  bool shifts_scores = false;
  // The program's names hold what the network returned until the step ends.
  bool keeps_outputs = true;
  // ... until the network has returned the next batch's: the step is a loop's body, no function.
  bool keeps_last_outputs = false;
  WidenedOutputs widened_outputs = WidenedOutputs::kNone;
  // Metrics of each batch's scores, a cross entropy each without a gradient, behind its backward
  // pass.
  int64_t score_metrics = 0;
  // A pass that trains nothing returns keys and values of all blocks, beside its outputs
  // (transformers' use_cache: cache_utils.py, DynamicLayer.update(), which copies them).
  bool returns_cache = false;
  int64_t accumulate = 1;  // forward-backward passes per update
  // Which modules recompute their forward: "none", "blocks", "blocks/2" (every second), "mirror",
  // or a module-path prefix.
  std::string checkpoint = "none";
  // Blocks run again in a backward pass of their own: torch.utils.checkpoint's use_reentrant=True.
  bool reentrant = false;
  bool weight_decay = false;
  // The update begins with torch.nn.utils.clip_grad_norm_() to this norm; nothing: it does not.
  std::optional<double> clip_grad_norm;
  // ... of which it is the norm of copies in the masters' type of all gradients, before these are
  // cast for the update (InternLM/InternEvo, solver/optimizer/utils.py: reduce_grads()).
  bool norm_of_copies = false;
  // The optimizer is the model's own, as its sources trained it, where its config tells.
  bool published = false;
  std::optional<ZeroGrad> zero_grad;  // nothing: as the framework has it
  // Dropout ratio to assume where the file has none; nothing: only what the file says.
  std::optional<double> assumed_dropout;
  bool ignore_dropout = false;    // --dropout none
  bool batch_statistics = false;  // batch norms compute them in a forward pass alone too
  // Recurrent layers run step by step; nothing: as model and framework have it.
  std::optional<bool> unrolled;
  // Inference that answers many requests: keys and values of their positions stay on the card.
  bool serve = false;
  Evaluation evaluation;
  // Inference between those steps: of the model as it is trained, adapters and all, with a loss.
  bool evaluates = false;
  bool compiled = false;  // by torch.compile: kernels are fused (eager/fusion.h)
  ParallelPlan parallel;
  Finetune finetune;
  // Of the rules that match a weight the last one holds; else the model's own say.
  std::vector<TrainingRule> training;
  bool operator==(const Recipe&) const = default;
};

// Batches that one step takes: of the accumulation's passes each has its own.
inline int64_t batches_per_step(const Recipe& recipe) {
  return recipe.mode == Mode::kInference ? 1 : recipe.accumulate;
}

// How a model's attention runs: as the model's own code or file has it, its operators one by one,
// by PyTorch's operator for it, by Megatron-LM's two products around one kernel that scales, masks
// and takes the softmax, or by the package flash-attn.
enum class AttentionCode : uint8_t { kDefault, kEager, kSdpa, kMaskedSoftmax, kFlash };

// The fused attention kernels that framework, library and card have, and what each of them takes.
// Which one runs, each operator's own operands decide (graph/eager/attention_form.h): the library's
// before flash, flash before the memory-efficient one; separate products serve the rest.
struct AttentionKernels {
  AttentionCode code = AttentionCode::kDefault;
  bool library = false;       // cuDNN's: 16 bits
  bool library_wide = false;  // ... heads of more than 128
  bool flash = false;         // 16 bits, no mask
  // ... its backward pass takes all heads that forward takes; else up to 192, and from 225 on
  // without dropout.
  bool flash_wide_backward = true;
  bool memory_efficient = true;
  bool memory_efficient_bf16 = true;
  // Its heads are multiples of so many elements of 32 bits, or of 16.
  int64_t alignment = 1, half_alignment = 1;
  int64_t row_padding = 32;  // rows of its log-sum-exp are a multiple of this
  // Separate products are those of the operator itself, which scales q and k; else they are the
  // model's own code, which scales the scores.
  bool separate_by_operator = false;
  bool separate_in_fp32 = false;  // ... and computes in 32 bits and makes a causal mask
  // Products around a softmax that a file has in pieces, in whatever form, are such an operator.
  bool of_pieces = false;
  bool operator==(const AttentionKernels&) const = default;
};

struct Policy {
  // The engine adds a tensor's gradients into the older one when nobody else holds it.
  bool sums_in_place = true;
  // The data gradient of a layer whose input needs none is computed all the same.
  bool first_layer_data_gradient = false;
  // Max pooling keeps positions of so many bytes (and its input); otherwise its input and its
  // output.
  bool pool_keeps_indices = true;
  int64_t pool_index_bytes = 8;
  ExchangeBehaviour exchange;
  // Optimizers work on lists of parameters, line by line; else by one operator for each parameter.
  bool foreach_optimizer = true;
  AttentionKernels attention;
  // The model is code, and what its names hold lives until their call returns; else it is a graph,
  // where a value dies with its last reader.
  bool names_hold_values = true;
  // Element-wise activations overwrite their input where autograd allows (static frameworks).
  bool in_place_activations = false;
  // Images and filters of rank 4 come with channels innermost (NHWC).
  bool channels_last = false;
  // Recurrent layers are loops over cells, whatever the model says; of this form.
  bool unrolls_recurrent = false;
  CellForm cell_form = CellForm::kJoined;
  // Activations whose derivative their result tells keep their input as well, since cuDNN's
  // backward call takes both.
  bool smooth_keeps_input = false;  // tanh, sigmoid
  bool relu_keeps_input = false;
  bool softmax_keeps_input = false;  // of what keeps its result
  // Softmax and cross entropy are one operator, which puts probabilities in the scores' place.
  bool fused_softmax_loss = false;
  // Norm across channels is a function of plain operators, not a kernel.
  bool response_norm_in_pieces = false;
  // GELU, layer norm and updates that its library has no operator for are functions of plain
  // operators too.
  bool composes_functions = false;
  // A gradient that is there already is written, or added to, by the operator that makes it;
  // PyTorch makes it elsewhere first and adds it.
  bool gradients_in_place = false;
  // Dropout keeps a byte per element, or a value of the input's type.
  int64_t dropout_mask_bytes = 1;
  // In mixed precision norms over rows read what products do, not fp32.
  bool norms_in_half = false;
  // Group norm has a kernel for channels last; else it reads and makes images channel by channel.
  bool group_norm_channels_last = true;
  // fp32 operands go to tensor cores in reduced precision, though the recipe does not ask for it.
  bool tf32_convolutions = false, tf32_matmuls = false;
  bool operator==(const Policy&) const = default;
};

}  // namespace plimsoll
