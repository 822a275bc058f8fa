#include "estimator/kernels/recurrent_algorithm.h"

#include <doctest/doctest.h>

#include "tests/support/recurrent.h"

namespace plimsoll {
namespace {

using enum RecurrentAlgorithm;

constexpr RecurrentHabits kPytorch{.persistent = true, .small = true};

RecurrentAlgorithm chosen(const char* card, const RecurrentProblem<int64_t>& p,
                          Pass pass = Pass::kForward, DType dtype = DType::kFloat16,
                          const RecurrentHabits& habits = kPytorch) {
  return recurrent_algorithm(recurrent(p, pass, dtype), habits, card_rates(card));
}

// Each condition of aten/src/ATen/native/cudnn/RNN.cpp, get_algo, missed by a little.
TEST_CASE("PyTorch asks for a persistent LSTM in 16 bits, of one layer, in steps of 128") {
  const RecurrentProblem<int64_t> lstm{
      .cell = Cell::kLstm, .input = 512, .hidden = 512, .batch = 64, .timesteps = 100};
  CHECK(chosen("h100", lstm) == kPersistent);
  CHECK(chosen("h100", lstm, Pass::kBackwardData) == kPersistent);
  CHECK(chosen("h100", lstm, Pass::kForward, DType::kFloat32) == kStandard);
  CHECK(chosen("h100", lstm, Pass::kForward, DType::kBFloat16) == kStandard);
  CHECK(chosen("h100", lstm, Pass::kForward, DType::kFloat16, {}) == kStandard);
  const auto with = [&](auto change) {
    RecurrentProblem<int64_t> p = lstm;
    change(p);
    return chosen("h100", p);
  };
  CHECK(with([](auto& p) { p.layers = 2; }) == kStandard);
  CHECK(with([](auto& p) { p.directions = 2; }) == kStandard);
  CHECK(with([](auto& p) { p.input = 500; }) == kStandard);
  CHECK(with([](auto& p) { p.hidden = 500; }) == kStandard);
  CHECK(with([](auto& p) { p.hidden = 1024; }) == kPersistent);
  CHECK(with([](auto& p) { p.hidden = 1152; }) == kStandard);
  CHECK(with([](auto& p) { p.batch = 60; }) == kStandard);
  CHECK(with([](auto& p) { p.batch = 24; }) == kPersistent);
  CHECK(with([](auto& p) { p.batch = 136; }) == kStandard);
  CHECK(with([](auto& p) { p.unrolled = CellForm::kJoined; }) == kStandard);
}

TEST_CASE("PyTorch's rule looks at the card and the cell") {
  RecurrentProblem<int64_t> p{
      .cell = Cell::kGru, .input = 896, .hidden = 896, .batch = 96, .timesteps = 19};
  CHECK(chosen("h100", p) == kStandard);
  CHECK(chosen("tesla-v100-sxm2-16gb", p) == kStandard);  // 20 steps for 96 sequences
  p.timesteps = 20;
  CHECK(chosen("tesla-v100-sxm2-16gb", p) == kPersistent);
  CHECK(chosen("tesla-t4", p) == kStandard);  // Turing
  p.cell = Cell::kRnnTanh;
  CHECK(chosen("h100", p) == kStandard);
  p.batch = 88;
  CHECK(chosen("h100", p) == kPersistent);
  CHECK(chosen("tesla-v100-sxm2-16gb", p) == kStandard);  // no multiple of 16
  p.batch = 80;
  CHECK(chosen("tesla-v100-sxm2-16gb", p) == kStandard);
  p.cell = Cell::kLstm;
  CHECK(chosen("a100-sxm-40gb", p) == kPersistent);
  CHECK(chosen("rtx-3090", p) == kStandard);  // 8.6
  CHECK(chosen("tesla-p100-sxm2-16gb", p) == kStandard);
}

TEST_CASE("few hidden units have a kernel of their own, fewer backward than forward") {
  RecurrentProblem<int64_t> p{
      .cell = Cell::kLstm, .input = 100, .hidden = 192, .batch = 50, .timesteps = 5, .layers = 3};
  const auto single = [&](Pass pass) { return chosen("gtx-1080-ti", p, pass, DType::kFloat32); };
  CHECK(single(Pass::kForward) == kPersistentSmall);
  CHECK(single(Pass::kBackwardData) == kStandard);
  p.hidden = 128;
  CHECK(single(Pass::kBackwardData) == kPersistentSmall);
  p.hidden = 193;
  CHECK(single(Pass::kForward) == kStandard);
  p.cell = Cell::kRnnRelu;
  p.hidden = 384;
  CHECK(single(Pass::kForward) == kPersistentSmall);
  CHECK(single(Pass::kBackwardData) == kStandard);
  CHECK(chosen("gtx-titan-x", p, Pass::kForward, DType::kFloat32) == kStandard);  // Maxwell
  CHECK(chosen("h100", p, Pass::kForward, DType::kFloat64) == kStandard);
}

TEST_CASE("what cuDNN refuses runs by the standard algorithm, though it was asked for") {
  RecurrentProblem<int64_t> p{.cell = Cell::kGru, .input = 1536, .hidden = 1536};
  CHECK(chosen("h100", p, Pass::kForward, DType::kFloat16, {.forced = kPersistent}) == kPersistent);
  p.hidden = 2048;
  CHECK(chosen("h100", p, Pass::kForward, DType::kFloat16, {.forced = kPersistent}) == kStandard);
  p.cell = Cell::kRnnTanh;
  CHECK(chosen("h100", p, Pass::kForward, DType::kFloat16, {.forced = kPersistent}) == kPersistent);
  p.hidden = 512;
  CHECK(chosen("h100", p, Pass::kForward, DType::kFloat16, {.forced = kPersistentSmall}) ==
        kStandard);
}

TEST_CASE("the multiprocessors keep some 10 MiB of weights, whatever the type") {
  const RecurrentProblem<int64_t> p{.cell = Cell::kLstm, .hidden = 1024};
  CHECK(keeps_weights(p, 2, 132));
  CHECK_FALSE(keeps_weights(p, 4, 132));
  CHECK_FALSE(keeps_weights(p, 2, 66));
}

TEST_CASE("algorithms have the names of the transcription") {
  for (const RecurrentAlgorithm a : {kStandard, kPersistent, kPersistentSmall}) {
    CHECK(recurrent_algorithm_from_name(name(a)) == a);
  }
  CHECK_FALSE(recurrent_algorithm_from_name("dynamic"));
}

}  // namespace
}  // namespace plimsoll
