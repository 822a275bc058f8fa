// A function that keeps its last value: neighbours in a sweep mostly ask for the same.
#pragma once

#include <cmath>

namespace plimsoll {

inline double natural_logarithm(double x) { return std::log(x); }
inline double exponential(double x) { return std::exp(x); }

template <double (*kFunction)(double)>
class Keeping {
 public:
  double operator()(double x) {
    if (x != at_) value_ = kFunction(at_ = x);
    return value_;
  }

 private:
  double at_ = 0, value_ = kFunction(0);
};
using Logarithm = Keeping<natural_logarithm>;
using Exponential = Keeping<exponential>;

}  // namespace plimsoll
