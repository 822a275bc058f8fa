// plimsoll._plimsoll: the command, run in this process. Everything else is in plimsoll/*.py.
// Written against Python's stable interface (Py_LIMITED_API): one binary for 3.9 and later.
#include <Python.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/api/plimsoll.h"

namespace {

struct Release {
  void operator()(PyObject* object) const { Py_XDECREF(object); }
};
using Object = std::unique_ptr<PyObject, Release>;

Object text_of(const std::string& text) {
  return Object(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
}

// The arguments as bytes; nothing, and an exception that is set, where one of them is something
// else.
std::optional<std::vector<std::string>> words_of(PyObject* arguments) {
  const Object list(PySequence_List(arguments));
  if (!list) return std::nullopt;
  std::vector<std::string> words;
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyBytes_AsStringAndSize(PyList_GetItem(list.get(), i), &data, &size) != 0) {
      return std::nullopt;
    }
    words.emplace_back(data, static_cast<std::size_t>(size));
  }
  return words;
}

// Other threads run meanwhile. Where Python ends first, taking its lock again ends this thread by
// unwinding it: no handler may catch that, so that the lock is taken outside of any.
plimsoll::api::Said run_without_lock(const std::vector<std::string>& words,
                                     std::exception_ptr& fault) {
  PyThreadState* const state = PyEval_SaveThread();
  plimsoll::api::Said said;
  try {
    said = plimsoll::api::run(words, plimsoll::api::Spelling::kKeywords);
  } catch (...) {
    fault = std::current_exception();
  }
  PyEval_RestoreThread(state);
  return said;
}

PyObject* raise(const std::exception_ptr& fault) {
  try {
    std::rethrow_exception(fault);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* run(PyObject* /*module*/, PyObject* arguments) {
  const std::optional<std::vector<std::string>> words = words_of(arguments);
  if (!words) return nullptr;
  std::exception_ptr fault;
  const plimsoll::api::Said said = run_without_lock(*words, fault);
  if (fault) return raise(fault);
  const Object messages(PyList_New(0));
  if (!messages) return nullptr;
  for (const plimsoll::api::Message& message : said.messages) {
    const Object json = text_of(message.json);
    if (!json || PyList_Append(messages.get(), json.get()) != 0) return nullptr;
  }
  const Object output = text_of(said.output);
  if (!output) return nullptr;
  return Py_BuildValue("(iOO)", said.status, output.get(), messages.get());
}

// [(name of a flag, its text)].
PyObject* defaults(PyObject* /*module*/, PyObject* /*none*/) {
  Object pairs(PyList_New(0));
  if (!pairs) return nullptr;
  try {
    for (const auto& [name, text] : plimsoll::api::defaults()) {
      const Object pair(
          Py_BuildValue("(sN)", name.c_str(), PyUnicode_DecodeFSDefault(text.c_str())));
      if (!pair || PyList_Append(pairs.get(), pair.get()) != 0) return nullptr;
    }
  } catch (...) {
    return raise(std::current_exception());
  }
  return pairs.release();
}

int add_version(PyObject* module) {
  return PyModule_AddStringConstant(module, "__version__", plimsoll::api::version().c_str());
}

PyMethodDef methods[] = {{"run", run, METH_O, nullptr},
                         {"defaults", defaults, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(add_version)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_plimsoll", nullptr, 0, methods, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__plimsoll() { return PyModuleDef_Init(&definition); }
