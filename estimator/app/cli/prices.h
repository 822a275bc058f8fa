// --price of compare.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/base/diagnostic.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

// "t4=0.35": of an hour, by the device's id. E105 and E103 for what is no price, E118 for one of a
// GPU that is not compared, E114 for two of one.
Result<std::map<std::string, double>> parse_prices(const std::vector<std::string>& prices,
                                                   const std::vector<std::string>& compared,
                                                   const Hwdb& hwdb);

}  // namespace plimsoll::cli
