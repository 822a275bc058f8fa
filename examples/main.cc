// What a training step of ResNet-50 takes of two GPUs, asked from C++. examples/CMakeLists.txt
// builds it against an installed Plimsoll.
#include <plimsoll/plimsoll.h>

#include <cstdio>

int main() {
  for (const char* gpu : {"tesla-t4", "rtx-4090"}) {
    const plimsoll::api::Answer answer = plimsoll::api::estimate(
        "builtin:resnet50", {{"gpu", gpu}, {"batch", "128"}, {"precision", "amp-fp16"}});
    for (const plimsoll::api::Message& message : answer.messages)
      std::fprintf(stderr, "%s\n", message.text.c_str());
    if (answer.status > 1) return answer.status;
    std::printf("%s: %.1f GiB, %s, %.0f ms a step\n", gpu,
                static_cast<double>(answer.device_bytes) / (1 << 30),
                answer.status == 0 ? "fits" : "does not fit",
                static_cast<double>(answer.step_ns) / 1e6);
  }
}
