#include "graph/base/cancel.h"

namespace plimsoll {
namespace {

thread_local bool (*cancelled)() = nullptr;

}  // namespace

CancelWhen::CancelWhen(bool (*is_cancelled)()) : before_(cancelled) { cancelled = is_cancelled; }
CancelWhen::~CancelWhen() { cancelled = before_; }

void check_cancelled() {
  if (cancelled != nullptr && cancelled()) throw Cancelled();
}

}  // namespace plimsoll
