#include "graph/base/diagnostic.h"

#include <algorithm>
#include <numeric>

#include "graph/base/text.h"

namespace plimsoll {

tl::unexpected<Diagnostics> error(std::string code, std::string message, Place place,
                                  std::string help) {
  return tl::make_unexpected(Diagnostics{
      {std::move(code), Severity::kError, std::move(message), std::move(place), std::move(help)}});
}

Diagnostic warning(std::string code, std::string message, Place place, std::string help) {
  return {std::move(code), Severity::kWarning, std::move(message), std::move(place),
          std::move(help)};
}

Diagnostic note(std::string code, std::string message, Place place, std::string help) {
  return {std::move(code), Severity::kNote, std::move(message), std::move(place), std::move(help)};
}

int exit_status(const Diagnostics& diagnostics) {
  int worst = 0;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::kError || d.code.size() < 2) continue;
    int status = 70;
    switch (d.code[1]) {
      case '1':
        status = 2;
        break;
      case '2':
      case '3':
      case '4':
      case '5':
        status = 3;
        break;
      case '6':
      case '7':
        status = 4;
        break;
      case '8':
        status = 5;
        break;
      default:
        break;
    }
    worst = std::max(worst, status);
  }
  return worst;
}

namespace {

// Insertions, deletions, substitutions, and two letters that changed places (optimal string
// alignment). Case is what people get wrong first and does not count.
size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) { return lower_case(a[i]) == lower_case(b[j]); };
  std::vector<size_t> row(b.size() + 1), above(row.size()), two_above(row.size());
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    two_above.swap(above);
    above.swap(row);
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({above[j] + (same(i, j) ? 0 : 1), row[j] + 1, above[j + 1] + 1});
      if (i > 0 && j > 0 && same(i - 1, j) && same(i, j - 1))
        row[j + 1] = std::min(row[j + 1], two_above[j - 1] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& allowed) {
  if (word.size() > 256) return {};  // quadratic cost is not for hostile words
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : allowed) {
    if (candidate.size() > 256) continue;
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace plimsoll
