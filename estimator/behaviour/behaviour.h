// Behaviour: what a platform's framework does with a request, resolved once; each part is read by
// one stage. Behind it nobody reads the framework's profile.
#pragma once

#include "estimator/behaviour/allocator.h"
#include "estimator/behaviour/autograd.h"
#include "estimator/behaviour/dispatch.h"
#include "estimator/behaviour/library.h"
#include "estimator/behaviour/process.h"

namespace plimsoll {

struct Behaviour {
  AutogradBehaviour autograd;    // compiling: estimator/model
  LibraryBehaviour library;      // algorithms and their scratch memory: estimator/library
  AllocatorBehaviour allocator;  // what the replay sees: estimator/memory
  ProcessBehaviour process;      // outside the allocator: estimator/memory
  DispatchBehaviour dispatch;    // the host's part of a step: estimator/time
};

Behaviour resolve(const Platform& platform, const Request& request);

}  // namespace plimsoll
