// Which measurements are fitted to what: one row for each kernel class, arithmetic and library
// generation.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace plimsoll {

struct FitCard {
  std::string_view device;
  double clock_low = 1, clock_high = 1;  // sustained clock relative to the printed boost
};

// A term that the plan's measurements do not hold, from elsewhere.
struct GivenTerm {
  std::string_view name;
  double value = 0;
};

// Kernels that take as long whatever they multiply in: no `arithmetic` of a FitPlan.
inline constexpr std::string_view kAnyArithmetic = "any";

struct FitPlan {
  std::string_view name;  // for reports, and for `base` and `lender` of later rows
  std::string_view kernel_class, arithmetic = "f32";
  std::vector<int> capabilities{};  // architectures the fit is written for
  int library = 0, first = 0, last = 9999;
  std::vector<std::string_view> sources{};  // none: nothing is measured, all comes from `base`
  std::vector<FitCard> cards{};
  bool splits_k = true;
  bool many_slices = false;   // ... into more than 32
  bool adds_tiles = false;    // gradients of weights: blocks add their tiles to memory
  int few_columns = 0;        // up to so many take tiles of 64, as kFewColumns
  bool odd_rows = false;      // sizes measured are odd enough to tell what misaligned rows cost
  bool odd_shapes = false;    // as Fit::odd_shapes
  bool shapes_apart = false;  // measurements of the other shapes are another plan's
  // A row whose terms stand in where the measurements say nothing: those named `held` stay as they
  // are there, all of them where it says "all".
  std::string_view base{};
  std::vector<std::string_view> held{};
  // Where `base` lacks what this library can do: terms taken from a sibling architecture. What was
  // measured of the shapes that Winograd serves then says nothing.
  std::string_view lender{};
  std::vector<std::string_view> lent{};
  std::vector<GivenTerm> given{};
  int measured_library = 0;  // 0: `library`
  double tiles = 1;          // factor on the base's tile efficiencies
  double in_situ = 1;        // as Fit::in_situ, from steps
  bool queued = false;       // as Fit::queued
  std::string_view note{};
};

// In the order in which they must be fitted: a base comes first.
std::span<const FitPlan> fit_plans();

}  // namespace plimsoll
