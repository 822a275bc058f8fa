#include "calibrate/fit_plan.h"

namespace plimsoll {
namespace {

using Words = std::vector<std::string_view>;
using Cards = std::vector<FitCard>;
using Plans = std::vector<FitPlan>;

// Terms that forward measurements cannot tell.
const Words kBackwardTerms = {"dgrad",   "wgrad",   "strided_dgrad", "nonfused_wgrad",
                              "columns", "scatter", "wgrad_steps"};
// All but the Fourier transforms: those of DeepBench are too few to fit them.
const Words kAllButFft = {
    "tile_128x128", "tile_128x64",   "tile_64x128", "tile_64x64", "tile_128x32",    "tile_32x128",
    "tile_32x32",   "tile_64x16",    "tile_16x64",  "residency",  "prologue",       "fixed_us",
    "bandwidth",    "dgrad",         "wgrad",       "fused",      "nonfused_wgrad", "nonfused",
    "transform",    "strided_dgrad", "columns",     "scatter",    "few_channels",   "wgrad_steps"};
const Words kNonfusedTerms = {"nonfused", "nonfused_wgrad", "transform"};
// Operators that only whole steps tell: jcjohnson/cnn-benchmarks, eight cards.
const Words kStepTerms = {"x_norm_forward", "x_norm_backward", "x_pool_forward", "x_pool_backward",
                          "x_concat",       "x_reduce",        "x_index"};

const Words kDeepbench = {"deepbench"}, kNeusight = {"neusight"};
const Cards kMaxwell = {{"gtx-titan-x", .9, 1.1}, {"tesla-m40", .9, 1.1}};
const Cards kPascal = {{"titan-xp", .9, 1.1}, {"gtx-1080-ti", .9, 1.1}};
const Cards kEarly = {{"titan-x-pascal"}};
const Cards kP100 = {{"tesla-p100-pcie-16gb"}};
const Cards kV100 = {{"tesla-v100-sxm2-16gb"}};
// The P4 is held at 75 W: its clock is free from its base clock on (810 of 1063 MHz, its
// datasheet), the P100's is not.
const Cards kModern = {{"tesla-p100-pcie-16gb"}, {"tesla-p4", 810. / 1063, 1.05}};
// Measured by this project (calibrate/measure).
const Words kOwn = {"plimsoll"};
const Cards kH100 = {{"h100-sxm-80gb", .9, 1}};
const Cards kV100Pcie = {{"tesla-v100-pcie-32gb"}};

// DeepBench repeats one kernel with warm caches at the clock of its moment; in the steps of
// jcjohnson/cnn-benchmarks (ResNets and VGGs, eight cards) the same convolutions take so much.
constexpr double kMaxwellInSitu = .9, kPascalInSitu = 1.16, kVoltaInSitu = 1.2;

// Kepler was never measured kernel by kernel. Its multiprocessors of 192 lanes have four
// schedulers, each for 32 lanes a cycle and now and then for more: cuBLAS feeds two thirds of them,
// cuDNN half (rejunity/cnn-benchmarks on a K80). How badly cuDNN's latency shows: apache/mxnet's
// steps of few images.
FitPlan kepler_of(const FitPlan& base) {
  FitPlan plan = base;
  plan.base = base.name;
  plan.capabilities = {37};
  plan.first = 0;
  plan.last = 9999;
  plan.sources = {};
  return plan;
}

FitPlan kepler_gemm(const FitPlan& base) {
  FitPlan plan = kepler_of(base);
  plan.name = "gemm-kepler";
  plan.tiles = 2. / 3;
  plan.note = "measured on sm_52; schedulers feed 128 of Kepler's 192 lanes";
  return plan;
}

FitPlan kepler_conv(const FitPlan& base) {
  FitPlan plan = kepler_of(base);
  plan.name = "conv-kepler";
  plan.tiles = .5;
  plan.given = {{"residency", .9}, {"prologue", 45}};
  plan.note =
      "measured on sm_52; Kepler's share of peak, residency and prologue from steps of "
      "rejunity/cnn-benchmarks and apache/mxnet";
  return plan;
}

// Arithmetic in 64 bits was never measured kernel by kernel. On cards with a thirty-second of the
// rate it alone takes time: no tile hides latency worse than another. One efficiency, from steps of
// ryujaehun/pytorch-gpu-benchmark on TITAN Xp and GTX 1080 Ti.
const std::vector<GivenTerm> kDouble = {
    {"tile_128x128", .85}, {"tile_128x64", .85}, {"tile_64x128", .85},  {"tile_64x64", .85},
    {"tile_128x32", .85},  {"tile_32x128", .85}, {"tile_32x32", .85},   {"tile_64x16", .85},
    {"tile_16x64", .85},   {"residency", 0},     {"prologue", 8},       {"dgrad", 1},
    {"wgrad", 1},          {"columns", 1},       {"strided_dgrad", .25}};

FitPlan double_of(std::string_view name, const FitPlan& base, int library) {
  FitPlan plan = base;
  plan.name = name;
  plan.base = base.name;
  plan.arithmetic = "f64";
  plan.library = library;
  plan.first = 0;
  plan.last = 9999;
  plan.sources = {};
  plan.cards = {};
  plan.in_situ = 1;
  plan.adds_tiles = false, plan.few_columns = 0;
  plan.given = kDouble;
  plan.note =
      "one efficiency of all tiles, from 174 steps in fp64 on TITAN Xp and GTX 1080 Ti "
      "(ryujaehun/pytorch-gpu-benchmark): mean error 9 %";
  return plan;
}

FitPlan h100_row(std::string_view name, std::string_view kernel_class, std::string_view arithmetic,
                 int library) {
  return {.name = name,
          .kernel_class = kernel_class,
          .arithmetic = arithmetic,
          .capabilities = {90},
          .library = library,
          .sources = kOwn,
          .cards = kH100,
          .queued = true};  // graphs of many calls (calibrate/measure/timing.py)
}

Plans h100_gemm_plans() {
  FitPlan half = h100_row("gemm-h100-f16", "gemm", "f16_tensor", 1300);
  FitPlan tf32 = h100_row("gemm-h100-tf32", "gemm", "tf32_tensor", 1300);
  for (FitPlan* plan : {&half, &tf32}) plan->odd_rows = true;
  return {h100_row("gemm-h100", "gemm", "f32", 1300), tf32, half};
}

// In 32 bits with channels last only ConvNeXt-tiny's 18 layers of 7x7 were seen, in its profiles on
// H100 and H200: forward alone 2718 us at batch 64; weights 69.4 ms at batch 128, 16.5 at 32; data
// less than 1.8 ms at batch 32, the least of the eight longest kernels, and assumed not much less.
const std::vector<GivenTerm> kWholeDepthwise = {
    {"last_whole", .83}, {"last_whole_gradient", .38}, {"last_whole_product", 1.35}};

Plans h100_conv_plans() {
  Plans plans = {h100_row("conv-h100", "conv", "f32", 919),
                 h100_row("conv-h100-tf32", "conv", "tf32_tensor", 919),
                 h100_row("conv-h100-f16", "conv", "f16_tensor", 919)};
  // Gradients of weights: cuDNN's own answers for a described H100 name up to 788 slices.
  for (FitPlan& plan : plans) plan.many_slices = true;
  // Tensor cores read aligned rows alone: a third of the filters of several taps have odd channels.
  for (const auto& [even, name] : {std::pair(1, "conv-h100-tf32-odd"), {2, "conv-h100-f16-odd"}}) {
    plans[even].shapes_apart = true;
    FitPlan odd = plans[even];
    odd.name = name;
    odd.odd_shapes = true;
    plans.push_back(odd);
  }
  FitPlan depthwise = h100_row("depthwise-h100", "depthwise", kAnyArithmetic, 919);
  depthwise.sources = {"plimsoll-grouped"};
  depthwise.cards = {{"h100-sxm-80gb"}};  // terms are clocks
  depthwise.given = kWholeDepthwise;
  depthwise.note = "channels last in 32 bits from ConvNeXt";
  plans.push_back(depthwise);
  FitPlan grouped = depthwise;
  grouped.name = "grouped-h100";
  grouped.kernel_class = "grouped";
  grouped.given = {};
  grouped.held = {"fixed_us"};  // measured in a queue, which hides launches: part of the chain
  grouped.queued = false;
  grouped.note = "groups of 48 channels";
  plans.push_back(grouped);
  return plans;
}

// cuBLAS 7.5 and early 8.0 do not split k; 8.0.88 (here 801) does. That takes as long for 16
// columns as for 64 on Pascal, twice as long as for 32 (4096 x 4096 on P100: 404, 324 and 174 us).
Plans gemm_plans() {
  const auto row = [](std::string_view name, int capability, int library) {
    return FitPlan{.name = name,
                   .kernel_class = "gemm",
                   .capabilities = {capability},
                   .library = library,
                   .sources = kDeepbench};
  };
  FitPlan maxwell = row("gemm-maxwell", 52, 705);
  maxwell.cards = kMaxwell;
  maxwell.splits_k = false;
  FitPlan early = row("gemm-sm61-early", 61, 800);
  early.last = 800;
  early.sources = {"deepbench", "openai"};
  early.cards = kEarly;
  early.splits_k = false;
  FitPlan sm61 = row("gemm-sm61", 61, 801);
  sm61.first = 801;
  sm61.last = 1199;
  sm61.cards = kPascal;
  sm61.few_columns = 16;
  FitPlan p100_early = row("gemm-p100-early", 60, 800);
  p100_early.last = 800;
  p100_early.sources = {"openai"};
  p100_early.cards = {{"tesla-p100-sxm2-16gb"}};
  p100_early.splits_k = false;
  FitPlan p100 = row("gemm-p100", 60, 801);
  p100.first = 801;
  p100.last = 1199;
  p100.cards = kP100;
  p100.few_columns = 16;
  FitPlan pascal_12 = row("gemm-pascal-12", 60, 1201);
  pascal_12.capabilities = {60, 61};
  pascal_12.first = 1200;
  pascal_12.sources = kNeusight;
  pascal_12.cards = kModern;
  FitPlan v100 = row("gemm-v100", 70, 1001);
  v100.last = 1199;
  v100.cards = kV100;
  FitPlan v100_12 = row("gemm-v100-12", 70, 1201);
  v100_12.first = 1200;
  v100_12.sources = kNeusight;
  v100_12.cards = kV100Pcie;
  FitPlan p100_half = row("gemm-p100-f16", 60, 801);
  p100_half.arithmetic = "f16";
  p100_half.cards = kP100;
  FitPlan v100_tensor = row("gemm-v100-tensor", 70, 1001);
  v100_tensor.arithmetic = "f16_tensor";
  v100_tensor.cards = kV100;
  const FitPlan sm61_double = double_of("gemm-sm61-f64", sm61, 1001);
  return {maxwell,     kepler_gemm(maxwell),
          early,       sm61,
          sm61_double, p100_early,
          p100,        pascal_12,
          v100,        v100_12,
          p100_half,   v100_tensor};
}

FitPlan conv_row(std::string_view name, int capability, int library, int first, int last,
                 const Cards& cards) {
  return {.name = name,
          .kernel_class = "conv",
          .capabilities = {capability},
          .library = library,
          .first = first,
          .last = last,
          .sources = kDeepbench,
          .cards = cards,
          .adds_tiles = true};
}

// Only cuDNN 5.0 was measured; what 5.1 added and older ones lack moves VGG's step by 1.8 times.
Plans maxwell_conv_plans() {
  FitPlan later = conv_row("conv-maxwell-5.1", 52, 501, 501, 9999, kMaxwell);
  later.measured_library = 500;
  later.base = "conv-maxwell";
  later.held = {"all"};
  later.lender = "conv-sm61";
  later.lent = kNonfusedTerms;
  later.note = "measured with cuDNN 5.0; non-fused Winograd as on sm_61 with cuDNN 6";
  FitPlan fourier = conv_row("conv-maxwell-4", 52, 300, 300, 499, {{"gtx-titan-x"}});
  fourier.sources = {"soumith"};
  fourier.base = "conv-maxwell";
  fourier.held = kAllButFft;
  fourier.note = "Fourier transforms measured with cuDNN 3; the other terms with 5.0";
  FitPlan products = conv_row("conv-maxwell-2", 52, 200, 0, 299, kMaxwell);
  products.sources = {};
  products.base = "conv-maxwell";
  products.tiles = .72;
  products.note =
      "measured with cuDNN 5.0; products of cuDNN 1 and 2 take 30-40 % longer "
      "(soumith/convnet-benchmarks, networks)";
  Plans plans = {conv_row("conv-maxwell", 52, 500, 500, 500, kMaxwell), later, fourier, products};
  plans.push_back(kepler_conv(later));
  for (FitPlan& plan : plans) plan.in_situ = kMaxwellInSitu;
  return plans;
}

Plans conv_plans() {
  FitPlan sm61 = conv_row("conv-sm61", 61, 600, 501, 9999, kPascal);
  FitPlan early = conv_row("conv-sm61-5.0", 61, 500, 0, 500, kEarly);
  FitPlan p100 = conv_row("conv-p100", 60, 600, 0, 9999, kP100);
  for (FitPlan* plan : {&sm61, &early, &p100}) plan->in_situ = kPascalInSitu;
  FitPlan v100 = conv_row("conv-v100", 70, 706, 0, 9999, kV100);
  v100.in_situ = kVoltaInSitu;
  FitPlan pascal_8 = conv_row("conv-pascal-8", 60, 809, 800, 9999, kModern);
  pascal_8.capabilities = {60, 61};
  pascal_8.sources = kNeusight;
  pascal_8.base = "conv-sm61";
  pascal_8.held = kBackwardTerms;
  pascal_8.odd_shapes = true;
  pascal_8.note = "forward passes measured; backward terms from cuDNN 6";
  FitPlan v100_8 = conv_row("conv-v100-8", 70, 809, 800, 9999, kV100Pcie);
  v100_8.sources = kNeusight;
  v100_8.base = "conv-v100";
  v100_8.held = kBackwardTerms;
  v100_8.odd_shapes = true;
  v100_8.note = "forward passes measured; backward terms from cuDNN 7.6";
  FitPlan p100_half = conv_row("conv-p100-f16", 60, 600, 0, 9999, kP100);
  p100_half.arithmetic = "f16";
  FitPlan v100_tensor = conv_row("conv-v100-tensor", 70, 706, 0, 9999, kV100);
  v100_tensor.arithmetic = "f16_tensor";
  v100_tensor.adds_tiles = false;  // no better left out
  p100_half.in_situ = kPascalInSitu;
  v100_tensor.in_situ = kVoltaInSitu;
  const FitPlan sm61_double = double_of("conv-sm61-f64", sm61, 706);
  Plans plans = {sm61, sm61_double, early, p100, v100, pascal_8, v100_8, p100_half, v100_tensor};
  const Plans maxwell = maxwell_conv_plans();
  plans.insert(plans.end(), maxwell.begin(), maxwell.end());
  return plans;
}

Plans recurrent_plans() {
  const auto row = [](std::string_view name, std::string_view arithmetic, int capability,
                      int library, const Cards& cards) {
    return FitPlan{.name = name,
                   .kernel_class = "recurrent",
                   .arithmetic = arithmetic,
                   .capabilities = {capability},
                   .library = library,
                   .sources = kDeepbench,
                   .cards = cards};
  };
  // Several streams each: timed as the host launches them.
  const auto hopper = [](std::string_view name, std::string_view of, std::string_view arithmetic) {
    FitPlan plan = h100_row(name, of, arithmetic, 919);
    plan.queued = false;
    return plan;
  };
  FitPlan sm61 = row("recurrent-sm61", "f32", 61, 600, kPascal);
  sm61.first = 501;
  sm61.sources = {"deepbench", "deepbench-inference"};
  FitPlan early = row("recurrent-sm61-5.0", "f32", 61, 500, kEarly);
  early.last = 500;
  return {row("recurrent-maxwell", "f32", 52, 500, kMaxwell),
          sm61,
          early,
          row("recurrent-p100", "f32", 60, 600, kP100),
          row("recurrent-v100", "f32", 70, 706, kV100),
          row("recurrent-p100-f16", "f16", 60, 600, kP100),
          row("recurrent-v100-tensor", "f16_tensor", 70, 706, kV100),
          hopper("recurrent-h100", "recurrent", "f32"),
          hopper("recurrent-h100-tf32", "recurrent", "tf32_tensor"),
          hopper("recurrent-h100-f16", "recurrent", "f16_tensor"),
          hopper("persistent-h100", "persistent", "f32"),
          hopper("persistent-h100-f16", "persistent", "f16_tensor")};
}

// Single kernels of PyTorch 2.11 on H100 (measured/operators-h100.csv): layer norm where columns
// are multiples of four, which its vector loads need, as networks' are, and rows of other widths
// (17 with 1000 rows or more in rows.csv); softmax of up to 1024 columns (five of 0.02 to 0.12 ms,
// too short for the fit: 1.07 to 1.14); clocks of an element where 16 bits take as long as 32. From
// profiles of networks: batch norms with fixed statistics (.84 to .91 clocks in 16 bits, the
// framework's kernel; 1 to 1.08 in 32, cuDNN's, .88 on an H200), biases (VGG and AlexNet, .77 to
// .90 in either layout) and batch norms of bfloat16 with channels last (four networks: 1.36 to 1.59
// forward, 1.22 to 1.41 backward).
const std::vector<GivenTerm> kH100Rows = {{"x_norm_forward", 1.75},
                                          {"x_norm_backward", 2},
                                          {"x_layer_norm", 1.15},
                                          {"x_layer_norm_backward", 2.1},
                                          {"x_softmax", 1.1},
                                          {"x_softmax_backward", 2.05},
                                          {"x_pool_forward", 1},
                                          {"x_pool_backward", 1.6},
                                          {"x_concat", 1.25},
                                          {"x_reduce", 1.4},
                                          {"x_index", 1.3},
                                          {"clocks_pool_forward", 1.03},
                                          {"clocks_pool_backward", 3.3},
                                          {"clocks_index_forward", .8},
                                          {"clocks_index_backward", 3.7},
                                          {"clocks_copy", 1.3},
                                          {"clocks_norm_forward", 1.17},
                                          {"clocks_norm_backward", 2.2},
                                          {"clocks_channel", .85},
                                          {"clocks_norm_last_forward", 1.47},
                                          {"clocks_norm_last_backward", 1.33},
                                          {"clocks_layer_norm_row", 280},
                                          {"clocks_layer_norm_odd_row", 1250}};

Plans rows_plans() {
  const auto row = [](std::string_view name, int capability, const Cards& cards) {
    return FitPlan{.name = name,
                   .kernel_class = "rows",
                   .capabilities = {capability},
                   .library = 809,
                   .sources = kNeusight,
                   .cards = cards,
                   .held = kStepTerms};
  };
  FitPlan maxwell = row("rows-maxwell", 52, {{"gtx-titan-x"}});
  maxwell.library = 400;
  maxwell.sources = {"caffe"};
  FitPlan v100 = row("rows-v100", 70, kV100Pcie);
  v100.given = {{"x_norm_backward", 2.8}};
  FitPlan h100 = h100_row("rows-h100", "rows", "f32", 919);
  h100.held = {"x_norm_forward", "x_norm_backward", "x_layer_norm", "x_layer_norm_backward",
               "x_softmax"};
  h100.held.insert(h100.held.end(), kStepTerms.begin(), kStepTerms.end());
  h100.given = kH100Rows;
  return {maxwell, row("rows-p100", 60, kP100), row("rows-sm61", 61, {{"tesla-p4"}}), v100, h100};
}

Plans make_plans() {
  Plans all;
  for (const Plans& plans : {gemm_plans(), h100_gemm_plans(), conv_plans(), h100_conv_plans(),
                             recurrent_plans(), rows_plans()}) {
    all.insert(all.end(), plans.begin(), plans.end());
  }
  return all;
}

}  // namespace

std::span<const FitPlan> fit_plans() {
  static const Plans plans = make_plans();
  return plans;
}

}  // namespace plimsoll
