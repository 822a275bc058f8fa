#include "calibrate/fit.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>

#include "calibrate/formula.h"
#include "calibrate/search.h"
#include "estimator/kernels/fit_class.h"
#include "graph/base/hash.h"
#include "hwdb/calibration_terms.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

std::string transcribed(const std::string& file) {
  std::ifstream in(PLIMSOLL_SOURCE_DIR "/hwdb/calibrations/measured/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<MeasuredKernel> transcription(const std::string& kernel_class) {
  const std::string name = kernel_class + ".csv";
  const auto kernels = read_measured(transcribed(name), name, kernel_class);
  REQUIRE(kernels.has_value());
  return *kernels;
}

const FitPlan& plan(std::string_view name) {
  return *std::ranges::find(fit_plans(), name, &FitPlan::name);
}

TEST_CASE("a fit of the shipped transcription is the shipped fit") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const FitPlan& v100 = plan("gemm-v100");
  std::map<std::string, DeviceRates> rates;
  for (const FitCard& card : v100.cards) {
    rates[std::string(card.device)] = rates_of(*hwdb->device(card.device));
  }
  const auto report = fit_kernels(v100, transcription("gemm"), rates, {});
  REQUIRE(report.has_value());
  const auto all = shipped_calibrations();
  REQUIRE(all.has_value());
  const auto sm70 = std::ranges::find(*all, "sm_70", &Calibration::id);
  REQUIRE(sm70 != all->end());
  const auto shipped = std::ranges::find_if(sm70->fits, [&](const Fit& f) {
    return f.kernel_class == "gemm" && f.arithmetic == "f32" && f.library == v100.library;
  });
  REQUIRE(shipped != sm70->fits.end());
  CHECK(report->fit.measured == shipped->measured);
  CHECK(report->fit.error == doctest::Approx(shipped->error).epsilon(.1));
  CHECK(report->coverage >= .85);
  CHECK(report->coverage <= .95);
}

const Fit* fit_of(const std::vector<Calibration>& all, const FitPlan& plan, int capability) {
  for (const Calibration& calibration : all) {
    for (const Fit& fit : calibration.fits) {
      if (fit.compute_capability == capability && fit.kernel_class == plan.kernel_class &&
          fit.arithmetic == plan.arithmetic && fit.library == plan.library &&
          fit.library_first == plan.first && fit.odd_shapes == plan.odd_shapes)
        return &fit;
    }
  }
  return nullptr;
}

// What a plan takes from elsewhere, a term by its name and place; nothing of those that it fits.
std::optional<double> taken(const FitPlan& plan, std::string_view term, size_t i,
                            const std::map<std::string_view, Fit>& fits) {
  const auto has = [&](const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const auto given = std::ranges::find(plan.given, term, &GivenTerm::name);
  const bool lent = has(plan.lent, term);
  const std::string_view from = lent ? plan.lender : plan.base;
  const bool held = has(plan.held, term) || has(plan.held, "all") || plan.sources.empty();
  if (term == "few_columns") return plan.few_columns;
  if (term == "wgrad_steps" && !plan.adds_tiles) return 0;
  if (!held) return std::nullopt;
  if (given != plan.given.end()) return given->value;
  if (from.empty()) return coefficient_rows(plan.kernel_class)[i].initial;
  return fits.at(from).terms[i] * (term.starts_with("tile_") ? plan.tiles : 1);
}

// Mean error of the kernels that a fit was made of.
double error_within(const FitPlan& plan, const Fit& fit,
                    const std::vector<const MeasuredKernel*>& kernels,
                    const std::map<std::string, DeviceRates>& rates) {
  std::vector<DeviceRates> cards;
  Trial trial = fit.terms;
  for (const auto& [card, clock] : fit.clocks) {
    cards.push_back(rates.at(card));
    trial.push_back(clock);
  }
  const Formula formula(plan, cards, kernels);
  double sum = 0;
  const auto values = formula.values(trial, std::vector<bool>(kernels.size(), false));
  for (size_t i = 0; i < values.size(); ++i)
    sum += std::fabs(values[i].seconds / kernels[i]->seconds - 1);
  return sum / static_cast<double>(values.size());
}

// `./dev fits` fits all of them again, in minutes. Here: what a plan takes from others is theirs,
// and no fit is of another tree, whose kernels would be further off than those left out.
TEST_CASE("shipped fits are of the measurements in the tree and take from others what plans say") {
  const auto all = shipped_calibrations();
  REQUIRE(all.has_value());
  for (const Calibration& calibration : *all) {
    for (const MeasuredFile& file : calibration.files) {
      CAPTURE(file.name);
      const std::string text = transcribed(file.name);
      CHECK(file.sha256 == sha256_hex(std::as_bytes(std::span(text))));
    }
  }
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  std::map<std::string, DeviceRates> rates;
  std::map<std::string, std::vector<MeasuredKernel>> kernels;
  std::map<std::string_view, Fit> fits;
  size_t seen = 0;
  for (const FitPlan& plan : fit_plans()) {
    CAPTURE(plan.name);
    const std::string file(fit_class(plan.kernel_class).measured);
    if (!kernels.contains(file)) kernels[file] = transcription(file);
    for (const FitCard& card : plan.cards)
      rates[std::string(card.device)] = rates_of(*hwdb->device(card.device));
    for (const int capability : plan.capabilities) {
      const Fit* fit = fit_of(*all, plan, capability);
      REQUIRE(fit != nullptr);
      fits[plan.name] = *fit;
      ++seen;
      if (plan.sources.empty()) {
        CHECK(fit->measured == 0);
      } else {
        const auto of = kernels_of(plan, kernels[file], rates);
        CHECK(fit->measured == std::ssize(of));
        CHECK(error_within(plan, *fit, of, rates) < 1.001 * fit->error);
      }
      const auto rows = coefficient_rows(plan.kernel_class);
      for (size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(rows[i].name);
        const auto known = taken(plan, rows[i].name, i, fits);
        if (known) CHECK(fit->terms[i] == doctest::Approx(*known).epsilon(2e-5));
      }
    }
  }
  size_t shipped = 0;
  for (const Calibration& calibration : *all) shipped += calibration.fits.size();
  CHECK(seen == shipped);
}

TEST_CASE("a plan without a card's rates or measurements is refused") {
  const FitPlan& v100 = plan("gemm-v100");
  CHECK(fit_kernels(v100, {}, {}, {}).error().front().code == "E510");
  std::map<std::string, DeviceRates> rates;
  rates["tesla-v100-sxm2-16gb"] = {};
  CHECK(fit_kernels(v100, {}, rates, {}).error().front().code == "E510");
}

// With them tiles and transforms would move, and with those forward passes
// (docs/accuracy-limits.md).
TEST_CASE("what gradients of weights add to memory is fitted when all else is") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const std::map<std::string, DeviceRates> rates = {
      {"tesla-v100-sxm2-16gb", rates_of(*hwdb->device("tesla-v100-sxm2-16gb"))}};
  const FitPlan with = plan("conv-v100");
  FitPlan without = with;
  without.adds_tiles = false;
  const std::vector<MeasuredKernel> all = transcription("conv");
  std::vector<MeasuredKernel> some;
  for (const MeasuredKernel* k : kernels_of(with, all, rates)) {
    if (k->shape % 6 == 0) some.push_back(*k);
  }
  REQUIRE(some.size() > 20);
  const auto added = fit_kernels(with, some, rates, {}),
             other = fit_kernels(without, some, rates, {});
  REQUIRE(added.has_value());
  REQUIRE(other.has_value());
  for (size_t i = 0; i < added->fit.terms.size(); ++i) {
    if (i != kWgrad && i != kWgradSteps) CHECK(added->fit.terms[i] == other->fit.terms[i]);
  }
  CHECK(added->fit.terms[kWgrad] == 0);
  CHECK(added->fit.terms[kWgradSteps] > 0);
  CHECK(other->fit.terms[kWgradSteps] == 0);
  CHECK(added->passes.at("forward").error == other->passes.at("forward").error);
}

TEST_CASE("a transcription names its line when a column is missing or wrong") {
  const auto missing = read_measured("source,device\nx,y\n", "t.csv", "gemm");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().front().code == "E501");
  CHECK(missing.error().front().place.line == 2);
}

TEST_CASE("recurrent layers are read with their algorithm, TF32 as four bytes on tensor cores") {
  const std::string head =
      "source,device,cudnn,arithmetic,algorithm,pass,cell,hidden,batch,timesteps,time_ms\n";
  const auto one = [&](const std::string& arithmetic, const std::string& algorithm) {
    return read_measured(
        head + "x,y,919," + arithmetic + "," + algorithm + ",forward,gru,8,2,3,1\n", "t.csv",
        "recurrent");
  };
  const MeasuredKernel tf32 = one("tf32_tensor", "persistent_small")->front();
  CHECK(tf32.algorithm == "persistent_small");
  CHECK(tf32.kernel.dtype == DType::kFloat32);
  CHECK(tf32.kernel.tensor_core);
  CHECK(tf32.kernel.written == 4 * 2 * 3 * 8);
  CHECK(one("f16_tensor", "standard")->front().kernel.dtype == DType::kFloat16);
  CHECK(one("f32", "dynamic").error().front().code == "E501");
  CHECK(one("f32", "").error().front().code == "E501");
}

TEST_CASE("standard and persistent layers are fitted apart, and those that spill not at all") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const std::map<std::string, DeviceRates> rates = {
      {"h100-sxm-80gb", rates_of(*hwdb->device("h100-sxm-80gb"))}};
  const auto kernels = transcription("recurrent");
  int64_t standard = 0, persistent = 0;
  for (const MeasuredKernel& k : kernels) {
    if (k.source != "plimsoll" || k.arithmetic != Arithmetic::kF16Tensor) continue;
    const auto& p = std::get<RecurrentProblem<int64_t>>(k.kernel.problem);
    const bool spills = p.hidden == (p.cell == Cell::kRnnRelu ? 2560 : 1536) &&
                        !(p.cell == Cell::kRnnRelu && p.hidden == 1536);
    if (k.algorithm == "standard") ++standard;
    if (k.algorithm != "standard" && k.kernel.pass != Pass::kBackwardWeights) {
      persistent += spills ? 0 : 1;
    }
  }
  CHECK(fit_kernels(plan("recurrent-h100-f16"), kernels, rates, {})->fit.measured == standard);
  CHECK(fit_kernels(plan("persistent-h100-f16"), kernels, rates, {})->fit.measured == persistent);
}

// Eight shapes of groups were measured: fewer than five folds of several.
TEST_CASE("few shapes are left out one by one, and the fit is the shipped one") {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb.has_value());
  const std::map<std::string, DeviceRates> rates = {
      {"h100-sxm-80gb", rates_of(*hwdb->device("h100-sxm-80gb"))}};
  const auto report = fit_kernels(plan("grouped-h100"), transcription("conv"), rates, {});
  REQUIRE(report.has_value());
  CHECK(report->fit.measured == 75);
  const auto all = shipped_calibrations();
  REQUIRE(all.has_value());
  const auto sm90 = std::ranges::find(*all, "sm_90", &Calibration::id);
  const auto shipped = std::ranges::find(sm90->fits, "grouped", &Fit::kernel_class);
  REQUIRE(shipped != sm90->fits.end());
  CHECK(report->fit.error == doctest::Approx(shipped->error).epsilon(.1));
}

TEST_CASE("the search finds the bottom of a bent valley, and stays in its box") {
  const auto valley = [](const Point& p) {
    return std::fabs(p[0] - .3) + 10 * std::fabs(p[1] - p[0] * p[0]);
  };
  const Point best = minimise(valley, {.9, .9}, {{0, 0}, {1, 1}}, 500);
  CHECK(best[0] == doctest::Approx(.3).epsilon(.02));
  CHECK(best[1] == doctest::Approx(.09).epsilon(.05));
  const Point edge = minimise(valley, {.9, .9}, {{.5, 0}, {1, 1}}, 500);
  CHECK(edge[0] == doctest::Approx(.5).epsilon(.01));
}

}  // namespace
}  // namespace plimsoll
