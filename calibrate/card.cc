#include "calibrate/card.h"

namespace plimsoll::calibrate {

std::string CardFacts::version_of(std::string_view library) const {
  for (const CardLibrary& one : libraries) {
    if (one.name == library) return one.version;
  }
  return {};
}

}  // namespace plimsoll::calibrate
