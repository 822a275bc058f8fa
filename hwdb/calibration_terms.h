// The dictionary of calibrated coefficients: for each kernel class, the name of every number a fit
// may choose, where it starts and how far it may go. Names are the keys of calibration files; the
// enumerators index Coefficients. Every efficiency and bandwidth fraction is bounded by 1, so that
// no fit can promise more than the hardware has.
#pragma once

#include <array>
#include <string_view>
#include <vector>

namespace plimsoll {

struct CoefficientRow {
  std::string_view name;
  double initial, low, high;
};

// Tiled matrix multiplication; the formulas are in estimator/kernels/gemm.h.
enum GemmTerm {
  kTile0,  // efficiency of each of the nine tiles, fast axis x slow axis
  kTileLast = kTile0 + 8,
  kResidency,   // exponent: how much worse a part-filled multiprocessor hides latency
  kPrologue,    // k-steps lost before and after a block's main loop
  kFixed,       // microseconds of one launch
  kBandwidth,   // fraction of the memory's nominal rate
  kTransposeA,  // ln of the slowdown where A is stored [k, m]; B [n, k]
  kTransposeB,
  kSplit,       // a fact, not fitted: 0 where the library does not split k over blocks, 1 where it
                // does, into 32 slices at most, 2 into 256
  kAlign,       // ln slowdown of tensor cores where rows begin at 4 or 8 bytes, not 16
  kAlignOdd,    // ... at one element
  kFewColumns,  // a fact: matrices of so many rows or columns, and fewer, take tiles of 64
  kGemmTermCount,
};
inline constexpr std::array<CoefficientRow, kGemmTermCount> kGemmTerms = {{
    {"tile_128x128", .8, .05, 1}, {"tile_128x64", .75, .05, 1}, {"tile_64x128", .75, .05, 1},
    {"tile_64x64", .7, .05, 1},   {"tile_128x32", .6, .05, 1},  {"tile_32x128", .6, .05, 1},
    {"tile_32x32", .4, .02, 1},   {"tile_64x16", .3, .02, 1},   {"tile_16x64", .3, .02, 1},
    {"residency", .25, 0, 1},     {"prologue", 24, 0, 120},     {"fixed_us", 8, 0, 40},
    {"bandwidth", .75, .3, 1},    {"transpose_a", 0, -.2, .7},  {"transpose_b", .05, -.2, .7},
    {"split", 0, 0, 2},           {"align", 0, 0, 3},           {"align_odd", 0, 0, 4},
    {"few_columns", 0, 0, 64},
}};

// Convolution: the first terms are those of the tiled multiplication it contains, so that both
// share one model; estimator/kernels/conv_algorithms.h has the rest.
enum ConvTerm {
  kDgrad = kGemmTermCount,  // efficiency of a pass or algorithm relative to its tile
  kWgrad,                   // 0: that of kDgrad, with kWgradSteps beside it
  kStridedDgrad,
  kFused,     // Winograd F(2x2,3x3) in one kernel
  kNonfused,  // Winograd in three kernels, forward and data gradient
  kNonfusedWgrad,
  kTransform,  // bandwidth fraction of Winograd's transforms
  kColumns,    // data gradient through columns: its multiplication
  kScatter,    // ... and the bandwidth fraction of the scatter
  kFft,
  kFftTransform,
  kFewChannels,  // ln slowdown of a forward pass that reads fewer than 8 channels
  kWgradSteps,   // k-steps that a block takes to add its tile of the weights' gradient to memory
  kConvTermCount,
};
inline constexpr std::array<CoefficientRow,
                            static_cast<int>(kConvTermCount) - static_cast<int>(kGemmTermCount)>
    kConvTerms = {{
        {"dgrad", .94, .3, 1},
        {"wgrad", .8, .2, 1},
        {"strided_dgrad", .22, .1, 1},
        {"fused", .9, .3, 1},
        {"nonfused", .95, .2, 1},
        {"nonfused_wgrad", .9, .2, 1},
        {"transform", .7, .2, 1},
        {"columns", .7, .2, 1},
        {"scatter", .5, .1, 1},
        {"fft", .8, .2, 1},
        {"fft_transform", .34, .1, 1},
        {"few_channels", 0, -.5, 1.2},
        {"wgrad_steps", 150, 0, 1000},
    }};

// Depthwise convolutions; estimator/kernels/depthwise.h. Clocks of one multiprocessor, but for the
// first.
enum DepthwiseTerm {
  kDepthwiseFixed,  // microseconds of one launch
  kOwnOutput,       // the framework's kernels
  kOwnTap,
  kOwnImage,
  kOwnLarge,  // ln slowdown of a tap of filters above 5x5
  kOwnGradient,
  kOwnGradientTap,
  kOwnPlane,
  kOwnRound,
  kOwnBlock,
  kFirstImage,  // the library's, channels first
  kFirstTap,
  kFirstGradientTap,
  kFirstWeightImage,
  kFirstWeightTap,
  kLastImage,  // ... and last, in the same order
  kLastTap,
  kLastGradientTap,
  kLastWeightImage,
  kLastWeightTap,
  kLastLarge,
  kLastWhole,  // ln slowdown in 32 bits, forward; of data with large filters or strides
  kLastWholeGradient,
  kLastWholeProduct,  // of weights: clocks of a product, whatever the image
  kDepthwiseTermCount,
};
inline constexpr std::array<CoefficientRow, kDepthwiseTermCount> kDepthwiseTerms = {{
    {"fixed_us", 3, 0, 40},
    {"own_output", 1.1, 0, 20},
    {"own_tap", .12, .01, 2},
    {"own_image", .16, 0, 5},
    {"own_large", .3, -.5, 1.5},
    {"own_gradient", 4.3, .1, 40},
    {"own_gradient_tap", .23, .01, 4},
    {"own_plane", 29, 0, 300},
    {"own_round", 10, 1, 100},
    {"own_block", 250, 0, 3000},
    {"first_image", .27, 0, 5},
    {"first_tap", .073, .005, 1},
    {"first_gradient_tap", .42, .01, 4},
    {"first_weight_image", .42, 0, 5},
    {"first_weight_tap", .09, .005, 1},
    {"last_image", .36, 0, 5},
    {"last_tap", .017, .002, 1},
    {"last_gradient_tap", .08, .005, 2},
    {"last_weight_image", .62, 0, 5},
    {"last_weight_tap", .031, .002, 1},
    {"last_large", .6, -.5, 1.5},
    {"last_whole", .8, -.5, 3},
    {"last_whole_gradient", .4, -.5, 3},
    {"last_whole_product", 1.35, .01, 20},
}};

// Convolutions of several groups; estimator/kernels/grouped.h.
enum GroupedTerm {
  kGroupedFixed,  // microseconds of one launch
  kChain,         // ... of the short kernels around the product, together
  kTurn,          // clocks of one multiprocessor to copy an element to another layout, 16 bits
  kTurnLast,      // ... from channels last
  kTurnWhole,     // ... in 32 bits
  kElementIn,     // ... of an element read and written by kernels for any strides
  kElementOut,
  kMultiply16,  // fraction of the peak: in 16 bits, TF32, and on ordinary cores
  kMultiplyTf32,
  kMultiply32,
  kGroupedWeights,  // gradients of weights on tensor cores, of data with strides, relative to it
  kGroupedStrided,
  kGroupedTermCount,
};
inline constexpr std::array<CoefficientRow, kGroupedTermCount> kGroupedTerms = {{
    {"fixed_us", 3, 0, 40},
    {"chain_us", 22, 0, 200},
    {"turn", .7, .05, 10},
    {"turn_last", 2.7, .05, 20},
    {"turn_whole", 1.5, .05, 20},
    {"element_in", 16, 1, 100},
    {"element_out", 30, 1, 100},
    {"multiply_16", .25, .01, 1},
    {"multiply_tf32", .3, .01, 1},
    {"multiply_32", .3, .01, 1},
    {"weights", .5, .05, 1},
    {"strided", .5, .05, 1},
}};

// Recurrent layers: the tiled multiplication again, then estimator/kernels/recurrent.h.
enum RecurrentTerm {
  kStep = kGemmTermCount,  // microseconds between two steps of the sequence
  kCall,                   // microseconds of one library call
  kThin,                   // ln slowdown at 8 sequences or fewer; half a tile takes half as long
  kBackwardStep,           // ln slowdown of the data gradient's multiplications
  kStackWgrad,             // efficiency of the weight gradient relative to its tile
  kGates,                  // bandwidth fraction of the element-wise work of a step
  kRecurrentTermCount,
};
inline constexpr std::array<CoefficientRow, static_cast<int>(kRecurrentTermCount) -
                                                static_cast<int>(kGemmTermCount)>
    kRecurrentTerms = {{
        {"step_us", 7, 0, 80},
        {"call_us", 30, 0, 300},
        {"thin", .3, -.69, 1.5},
        {"backward_step", 0, -.5, .7},
        {"weight_gradient", .9, .2, 1},
        {"gates", .6, .05, 1},
    }};

// Recurrent layers whose steps are one persistent kernel; estimator/kernels/persistent.h. Times of
// a step in microseconds.
enum PersistentTerm {
  kPersistentCall,   // of one library call
  kPersistentSync,   // between all multiprocessors
  kPersistentPlain,  // of a round of plain cells, GRU, LSTM: beside multiplying and exchanging
  kPersistentGru,
  kPersistentLstm,
  kPersistentExchange,       // GB/s at which a multiprocessor reads a round's states
  kPersistentMultiply,       // fraction of the peak
  kPersistentKept,           // KiB of weights on one multiprocessor beside another group's
  kPersistentThin,           // ln slowdown of 8 sequences or fewer in 16 bits
  kPersistentBackwardPlain,  // ln slowdown of the data gradient
  kPersistentBackwardGru,
  kPersistentBackwardLstm,
  kSmallPlain,  // ... where each multiprocessor has all weights
  kSmallGated,
  kSmallMultiply,
  kSmallBackward,
  kPersistentTermCount,
};
inline constexpr std::array<CoefficientRow, kPersistentTermCount> kPersistentTerms = {{
    {"call_us", 70, 0, 300},
    {"sync_us", .5, 0, 20},
    {"plain_us", 4, 0, 40},
    {"gru_us", 6, 0, 40},
    {"lstm_us", 1, 0, 40},
    {"exchange_gbps", 60, 1, 2000},
    {"multiply", .3, .005, 1},
    {"kept_kib", 58, 4, 256},
    {"thin", -.4, -1.5, .3},
    {"backward_plain", .1, -.5, 1},
    {"backward_gru", .4, -.5, 1},
    {"backward_lstm", .4, -.5, 1},
    {"small_plain_us", .8, .05, 10},
    {"small_gated_us", 1.5, .05, 10},
    {"small_multiply", .2, .005, 1},
    {"small_backward", .1, -.7, 1},
}};

// Work bound by memory; estimator/kernels/memory_bound.h. A term that starts with `x_` multiplies
// the compulsory traffic of an operator: what is read again.
enum RowsTerm {
  kRowsBandwidth,
  kRowsFixed,
  kRowsWave,  // bytes in flight below which bandwidth is not reached, MiB
  kXNormForward,
  kXNormBackward,
  kXLayerNorm,
  kXSoftmax,
  kXSoftmaxLong,  // more than 1024 columns: a row does not stay in registers
  kXPoolForward,
  kXPoolBackward,
  kXConcat,
  kXReduce,
  kXIndex,              // gather, scatter, embedding
  kXLayerNormBackward,  // 0: as forward; so is the next
  kXSoftmaxBackward,
  // Clocks of one multiprocessor for an element, where a kernel is bound by its instructions: the
  // larger of this time and that of its traffic counts. 0: not known.
  kClocksPoolForward,
  kClocksPoolBackward,
  kClocksIndexForward,
  kClocksIndexBackward,
  kClocksCopy,  // into another order
  kClocksNormForward,
  kClocksNormBackward,
  kClocksChannel,          // with the value of its channel: bias, batch norm with fixed statistics
  kClocksNormLastForward,  // batch norm of bfloat16, channels last
  kClocksNormLastBackward,
  kClocksLayerNormRow,     // of a row of a layer norm, beside its traffic
  kClocksLayerNormOddRow,  // ... whose columns vector loads cannot take
  kRowsTermCount,
};
inline constexpr std::array<CoefficientRow, kRowsTermCount> kRowsTerms = {{
    {"bandwidth", .75, .3, 1},
    {"fixed_us", 4, 0, 100},
    {"wave_mib", .5, 0, 2},
    {"x_norm_forward", 2.5, 1, 4},
    {"x_norm_backward", 2, 1, 4},
    {"x_layer_norm", 1.4, 1, 4},
    {"x_softmax", 1.05, 1, 4},
    {"x_softmax_long", 1.6, 1, 4},
    {"x_pool_forward", 1, 1, 4},
    {"x_pool_backward", 1.6, 1, 6},
    {"x_concat", 1.1, 1, 6},
    {"x_reduce", 1.3, 1, 4},
    {"x_index", 1.5, 1, 8},
    {"x_layer_norm_backward", 0, 0, 4},
    {"x_softmax_backward", 0, 0, 4},
    {"clocks_pool_forward", 0, 0, 20},
    {"clocks_pool_backward", 0, 0, 20},
    {"clocks_index_forward", 0, 0, 20},
    {"clocks_index_backward", 0, 0, 20},
    {"clocks_copy", 0, 0, 20},
    {"clocks_norm_forward", 0, 0, 20},
    {"clocks_norm_backward", 0, 0, 20},
    {"clocks_channel", 0, 0, 20},
    {"clocks_norm_last_forward", 0, 0, 20},
    {"clocks_norm_last_backward", 0, 0, 20},
    {"clocks_layer_norm_row", 0, 0, 5000},
    {"clocks_layer_norm_odd_row", 0, 0, 5000},
}};

// The rows of "gemm", "conv", "depthwise", "grouped", "recurrent", "persistent" or "rows", in the
// order of their enumerators; empty for any other word.
std::vector<CoefficientRow> coefficient_rows(std::string_view kernel_class);

}  // namespace plimsoll
