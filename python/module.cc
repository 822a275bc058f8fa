// plimsoll._plimsoll: the command, run in this process. Everything else is in plimsoll/*.py.
#include <plimsoll/plimsoll.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <exception>
#include <string>
#include <tuple>
#include <vector>

namespace {

using Run = std::tuple<int, std::string, std::vector<std::string>>;

// Other threads run meanwhile. Where Python ends first, taking its lock again ends this thread: by
// unwinding it, which no destructor may do (pybind11's guards would end the process by SIGABRT).
plimsoll::api::Said run_without_lock(const std::vector<std::string>& arguments) {
  PyThreadState* const state = PyEval_SaveThread();
  plimsoll::api::Said said;
  std::exception_ptr fault;
  try {
    said = plimsoll::api::run(arguments, plimsoll::api::Spelling::kKeywords);
  } catch (...) {
    fault = std::current_exception();
  }
  PyEval_RestoreThread(state);
  if (fault) std::rethrow_exception(fault);
  return said;
}

Run run(const std::vector<std::string>& arguments) {
  plimsoll::api::Said said = run_without_lock(arguments);
  std::vector<std::string> messages;
  for (plimsoll::api::Message& message : said.messages) messages.push_back(std::move(message.json));
  return {said.status, std::move(said.output), std::move(messages)};
}

}  // namespace

PYBIND11_MODULE(_plimsoll, module) {
  module.attr("__version__") = plimsoll::api::version();
  module.def("run", run, pybind11::arg("arguments"));
}
