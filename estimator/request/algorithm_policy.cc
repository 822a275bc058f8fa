#include "estimator/request/algorithm_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "graph/base/setting.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, kConvAlgorithmCount> kAlgorithmNames = {
    "IMPLICIT_GEMM",
    "IMPLICIT_PRECOMP_GEMM",
    "COLUMNS",
    "WINOGRAD",
    "WINOGRAD_NONFUSED",
    "FFT",
    "FFT_TILING",
    "DEPTHWISE",
    "IM2COL"};

struct PolicyWord {
  std::string_view word;
  AlgorithmPolicy policy;
};
// theano.config.dnn.conv.algo_fwd has guess_once and time_once, torch.backends.cudnn deterministic.
constexpr PolicyWord kPolicyWords[] = {
    {"autotune", AlgorithmPolicy::kAutotune},           {"heuristic", AlgorithmPolicy::kHeuristic},
    {"guess_once", AlgorithmPolicy::kGuessOnce},        {"time_once", AlgorithmPolicy::kTimeOnce},
    {"deterministic", AlgorithmPolicy::kDeterministic}, {"im2col", AlgorithmPolicy::kIm2col}};

}  // namespace

std::string_view name(ConvAlgorithm algorithm) {
  return kAlgorithmNames[static_cast<size_t>(algorithm)];
}

std::optional<ConvAlgorithm> conv_algorithm_from_name(std::string_view name) {
  for (size_t i = 0; i < kAlgorithmNames.size(); ++i) {
    if (kAlgorithmNames[i] == name) return static_cast<ConvAlgorithm>(i);
  }
  return std::nullopt;
}

Result<AskedAlgorithm> asked_algorithm(std::string_view word) {
  for (const PolicyWord& known : kPolicyWords) {
    if (known.word == word) return AskedAlgorithm{.policy = known.policy};
  }
  if (const auto algorithm = conv_algorithm_from_name(word)) {
    return AskedAlgorithm{.policy = AlgorithmPolicy::kForced, .algorithm = *algorithm};
  }
  return error("E106", fmt::format("{}: no algorithm is called '{}'", setting("conv-algo"), word),
               {},
               "autotune, heuristic, guess_once, time_once, deterministic, im2col, IMPLICIT_GEMM, "
               "IMPLICIT_PRECOMP_GEMM, WINOGRAD, WINOGRAD_NONFUSED, FFT, FFT_TILING");
}

std::string_view word_of(const AskedAlgorithm& asked) {
  if (asked.policy == AlgorithmPolicy::kForced) return name(asked.algorithm);
  return std::ranges::find(kPolicyWords, asked.policy, &PolicyWord::policy)->word;
}

std::vector<std::string> algorithm_words() {
  std::vector<std::string> words;
  for (const PolicyWord& known : kPolicyWords) words.emplace_back(known.word);
  return words;
}

std::string scratch_name(const AskedAlgorithm& asked) {
  if (asked.policy == AlgorithmPolicy::kDeterministic) return "implicit_precomp_gemm";
  if (asked.policy == AlgorithmPolicy::kIm2col) return "im2col";
  if (asked.policy != AlgorithmPolicy::kForced) return {};
  if (asked.algorithm == ConvAlgorithm::kColumns) return "gemm";
  std::string text(name(asked.algorithm));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text;
}

}  // namespace plimsoll
