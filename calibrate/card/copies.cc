#include "calibrate/card/copies.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace plimsoll::calibrate {
namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr int kRepeats = 7, kLaunches = 500;

class PinnedMemory {
 public:
  PinnedMemory(const Driver& driver, size_t bytes) : driver_(driver) {
    driver.check(driver.call().allocate_pinned(&address_, bytes), "allocate pinned memory");
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { driver_.call().free_pinned(address_); }
  void* address() const { return address_; }

 private:
  const Driver& driver_;
  void* address_ = nullptr;
};

// The host's clock, from before the copy is queued to when it is done: pageable copies are the
// host's work.
double median_seconds(const Driver& driver, const std::function<void()>& copy) {
  copy();
  driver.synchronize();
  std::vector<double> taken;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    copy();
    driver.synchronize();
    taken.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(taken);
  return taken[kRepeats / 2];
}

}  // namespace

std::vector<Figure> copy_figures(const Driver& driver, const OwnModule& module) {
  const DeviceMemory one(driver, kBytes), other(driver, kBytes);
  const PinnedMemory pinned(driver, kBytes);
  std::vector<char> pageable(kBytes, 1);
  const auto& call = driver.call();
  const CUstream stream = driver.stream();
  const auto in = [&](const void* from) {
    driver.check(call.copy_in(one.address(), from, kBytes, stream), "copy to the card");
  };
  const auto out = [&](void* to) {
    driver.check(call.copy_out(to, one.address(), kBytes, stream), "copy from the card");
  };
  const auto within = [&] {
    driver.check(call.copy_within(other.address(), one.address(), kBytes, stream), "copy");
  };
  std::vector<Figure> figures;
  const auto add = [&](const char* quantity, const std::function<void()>& copy) {
    figures.push_back(
        {quantity, "B/s", static_cast<double>(kBytes) / median_seconds(driver, copy)});
  };
  add("pinned_copy", [&] { in(pinned.address()); });
  add("pageable_copy", [&] { in(pageable.data()); });
  add("pinned_copy_back", [&] { out(pinned.address()); });
  add("pageable_copy_back", [&] { out(pageable.data()); });
  add("device_copy", within);
  const Event begin(driver), end(driver);
  module.nothing();
  driver.synchronize();
  const auto started = std::chrono::steady_clock::now();
  begin.record();
  for (int i = 0; i < kLaunches; ++i) module.nothing();
  end.record();
  const std::chrono::duration<double> queued = std::chrono::steady_clock::now() - started;
  figures.push_back({"launch", "s", queued.count() / kLaunches});
  module.wait(2 * queued.count());
  begin.record();
  for (int i = 0; i < kLaunches; ++i) module.nothing();
  end.record();
  figures.push_back({"launch_back_to_back", "s", end.seconds_since(begin) / kLaunches});
  return figures;
}

}  // namespace plimsoll::calibrate
