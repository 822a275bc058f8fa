// Work: one kernel made ready for a card: the ways to run it, and what runs it once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "calibrate/card.h"
#include "calibrate/card/driver.h"

namespace plimsoll::calibrate {

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  virtual const std::vector<Offer>& offers() const = 0;
  // Of each buffer that launch() takes.
  virtual std::vector<int64_t> operand_bytes() const = 0;
  // Onto the driver's stream. Throws CardFault.
  virtual void launch(size_t offer, std::span<const DeviceMemory> operands,
                      const DeviceMemory& workspace) = 0;
};

}  // namespace plimsoll::calibrate
