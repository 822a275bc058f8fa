// The table of optimizers. To add one is to add its row here: its states, its passes in the order
// of its code, what holds which temporaries, and a worked example of each rule.
#include <algorithm>

#include "graph/eager/ops.h"
#include "graph/ir/optimizer.h"

namespace plimsoll {
namespace {

using When = UpdatePass::When;
using enum UpdateForm;

// --- types of states and temporaries ---

TensorType as_parameter(const TensorType& parameter) { return parameter; }
TensorType in_fp32(const TensorType& parameter) { return {DType::kFloat32, parameter.shape}; }
TensorType in_8_bits(const TensorType& parameter) { return {DType::kUint8, parameter.shape}; }
TensorType one_number(const TensorType& parameter) { return {parameter.dtype, {}}; }
TensorType step_number(const TensorType&) { return {DType::kFloat32, {}}; }
// The last dimension, or the one before it, summed up.
TensorType row_factor(const TensorType& parameter) {
  TensorType type = parameter;
  type.shape.back() = 1;
  return type;
}
TensorType column_factor(const TensorType& parameter) {
  TensorType type = parameter;
  type.shape[type.shape.size() - 2] = 1;
  return type;
}
TensorType mean_of_rows(const TensorType& parameter) {
  return column_factor(row_factor(parameter));
}
// bitsandbytes/optim/optimizer.py, init_state(): one scale for a block of 256 (2048 before 0.44).
TensorType block_scales(const TensorType& parameter) {
  return {DType::kFloat32, {ceil_div(elements(parameter.shape), 256)}};
}
// ... and its map from 8 bits to numbers.
TensorType quantile_map(const TensorType&) { return {DType::kFloat32, {256}}; }

constexpr TypeOf kOneState[] = {as_parameter};
constexpr TypeOf kTwoStates[] = {as_parameter, as_parameter};
// A fused kernel counts its steps on the device, the others on the host (torch/optim/adam.py).
constexpr TypeOf kTwoStatesAndStep[] = {step_number, as_parameter, as_parameter};

// --- passes that several optimizers have ---

// A copy of the gradient with the decayed weight added to it, which a name holds.
constexpr UpdatePass kDecayedGradient{
    .lists = 3, .read = 2, .made = as_parameter, .into = 0, .when = When::kDecays};
constexpr UpdatePass kStepPlusOne{.read = 1, .written = 1, .over = step_number};
constexpr UpdatePass kScaled{.read = 1, .written = 1};            // mul_, add_, div_ of a number
constexpr UpdatePass kPlus{.lists = 2, .read = 2, .written = 1};  // add_, lerp_
constexpr UpdatePass kPlusSquare{.lists = 3, .read = 2, .written = 1};  // addcmul_(g, g)
constexpr UpdatePass kNorm{.read = 1};
constexpr UpdatePass kRoot{.lists = 2, .read = 1, .made = as_parameter, .into = 1};
constexpr UpdatePass kLastPlus{.lists = 2, .read = 2, .written = 1, .frees = 1};
constexpr UpdatePass kPlusLastSquare{.lists = 3, .read = 2, .written = 1, .frees = 1};
constexpr UpdatePass kPlusQuotient{.lists = 3, .read = 3, .written = 1, .frees = 1};  // addcdiv_
// ... with numbers of each tensor's own.
constexpr UpdatePass kScaledEach{.scalars = true, .read = 1, .written = 1};
constexpr UpdatePass kPlusQuotients{.lists = 3, .scalars = true, .read = 3, .written = 1};
constexpr UpdatePass kRootScaled{.read = 1, .made = as_parameter, .into = 2, .frees = 1 << 1};

// --- SGD: torch/optim/sgd.py ---

constexpr UpdatePass kSgdPasses[] = {kDecayedGradient, kLastPlus};
constexpr UpdatePass kFusedSgd[] = {kPlus};
constexpr UpdatePass kMomentumPasses[] = {kDecayedGradient, kScaled, kLastPlus, kPlus};
// The momentum is added to the gradients themselves ...
constexpr UpdatePass kNesterovPasses[] = {kDecayedGradient, kScaled, kPlus, kPlus, kLastPlus};
// ... or to a copy of each.
constexpr UpdatePass kNesterovLoopPasses[] = {
    kDecayedGradient,
    kScaled,
    kPlus,
    {.lists = 3, .read = 2, .made = as_parameter, .into = 0},
    kLastPlus};
constexpr UpdatePass kFusedMomentum[] = {
    {.lists = 3, .read = 2, .written = 1, .states = true, .flop = 6}};

// --- Adam and AdamW: torch/optim/adam.py ---

// Measured on an H100: 20.2 times a parameter's bytes, at the bandwidth of other element-wise work
// (hwdb/calibrations/measured/updates-h100.csv).
constexpr UpdatePass kAdamPasses[] = {
    kDecayedGradient, kPlus, kScaled, kPlusLastSquare, kRoot, kScaledEach, kScaled, kPlusQuotients};
constexpr UpdatePass kAdamLoopPasses[] = {
    kDecayedGradient, kPlus, kScaled, kPlusSquare, kRoot, kRootScaled, kScaled, kPlusQuotient};
// AdamW decays the weights themselves, by default.
constexpr UpdatePass kAdamWPasses[] = {kScaled, kPlus,       kScaled, kPlusSquare,
                                       kRoot,   kScaledEach, kScaled, kPlusQuotients};
constexpr UpdatePass kAdamWLoopPasses[] = {kScaled, kPlus,       kScaled, kPlusSquare,
                                           kRoot,   kRootScaled, kScaled, kPlusQuotient};
// By lists before 2.1 denominators are lists of their own (pytorch/pytorch#97712, #104898).
constexpr UpdatePass kDenominator{.read = 1, .made = as_parameter, .into = 2};
constexpr UpdatePass kLastQuotients{
    .lists = 3, .scalars = true, .read = 3, .written = 1, .frees = 1};
constexpr UpdatePass kAdam20Passes[] = {kDecayedGradient, kScaled,      kPlus,
                                        kScaled,          kPlusSquare,  kRoot,
                                        kScaledEach,      kDenominator, kLastQuotients};
constexpr UpdatePass kAdamW20Passes[] = {kScaled,     kScaled,      kPlus,
                                         kScaled,     kPlusSquare,  kRoot,
                                         kScaledEach, kDenominator, kPlusQuotients};
// aten/src/ATen/native/cuda/fused_adam_impl.cu: parameters, gradients and both moments.
constexpr UpdatePass kFusedAdam[] = {
    kStepPlusOne, {.lists = 4, .read = 2, .written = 1, .states = true, .flop = 12}};

// --- torch/optim/rmsprop.py, adagrad.py ---

constexpr UpdatePass kRmsPropPasses[] = {kDecayedGradient, kScaled,      kPlusSquare, kRoot,
                                         kScaled,          kPlusQuotient};
constexpr UpdatePass kAdagradPasses[] = {
    kDecayedGradient,
    kPlusSquare,
    kRoot,
    kScaled,
    {.scalars = true, .read = 1, .written = 1, .when = When::kDecays},
    {.lists = 2,
     .scalars = true,
     .read = 1,
     .made = as_parameter,
     .into = 2,
     .when = When::kDoesNotDecay},
    kPlusQuotient};
constexpr UpdatePass kAdagradLoopPasses[] = {kDecayedGradient, kPlusSquare, kRoot, kScaled,
                                             kPlusQuotient};

// --- Adafactor: torch/optim/_adafactor.py, a loop unless foreach is asked for ---

bool is_matrix(const TensorType& parameter, Decider&) { return parameter.shape.size() > 1; }

constexpr TypeOf kFactors[] = {row_factor, column_factor};
constexpr UpdatePass kRowMean{.read = 1, .made = row_factor, .into = 0};
constexpr UpdatePass kColumnMean{.read = 1, .made = column_factor, .into = 1};
constexpr UpdatePass kOfRows{.read = 1, .written = 1, .over = row_factor};
constexpr UpdatePass kOfColumns{.read = 1, .written = 1, .over = column_factor};
constexpr UpdatePass kDecayedWeight{.read = 1, .written = 1, .when = When::kDecays};
constexpr UpdatePass kFactored[] = {
    kNorm,
    kDecayedWeight,
    kRowMean,
    kOfRows,
    kOfRows,
    {.read = 2, .written = 1, .over = row_factor},
    kColumnMean,
    kOfColumns,
    kOfColumns,
    {.read = 2, .written = 1, .over = column_factor},
    {.made = as_parameter, .into = 2},                                 // rows x columns
    {.read = 1, .over = row_factor, .made = mean_of_rows, .into = 4},  // mean
    {.read = 1, .written = 1, .over = one_number},
    {.read = 1, .written = 1, .frees = 1 << 4},  // div_

    kScaled,  // clamp_
    kScaled,  // rsqrt_
    kPlus,    // mul_
    kNorm,
    kPlus};
constexpr UpdatePass kNotFactored[] = {kNorm,
                                       kDecayedWeight,
                                       {.read = 1, .made = as_parameter, .into = 3},
                                       kPlus,
                                       {.read = 1, .made = as_parameter, .into = 2},  // clone
                                       kScaled,
                                       kScaled,
                                       kPlus,
                                       kNorm,
                                       kPlus};

// --- 8-bit Adam: bitsandbytes/optim/optimizer.py, Optimizer2State ---

// min_8bit_size
bool is_quantised(const TensorType& parameter, Decider& decider) {
  return decider.at_most(4096, elements(parameter.shape));
}

constexpr TypeOf kQuantised[] = {in_8_bits, in_8_bits, block_scales, block_scales};
constexpr TypeOf kCodes[] = {quantile_map, quantile_map};
constexpr TypeOf kSmall[] = {in_fp32, in_fp32};
constexpr UpdatePass kQuantisedPasses[] = {{.read = 2, .written = 1, .states = true, .flop = 24}};

// --- Lion: lion-pytorch 0.2.5, lion_pytorch.py, update_fn() ---

constexpr UpdatePass kLionPasses[] = {kScaled,
                                      {.read = 1, .made = as_parameter, .into = 0},  // clone
                                      kScaled,
                                      {.read = 2, .made = as_parameter, .into = 1, .frees = 1},
                                      kScaled,  // sgn_
                                      kPlus,
                                      kScaled,
                                      {.lists = 2, .read = 2, .written = 1, .frees = 1 << 1}};

// --- LAMB (You et al., arXiv:1904.00962): torch_optimizer 0.3.0, lamb.py ---

constexpr TypeOf kLambStates[] = {as_parameter, as_parameter, one_number, one_number, one_number};
constexpr UpdatePass kLambPasses[] = {kScaled,
                                      kPlus,
                                      kScaled,
                                      kPlusSquare,
                                      kNorm,
                                      {.read = 1, .written = 1, .over = one_number},  // clamp
                                      {.read = 1, .made = as_parameter, .into = 0},
                                      {.read = 1, .made = as_parameter, .into = 1, .frees = 1},
                                      {.read = 2, .made = as_parameter, .into = 2, .frees = 1 << 1},
                                      {.read = 2, .written = 1, .when = When::kDecays},
                                      kNorm,
                                      {.read = 2, .written = 1, .over = one_number},  // trust ratio
                                      kPlus};

// --- Muon: torch/optim/_muon.py, whose matrices it is for; all else is left to AdamW, as it says.

bool is_2d(const TensorType& parameter, Decider&) { return parameter.shape.size() == 2; }

// _zeropower_via_newtonschulz(): five steps of X <- aX + (bA + cA^2)X with A = XX^T, in bf16, on
// the side of the matrix that is shorter.
eager::Value newton_schulz(eager::Machine& m, const eager::Value& update) {
  constexpr int kSteps = 5;
  using eager::Value;
  const bool tall = m.decider().less(update.sizes()[1], update.sizes()[0]);
  Value x = update.dtype() == DType::kBFloat16 ? eager::clone(m, update)
                                               : eager::cast(m, update, DType::kBFloat16);
  if (tall) x = eager::transpose(m, x, 0, 1);
  const Value norm = eager::reduce(m, "norm", x, {0, 1}, false, eager::Reduction::kSum);
  m.launch_rows(KernelClass::kPointwise, "div", x.count(), {&x, &norm}, {&x});
  Value gram, polynomial;
  for (int i = 0; i < kSteps; ++i) {
    gram = eager::mm(m, x, eager::transpose(m, x, 0, 1));
    polynomial = eager::addmm(m, gram, gram, gram);
    x = eager::addmm(m, x, polynomial, x);
  }
  return tall ? eager::transpose(m, x, 0, 1) : x;
}

constexpr UpdatePass kMuonPasses[] = {kPlus,
                                      {.read = 2, .made = as_parameter, .into = 0},
                                      {.into = 0, .compute = newton_schulz},
                                      kScaled,
                                      kPlus};

// --- rules ---

constexpr UpdateRule rule(UpdateForm form, std::span<const TypeOf> states,
                          std::span<const UpdatePass> passes, std::string_view example) {
  return {.form = form, .states = states, .passes = passes, .example = example};
}

constexpr UpdateRule kSgd[] = {rule(kForeach, {}, kSgdPasses, "f32[64,32] -> | 2 read 1 written")};
constexpr UpdateRule kSgdFused[] = {
    rule(kFused, {}, kFusedSgd, "f32[64,32] -> | 2 read 1 written")};
constexpr UpdateRule kSgdLoop[] = {rule(kLoop, {}, kSgdPasses, "f32[64,32] -> | 2 read 1 written")};
constexpr UpdateRule kMomentum[] = {
    rule(kForeach, kOneState, kMomentumPasses, "f32[64,32] -> f32[64,32] | 5 read 3 written")};
constexpr UpdateRule kMomentumFused[] = {
    rule(kFused, kOneState, kFusedMomentum, "f32[64,32] -> f32[64,32] | 3 read 2 written")};
constexpr UpdateRule kMomentumLoop[] = {
    rule(kLoop, kOneState, kMomentumPasses, "f32[64,32] -> f32[64,32] | 5 read 3 written")};
constexpr UpdateRule kNesterov[] = {
    rule(kForeach, kOneState, kNesterovPasses, "f32[64,32] -> f32[64,32] | 7 read 4 written")};
constexpr UpdateRule kNesterovLoop[] = {rule(kLoop, kOneState, kNesterovLoopPasses,
                                             "f32[64,32] -> f32[64,32] | 7 read 4 written 1 held")};
constexpr UpdateRule kAdam[] = {
    rule(kForeach, kTwoStates, kAdamPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] | 11 read 7 written 1 held")};
constexpr UpdateRule kAdamFused[] = {
    rule(kFused, kTwoStatesAndStep, kFusedAdam,
         "f32[64,32] -> f32[] f32[64,32] f32[64,32] | 4 read 3 written")};
constexpr UpdateRule kAdamLoop[] = {
    rule(kLoop, kTwoStates, kAdamLoopPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] | 11 read 7 written 2 held")};
constexpr UpdateRule kAdamW[] = {
    rule(kForeach, kTwoStates, kAdamWPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] | 12 read 8 written 1 held")};
constexpr UpdateRule kAdamWLoop[] = {
    rule(kLoop, kTwoStates, kAdamWLoopPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] | 12 read 8 written 2 held")};
constexpr UpdateRule kAdam20[] = {
    rule(kForeach, kTwoStates, kAdam20Passes,
         "f32[64,32] -> f32[64,32] f32[64,32] | 12 read 8 written 2 held")};
constexpr UpdateRule kAdamW20[] = {
    rule(kForeach, kTwoStates, kAdamW20Passes,
         "f32[64,32] -> f32[64,32] f32[64,32] | 13 read 9 written 2 held")};
constexpr UpdateRule kRmsProp[] = {rule(kForeach, kOneState, kRmsPropPasses,
                                        "f32[64,32] -> f32[64,32] | 8 read 5 written 1 held")};
constexpr UpdateRule kRmsPropLoop[] = {
    rule(kLoop, kOneState, kRmsPropPasses, "f32[64,32] -> f32[64,32] | 8 read 5 written 1 held")};
constexpr UpdateRule kAdagrad[] = {rule(kForeach, kOneState, kAdagradPasses,
                                        "f32[64,32] -> f32[64,32] | 8 read 5 written 2 held")};
constexpr UpdateRule kAdagradLoop[] = {rule(kLoop, kOneState, kAdagradLoopPasses,
                                            "f32[64,32] -> f32[64,32] | 7 read 4 written 1 held")};
constexpr UpdateRule kAdafactor[] = {
    {.form = kLoop,
     .applies = is_matrix,
     .states = kFactors,
     .passes = kFactored,
     .example = "f32[64,32] -> f32[64,1] f32[1,32] | 11.2 read 6.19 written 1.05 held"},
    rule(kLoop, kOneState, kNotFactored, "f32[2048] -> f32[2048] | 12 read 7 written 2 held")};
constexpr UpdateRule kAdam8Bit[] = {
    {.form = kLoop,
     .applies = is_quantised,
     .states = kQuantised,
     .shared = kCodes,
     .passes = kQuantisedPasses,
     .example = "f32[64,128] -> u8[64,128] u8[64,128] f32[32] f32[32] | 2.51 read 1.51 written"},
    rule(kLoop, kSmall, kQuantisedPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] | 4 read 3 written")};
constexpr UpdateRule kLion[] = {
    rule(kLoop, kOneState, kLionPasses, "f32[64,32] -> f32[64,32] | 11 read 8 written 2 held")};
constexpr UpdateRule kLamb[] = {
    rule(kLoop, kLambStates, kLambPasses,
         "f32[64,32] -> f32[64,32] f32[64,32] f32[] f32[] f32[] | 14 read 8 written 2 held")};
constexpr UpdateRule kMuon[] = {
    {.form = kLoop,
     .applies = is_2d,
     .states = kOneState,
     .passes = kMuonPasses,
     .example = "f32[64,32] -> f32[64,32] | 20.3 read 10 written 2.5 held"},
    rule(kForeach, kTwoStates, kAdamWPasses,
         "f32[64] -> f32[64] f32[64] | 12 read 8 written 1 held")};

constexpr std::string_view kTorch = "torch.optim of PyTorch 2.x";
constexpr std::string_view kTorch20 = "torch.optim of PyTorch 2.0";

// Name, rules, whether the first step makes the states of gradients, words, source, what is
// smaller.
constexpr OptimizerRow kOptimizers[] = {
    {"sgd", kSgd, false, "", kTorch, "", true},
    {"sgd-fused", kSgdFused, false, "", kTorch},
    {"sgd-loop", kSgdLoop, false, "", kTorch},
    {"momentum", kMomentum, true, "", kTorch, "sgd", true},
    {"momentum-fused", kMomentumFused, false, "", kTorch, "sgd"},
    {"momentum-loop", kMomentumLoop, true, "", kTorch, "sgd"},
    {"nesterov", kNesterov, true, "", kTorch, "sgd", true},
    {"nesterov-fused", kMomentumFused, false, "", kTorch, "sgd"},
    {"nesterov-loop", kNesterovLoop, true, "", kTorch, "sgd"},
    {"adam", kAdam, false, "", kTorch, "adam8bit", true},
    {"adam-fused", kAdamFused, false, "", kTorch, "adam8bit"},
    {"adam-loop", kAdamLoop, false, "", kTorch, "adam8bit"},
    {"adam-2.0", kAdam20, false, "", kTorch20, "adam8bit"},
    {"adamw", kAdamW, false, "", kTorch, "adam8bit"},
    {"adamw-fused", kAdamFused, false, "", kTorch, "adam8bit"},
    {"adamw-loop", kAdamWLoop, false, "", kTorch, "adam8bit"},
    {"adamw-2.0", kAdamW20, false, "", kTorch20, "adam8bit"},
    {"rmsprop", kRmsProp, false, "", kTorch, "", true},
    {"rmsprop-loop", kRmsPropLoop, false, "", kTorch},
    {"adagrad", kAdagrad, false, "", kTorch, "", true},
    {"adagrad-loop", kAdagradLoop, false, "", kTorch},
    {"adafactor", kAdafactor, false, "", kTorch},
    {"adam8bit", kAdam8Bit, false, "adam 8bit", "bitsandbytes 0.50.2"},
    {"lion", kLion, false, "", "lion-pytorch 0.2.5"},
    {"lamb", kLamb, false, "", "torch_optimizer 0.3.0"},
    {"muon", kMuon, false, "", "torch.optim.Muon of PyTorch 2.9 and later"},
};

}  // namespace

std::span<const OptimizerRow> optimizers() { return kOptimizers; }

const OptimizerRow* find_optimizer(std::string_view name) {
  const auto row = std::ranges::find(kOptimizers, name, &OptimizerRow::name);
  return row == std::end(kOptimizers) ? nullptr : row;
}

const UpdateRule& rule_of(const OptimizerRow& row, const TensorType& parameter, Decider& decider) {
  return *std::ranges::find_if(row.rules, [&](const UpdateRule& rule) {
    return !rule.applies || rule.applies(parameter, decider);
  });
}

}  // namespace plimsoll
