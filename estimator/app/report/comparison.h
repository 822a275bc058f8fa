// Models on several GPUs: as a table with the ones to choose, and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "estimator/answer/estimate.h"
#include "estimator/app/report/page.h"
#include "estimator/app/report/table.h"

namespace plimsoll {

struct Comparison {
  std::vector<Estimate> estimates;            // one a model and GPU, at least one
  std::vector<std::optional<double>> prices;  // of an hour of each
};

// Each once, in their order.
std::vector<std::string> models_of(const Comparison& comparison);
// Of a million samples, at a price of an hour and so many samples a second.
inline double price_of_million(double price, double samples_per_second) {
  return price / (3600 * samples_per_second) * 1e6;
}
// Of one of them; nothing where its GPU has no price.
std::optional<double> price_of_million(const Comparison& comparison, size_t estimate);

// Indices of those of one model that surely fit: on the card with the least memory, with the
// shortest step, with the lowest price of a sample.
struct Choices {
  std::optional<size_t> smallest, fastest, cheapest;
};
Choices choices_of(const Comparison& comparison, std::string_view model);

// `quiet`: only which GPU to choose.
std::string to_text(const Comparison& comparison, const Page& page = {}, bool quiet = false);
Table comparison_table(const Comparison& comparison);
// A list of estimates.
std::string to_json(const Comparison& comparison);

}  // namespace plimsoll
