#include "graph/parallel/host_states.h"

#include <utility>

#include "graph/eager/host_update.h"

namespace plimsoll::parallel {

HostStates::HostStates(eager::Machine& m) : m_(m) {
  for (const auto& leaf : m_.leaves()) {
    if (!eager::is_updated_on_host(m_, *leaf)) continue;
    for (const Role role : {Role::kParameter, Role::kGradient})
      m_.keep_on_host(leaf->leaf.dtype(), leaf->leaf.sizes(), role);
  }
}

// After each pass, of what passes have summed so far.
void HostStates::gradient_ready(eager::GradNode& leaf) {
  if (!leaf.gradient.defined() || !eager::is_updated_on_host(m_, leaf)) return;
  leaving_.push_back(m_.copy_to_host(leaf.gradient.bytes()));
}

void HostStates::end_backward() {
  for (const uint32_t gradient : std::exchange(leaving_, {})) m_.await(gradient);
}

}  // namespace plimsoll::parallel
