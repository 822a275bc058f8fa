// estimate --ask-cudnn: plimsoll-calibrate asks the machine's own cuDNN, in a process of its own:
// this program loads no library, and a crash inside cuDNN is a message.
#pragma once

#include <memory>

#include "estimator/library/workspace/asked.h"
#include "estimator/request/request.h"
#include "hwdb/hwdb.h"

namespace plimsoll::cli {

// The answers about the request's convolutions; null where there are none. Errors as
// convolutions(); E708 where plimsoll-calibrate is not there or fails, with what it says.
Result<std::shared_ptr<const AskedWorkspaces>> ask_cudnn(const Request& request, const Hwdb& hwdb);

}  // namespace plimsoll::cli
