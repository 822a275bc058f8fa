// What is fitted to what: one row for each kernel class, arithmetic and library generation.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace plimsoll {

struct FitCard {
  std::string_view device;
  double clock_low = 1, clock_high = 1;  // sustained clock relative to the printed boost
};

struct FitPlan {
  std::string_view name;  // for reports, and for `base` of later rows
  std::string_view kernel_class, arithmetic;
  std::vector<int> capabilities;  // architectures the fit is written for
  int library = 0, first = 0, last = 9999;
  std::vector<std::string_view> sources;
  std::vector<FitCard> cards;
  bool splits_k = true;
  // A row whose terms stand in where the measurements say nothing: those named `held` stay as they
  // are there.
  std::string_view base;
  std::vector<std::string_view> held;
  bool learn_correction = true;
  std::string_view note;
};

// In the order in which they must be fitted: a base comes first.
std::span<const FitPlan> fit_plans();

}  // namespace plimsoll
