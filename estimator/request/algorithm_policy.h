// How a convolution's algorithm is chosen: a framework's policy, or what the user asks for by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/diagnostic.h"

namespace plimsoll {

enum class ConvAlgorithm : uint8_t {
  kImplicitGemm,
  kPrecomputedGemm,
  kColumns,  // the data gradient's multiplication and scatter
  kWinograd,
  kWinogradNonfused,
  kFft,
  kFftTiling,
  kDepthwise,
  kIm2col,  // columns written to memory, image by image, and the plain GEMM library
};
inline constexpr int kConvAlgorithmCount = 9;
// Whether it multiplies matrices of the images and the filters as they are.
constexpr bool is_product(ConvAlgorithm a) {
  return a == ConvAlgorithm::kImplicitGemm || a == ConvAlgorithm::kPrecomputedGemm ||
         a == ConvAlgorithm::kColumns;
}
// cuDNN's own words: "IMPLICIT_GEMM", "WINOGRAD_NONFUSED".
std::string_view name(ConvAlgorithm algorithm);
std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view name);

// How a framework has its library choose a convolution's algorithm.
enum class AlgorithmPolicy : uint8_t {
  kAutotune,       // every algorithm is timed, the fastest that fits the workspace limit stays
  kHeuristic,      // the library's own guess
  kGuessOnce,      // ... taken for the first shape and kept
  kTimeOnce,       // timed for the first shape and kept
  kDeterministic,  // fixed algorithms: multiplication forms only
  kIm2col,         // no such library: columns in memory and GEMM, image by image
  kForced,         // TimeOptions::forced where it exists, else as autotune
};

// Whether the library chooses without timing.
constexpr bool is_guessed(AlgorithmPolicy policy) {
  return policy == AlgorithmPolicy::kHeuristic || policy == AlgorithmPolicy::kGuessOnce;
}

struct AskedAlgorithm {
  AlgorithmPolicy policy = AlgorithmPolicy::kAutotune;
  ConvAlgorithm algorithm = ConvAlgorithm::kImplicitGemm;  // for kForced
  bool operator==(const AskedAlgorithm&) const = default;
};

// "autotune", "guess_once" (Theano's word), "im2col", "FFT". E106 for another word, with those
// there are.
Result<AskedAlgorithm> asked_algorithm(std::string_view word);
std::string_view word_of(const AskedAlgorithm& asked);
// What is worth proposing of its words.
std::vector<std::string> algorithm_words();

// The algorithm as rules of scratch memory call it ("fft", "im2col"); empty where the policy leaves
// the choice to the library.
std::string scratch_name(const AskedAlgorithm& asked);

}  // namespace plimsoll
