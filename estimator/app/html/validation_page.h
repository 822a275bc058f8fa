// A validation as a page: did it pass, predicted against measured with ranges, sums and lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/app/report/validation.h"
#include "estimator/app/validate/tolerance.h"
#include "estimator/app/validate/validate.h"

namespace plimsoll {

// Lines come by the million: the first thousand are kept, and the first thousand of those that are
// out of tolerance.
class ValidationPage {
 public:
  void add(const ValidationLine& line, LineState state);
  std::string to_html(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                      const ValidationNotes& notes, const std::string& command) const;

 private:
  struct Kept {
    ValidationLine line;
    LineState state;
  };
  std::string json(const std::vector<ValidationSummary>& summaries, const Gate& gate,
                   const ValidationNotes& notes) const;
  // Those of which a figure can be drawn, in the order in which they came; of very many the first.
  std::vector<std::string> kept_quantities() const;

  std::vector<Kept> kept_;
  int64_t lines_ = 0;
};

}  // namespace plimsoll
