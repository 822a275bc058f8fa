// graph/base/cancel.h where nothing is called off: the engine of the page has neither exceptions
// nor threads.
#include "graph/base/cancel.h"

namespace plimsoll {

CancelWhen::CancelWhen(bool (*asked)()) : before_(asked) {}
CancelWhen::~CancelWhen() = default;
void check_cancelled() {}

}  // namespace plimsoll
