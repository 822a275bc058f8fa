# CMake's toolchain file for WebAssembly by Zig's compiler; PLIMSOLL_ZIG is its program.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER ${PLIMSOLL_ZIG} cc)
set(CMAKE_CXX_COMPILER ${PLIMSOLL_ZIG} c++)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES PLIMSOLL_ZIG)
set(CMAKE_EXECUTABLE_SUFFIX .wasm)
# The linker is asked by the compiler; nothing here makes an archive.
set(CMAKE_C_COMPILER_WORKS ON)
set(CMAKE_CXX_COMPILER_WORKS ON)
