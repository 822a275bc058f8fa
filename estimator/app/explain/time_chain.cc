#include "estimator/app/explain/time_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "estimator/time/step_conditions.h"

namespace plimsoll {
namespace {

class Lines {
 public:
  void add(std::string what, std::string why, double seconds) {
    lines_.push_back({std::move(what), std::move(why), to_ns(seconds)});
  }
  // Where it changes anything.
  void times(std::string what, std::string why, double factor, double seconds) {
    if (factor != 1) add(std::move(what), fmt::format("times {:.2f}: {}", factor, why), seconds);
  }
  std::vector<TimeLine> take() { return std::move(lines_); }

 private:
  std::vector<TimeLine> lines_;
};

// What the step adds to a kernel timed in a queue: its framework and the clock.
void add_step(const ExplainedKernel& of, const DeviceRates& rates, Lines& lines) {
  const KernelTime& time = of.time;
  double seconds = time.seconds * of.framework_factor;
  lines.times("framework", "correction measured for steps of this framework", of.framework_factor,
              seconds);
  const double slower = time.seconds > 0 ? at_sustained_clock(time, rates) / time.seconds : 1;
  seconds *= slower;
  lines.times("clock", "the power limit lowers the clock", slower, seconds);
  if (to_ns(of.seconds) != to_ns(seconds))
    lines.add("lower bound", "takes no less than its work at the GPU's highest rates", of.seconds);
}

}  // namespace

std::vector<TimeLine> time_chain(const ExplainedKernel& of, const TimeContext& context) {
  const KernelTime& time = of.time;
  const KernelTimeChain chain = kernel_time_chain(of.kernel, context);
  const bool by_memory = of.dram_ns >= of.compute_ns;
  const double roof = static_cast<double>(std::max(of.dram_ns, of.compute_ns)) / 1e9;
  Lines lines;
  lines.add("roofline",
            by_memory ? "moves the bytes at the memory's full bandwidth"
                      : fmt::format("does the operations at the {} peak", of.arithmetic),
            roof);
  const std::string basis = context.basis(time.basis);
  if (chain.work > 0)
    lines.add("efficiency",
              fmt::format("{:.0f} % of the roofline's rate; {}", 100 * roof / chain.work, basis),
              chain.work);
  double seconds = chain.work + chain.launch;
  if (chain.launch > 0)
    lines.add("launch", "adds the part of the launch that earlier kernels do not hide", seconds);
  seconds *= chain.in_situ;
  lines.times("in a step", "a kernel is slower among others than by itself", chain.in_situ,
              seconds);
  seconds += chain.layout;
  if (chain.layout > 0)
    lines.add("layout", "adds copies to the library's layout and back", seconds);
  seconds *= chain.machine;
  lines.times("this machine", "correction of the machine file", chain.machine, seconds);
  if (time.seconds > seconds)
    lines.add("lower bound",
              "takes no less than its bytes and operations at the GPU's highest rates",
              time.seconds);
  add_step(of, context.rates(), lines);
  return lines.take();
}

}  // namespace plimsoll
