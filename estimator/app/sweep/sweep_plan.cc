#include "estimator/app/sweep/sweep_plan.h"

#include <algorithm>
#include <random>
#include <set>

#include "graph/base/checked.h"

namespace plimsoll {
namespace {

// So many of the first `count` numbers, by chance or the first ones.
std::vector<int64_t> some_of(int64_t count, const SweepPlan& plan) {
  std::set<int64_t> numbers;
  // Floyd: each step adds one of those up to `last`, all equally likely.
  std::mt19937_64 chance(static_cast<uint64_t>(plan.seed));
  for (int64_t last = count - *plan.run_cap; plan.random && last < count; ++last) {
    const auto number = static_cast<int64_t>(chance() % static_cast<uint64_t>(last + 1));
    numbers.insert(numbers.contains(number) ? last : number);
  }
  for (int64_t number = 0; !plan.random && number < *plan.run_cap; ++number) numbers.insert(number);
  return {numbers.begin(), numbers.end()};
}

}  // namespace

std::string_view name(Objective::Figure figure) {
  return kObjectiveFigures[static_cast<size_t>(figure)];
}

Result<int64_t> SweepPlan::configurations(const Limits& limits) const {
  int64_t count = 1;
  for (const SweepParameter& parameter : parameters) {
    if (parameter.values.empty()) continue;
    const auto more = checked_multiply(count, static_cast<int64_t>(parameter.values.size()));
    if (!more || *more > limits.sweep) return over_limit(limits, "sweep", parameter.place);
    count = *more;
  }
  return count;
}

std::vector<size_t> SweepPlan::values_of(int64_t configuration) const {
  std::vector<size_t> values(parameters.size());
  for (size_t i = parameters.size(); i-- > 0;) {
    const auto count = static_cast<int64_t>(parameters[i].values.size());
    if (count == 0) continue;
    values[i] = static_cast<size_t>(configuration % count);
    configuration /= count;
  }
  return values;
}

std::optional<std::vector<int64_t>> SweepPlan::chosen(int64_t configurations) const {
  if (constraints.empty())
    return run_cap && *run_cap < configurations ? std::optional(some_of(configurations, *this))
                                                : std::nullopt;
  std::vector<int64_t> allowed;
  for (int64_t number = 0; number < configurations; ++number) {
    const std::vector<size_t> at = values_of(number);
    const auto value = [&](size_t i) -> const JsonValue& { return parameters[i].values[at[i]]; };
    if (std::ranges::all_of(constraints, [&](const Constraint& c) { return c.holds(value); }))
      allowed.push_back(number);
  }
  if (!run_cap || *run_cap >= std::ssize(allowed)) return allowed;
  std::vector<int64_t> some = some_of(std::ssize(allowed), *this);
  for (int64_t& number : some) number = allowed[static_cast<size_t>(number)];
  return some;
}

}  // namespace plimsoll
