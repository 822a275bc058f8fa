#include "estimator/app/report/headline.h"

namespace plimsoll {

std::string_view headline(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFits:
      return "FITS";
    case Verdict::kMayFit:
      return "MAY FIT";
    case Verdict::kDoesNotFit:
      return "DOES NOT FIT";
  }
  return "DOES NOT FIT";
}

Tone tone_of(Verdict verdict) {
  return verdict == Verdict::kFits     ? Tone::kGood
         : verdict == Verdict::kMayFit ? Tone::kDoubtful
                                       : Tone::kBad;
}

}  // namespace plimsoll
