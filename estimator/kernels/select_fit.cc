#include "estimator/kernels/select_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

// Architectures on a line: neighbours share instruction sets, SM layouts and library kernels.
double place(int compute_capability) {
  struct Row {
    int capability;
    double place;
  };
  constexpr Row kRows[] = {{30, 0},   {50, 1},   {52, 1.05}, {60, 2},   {61, 2.1}, {70, 3},
                           {75, 3.4}, {80, 4.2}, {86, 4.5},  {89, 4.8}, {90, 5.2}, {100, 6}};
  double result = 0;
  for (const Row& row : kRows) {
    if (row.capability <= compute_capability) result = row.place;
  }
  return result;
}

// Both kinds of 16 bits run on one unit: the same convolutions and products take the same time
// (H100, cuDNN 9.19 and cuBLAS 13: median ratio 1.00).
double arithmetic_distance(Arithmetic wanted, std::string_view measured) {
  if (wanted == Arithmetic::kBf16Tensor) wanted = Arithmetic::kF16Tensor;
  if (name(wanted) == measured) return 0;
  const auto other = arithmetic_from_name(measured);
  if (!other) return std::numeric_limits<double>::infinity();
  return on_tensor_cores(wanted) == on_tensor_cores(*other) ? 1 : 4;
}

double library_distance(const Fit& fit, int library) {
  const int wanted = library == 0 ? fit.library_last : library;
  const int gap = std::max({fit.library_first - wanted, wanted - fit.library_last, 0});
  const double age = library == 0 ? (9999 - fit.library) / 1e4 : 0;
  return gap / 100.0 + age;
}

// The architectures with calibrations and how far they are, nearest first.
std::vector<std::pair<double, int>> by_distance(const Calibrations& calibrations, int capability) {
  std::vector<std::pair<double, int>> all;
  for (const int c : calibrations.capabilities()) {
    all.emplace_back(std::fabs(place(c) - place(capability)), c);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Enough to tell two fits of one card and library.
constexpr double kOtherShapes = .1;

// Whether the kernels behind a fit ran on this card with this generation of the library.
bool is_of_card(const Fit& fit, const DeviceRates& rates, int library) {
  const bool card =
      std::ranges::any_of(fit.clocks, [&](const auto& row) { return row.first == rates.id; });
  return card && (library == 0 || library / 100 == fit.library / 100);
}

std::string cards_of(const Fit& fit) {
  std::string cards;
  for (const auto& [card, clock] : fit.clocks) cards += (cards.empty() ? "" : ", ") + card;
  return cards.empty() ? fmt::format("sm_{}", fit.compute_capability) : cards;
}

// Where a library has kernels of its own for each pass and not all were measured.
std::string passes_of(const Fit& fit) {
  const bool several = fit.kernel_class == "conv" || fit.kernel_class == "recurrent";
  const bool forward_alone = several && fit.passes.size() == 1;
  return forward_alone ? " (" + fit.passes.front().pass + " passes only)" : "";
}

// What a class of kernels computes, for people.
std::string_view plural(std::string_view kernel_class) {
  constexpr std::pair<std::string_view, std::string_view> kPlurals[] = {
      {"gemm", "matrix products"},
      {"conv", "convolutions"},
      {"depthwise", "depthwise convolutions"},
      {"grouped", "grouped convolutions"},
      {"recurrent", "recurrent layers"},
      {"persistent", "persistent recurrent layers"},
      {"rows", "norms, softmax and sums"}};
  for (const auto& [name, words] : kPlurals) {
    if (name == kernel_class) return words;
  }
  return kernel_class;
}

// The library whose version decides how kernels of the class run.
std::string library_text(std::string_view kernel_class, int library) {
  return fmt::format("{} {}.{}", kernel_class == "gemm" ? "cuBLAS" : "cuDNN", library / 100,
                     library % 100);
}

// "f16_tensor" for people.
std::string arithmetic_text(std::string_view name) {
  constexpr std::string_view kTensor = "_tensor";
  if (!name.ends_with(kTensor)) return std::string(name);
  return fmt::format("{} on tensor cores", name.substr(0, name.size() - kTensor.size()));
}

}  // namespace

std::string_view name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kCard:
      return "card";
    case Evidence::kArchitecture:
      return "architecture";
    case Evidence::kOther:
      return "other";
  }
  return "other";
}

SelectedFit select_fit(const Calibrations& calibrations, std::string_view kernel_class,
                       Arithmetic arithmetic, const DeviceRates& rates, int library,
                       bool odd_shapes) {
  SelectedFit best;
  double nearest = std::numeric_limits<double>::infinity();
  double architecture = 0, unit = 0, age = 0;
  for (const auto& [a, capability] : by_distance(calibrations, rates.compute_capability)) {
    if (2 * a >= nearest) break;  // no fit of it or of the rest is nearer
    const Calibration* calibration = calibrations.of(capability);
    if (!calibration) continue;
    for (const Fit& fit : calibration->fits) {
      if (fit.kernel_class != kernel_class || (fit.odd_shapes && !odd_shapes)) continue;
      const bool all = fit.arithmetic == "any" || kernel_class == "rows";
      const double u = all ? 0 : arithmetic_distance(arithmetic, fit.arithmetic);
      const double l = library_distance(fit, library);
      const double domain = fit.odd_shapes == odd_shapes ? 0 : kOtherShapes;
      const double distance = 2 * a + 3 * u + .5 * l + domain;
      if (distance >= nearest) continue;
      nearest = distance;
      best.fit = &fit;
      architecture = a;
      unit = u;
      age = l;
    }
  }
  if (best.fit == nullptr || !std::isfinite(nearest)) {
    return {.widen = 0,
            .basis = "roofline of the datasheet: no kernels of this class were measured"};
  }
  const Fit& fit = *best.fit;
  if (fit.measured == 0) {
    best.widen = .12 * architecture + .1 * unit;
    best.basis =
        fmt::format("{} in {}: derived for compute capability {} and {}: {}", plural(kernel_class),
                    arithmetic_text(name(arithmetic)), rates.compute_capability,
                    library_text(kernel_class, fit.library), fit.note);
    return best;
  }
  const std::string kinds = fit.arithmetic == "any" ? "" : " in " + arithmetic_text(fit.arithmetic);
  const std::string measured = fmt::format(
      "{}{}{}: model fitted to {} kernels measured on {} with {}; cross-validated error {:.0f} %",
      plural(kernel_class), passes_of(fit), kinds, fit.measured, cards_of(fit),
      library_text(kernel_class, fit.library), 100 * fit.error);
  best.own = architecture == 0 && unit == 0 && age < 1;
  if (best.own)
    best.evidence = is_of_card(fit, rates, library) ? Evidence::kCard : Evidence::kArchitecture;
  best.widen = .12 * architecture + .1 * unit + (age >= 1 ? .05 : 0);
  best.basis = measured;
  if (best.evidence == Evidence::kCard) return best;
  const std::string card =
      rates.id.empty() ? fmt::format("sm_{}", rates.compute_capability) : rates.id;
  best.basis += fmt::format("; applied to {} in {}{}", card, arithmetic_text(name(arithmetic)),
                            library == 0 ? "" : " with " + library_text(kernel_class, library));
  return best;
}

int library_version(std::string_view text) {
  int parts[3] = {0, 0, 0};
  size_t i = 0;
  while (i < text.size() && (text[i] < '0' || text[i] > '9')) ++i;
  if (i == text.size()) return 0;
  for (int part = 0; part < 3; ++part) {
    while (i < text.size() && text[i] >= '0' && text[i] <= '9' && parts[part] < 1000) {
      parts[part] = 10 * parts[part] + (text[i++] - '0');
    }
    if (i >= text.size() || text[i] != '.') break;
    ++i;
  }
  if (parts[0] == 8 && parts[1] == 0 && parts[2] >= 88) return 801;
  return 100 * parts[0] + std::min(parts[1], 99);
}

}  // namespace plimsoll
