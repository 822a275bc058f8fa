#include "estimator/memory/verdict.h"

namespace plimsoll {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "fits";
    case Verdict::kMayFit:
      return "may_fit";
    case Verdict::kDoesNotFit:
      return "does_not_fit";
  }
  return "does_not_fit";
}

Verdict verdict_of(const Range& bytes, int64_t usable) {
  if (bytes.high <= usable) return Verdict::kFits;
  return bytes.low <= usable ? Verdict::kMayFit : Verdict::kDoesNotFit;
}

}  // namespace plimsoll
