// plimsoll._plimsoll: the command, run in this process. Everything else is in plimsoll/*.py.
#include <plimsoll/plimsoll.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <vector>

namespace {

using Run = std::tuple<int, std::string, std::vector<std::string>>;

Run run(const std::vector<std::string>& arguments) {
  plimsoll::api::Said said = plimsoll::api::run(arguments, plimsoll::api::Spelling::kKeywords);
  std::vector<std::string> messages;
  for (plimsoll::api::Message& message : said.messages) messages.push_back(std::move(message.json));
  return {said.status, std::move(said.output), std::move(messages)};
}

}  // namespace

PYBIND11_MODULE(_plimsoll, module) {
  module.attr("__version__") = plimsoll::api::version();
  module.def("run", run, pybind11::arg("arguments"),
             pybind11::call_guard<pybind11::gil_scoped_release>());
}
