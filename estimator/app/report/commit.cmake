# Writes OUT, a header with the commit of SOURCE; leaves it untouched where nothing changed.
cmake_minimum_required(VERSION 3.25)
find_package(Git QUIET)
set(commit unknown)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=12 HEAD
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE found RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit ${found})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUT} CONTENT "#define PLIMSOLL_COMMIT \"@commit@\"\n" @ONLY)
