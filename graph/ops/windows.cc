#include "graph/ops/windows.h"

#include <fmt/format.h>

#include "graph/base/try.h"

namespace plimsoll::ops {
namespace {

Result<std::vector<int64_t>> read_list(InferContext& c, std::string_view name, size_t length,
                                       int64_t otherwise, int64_t least, std::string_view code) {
  std::vector<int64_t> values = c.attributes().integers(name);
  if (values.empty()) values.assign(length, otherwise);
  if (values.size() != length) {
    return c.fail("E246", fmt::format("attribute '{}' has {} entries, expected {}", name,
                                      values.size(), length));
  }
  for (const int64_t value : values) {
    if (value < least) {
      return c.fail(std::string(code),
                    fmt::format("attribute '{}' holds {}, the least is {}", name, value, least));
    }
  }
  return values;
}

Result<void> read_kernel(InferContext& c, size_t spatial, std::vector<Dim>& kernel) {
  const auto shape = c.attributes().integers("kernel_shape");
  if (shape.empty() && kernel.empty() && spatial > 0) {
    return c.fail("E247", "attribute 'kernel_shape' is missing");
  }
  if (!shape.empty() && shape.size() != spatial) {
    return c.fail("E246", fmt::format("attribute 'kernel_shape' has {} entries, expected {}",
                                      shape.size(), spatial));
  }
  if (kernel.empty()) kernel.assign(shape.begin(), shape.end());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 1) return c.fail("E241", fmt::format("a kernel's extent is {}", shape[i]));
    if (!c.decider().equal(shape[i], kernel[i])) {
      return c.fail(
          "E246", fmt::format("kernel_shape is {}, the filter has {}", shape[i], kernel[i].text()));
    }
  }
  return {};
}

}  // namespace

Result<Windows> read_windows(InferContext& c, size_t spatial, std::vector<Dim> kernel) {
  Windows windows;
  TRY(read_kernel(c, spatial, kernel));
  windows.kernel = std::move(kernel);
  auto strides = TRY(read_list(c, "strides", spatial, 1, 1, "E242"));
  auto dilations = TRY(read_list(c, "dilations", spatial, 1, 1, "E243"));
  auto pads = TRY(read_list(c, "pads", 2 * spatial, 0, 0, "E244"));
  windows.strides = std::move(strides);
  windows.dilations = std::move(dilations);
  windows.pads = std::move(pads);
  const std::string automatic = c.attributes().string("auto_pad", "NOTSET");
  windows.same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic == "VALID") windows.pads.assign(2 * spatial, 0);
  if (!windows.same && automatic != "VALID" && automatic != "NOTSET" && !automatic.empty()) {
    return c.fail("E244",
                  fmt::format("auto_pad '{}' is not one of NOTSET, SAME_UPPER, SAME_LOWER and "
                              "VALID",
                              automatic));
  }
  return windows;
}

Dim reach(const Windows& windows, size_t i) {
  return (windows.kernel[i] - 1) * Dim(windows.dilations[i]) + 1;
}

Result<Shape> slide(InferContext& c, const Windows& windows, const Shape& in, bool ceil_mode) {
  Shape out;
  for (size_t i = 0; i < in.size(); ++i) {
    const Dim stride = windows.strides[i];
    if (windows.same) {
      out.push_back(ceil_div(in[i], stride));
      continue;
    }
    const Dim padded = in[i] + windows.pads[i] + windows.pads[in.size() + i];
    const Dim needed = reach(windows, i);
    if (!c.decider().at_most(needed, padded)) {
      // Rounded up, a window that begins inside counts, though it ends outside.
      if (ceil_mode && c.decider().at_most(needed, padded + stride - 1)) {
        out.push_back(1);
        continue;
      }
      return c.fail("E241", fmt::format("a kernel of {} with dilation {} needs {} elements, the "
                                        "padded input has {}",
                                        windows.kernel[i].text(), windows.dilations[i],
                                        needed.text(), padded.text()));
    }
    const Dim span = padded - needed;
    Dim count = ceil_mode ? ceil_div(span, stride) + 1 : floor_div(span, stride) + 1;
    // ONNX says so since opset 22, and so do frameworks.
    if (ceil_mode && c.opset() >= 22 && stride != Dim(1) &&
        c.decider().at_most(in[i] + windows.pads[i], (count - 1) * stride)) {
      count -= 1;
    }
    out.push_back(std::move(count));
  }
  return out;
}

Result<void> check_group(InferContext& c, int64_t group, const Dim& channels) {
  if (group < 1) return c.fail("E245", fmt::format("group is {}", group));
  const Dim rest = channels - floor_div(channels, Dim(group)) * Dim(group);
  if (c.decider().equal(rest, 0)) return {};
  return c.fail("E245",
                fmt::format("group {} does not divide {} channels", group, channels.text()));
}

}  // namespace plimsoll::ops
