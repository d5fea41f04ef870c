# `_emulated`: the sources of `_cuda`, compiled for the host, for tests.
option(PYHARNESS_EMULATOR "Build _emulated" OFF)
if(NOT PYHARNESS_EMULATOR)
  return()
endif()

# A source has one language per folder, and .cu files are CUDA's: C++ files that include them stand in.
set(emulated_sources)
foreach(kernel IN LISTS PYHARNESS_KERNELS)
  string(REGEX REPLACE "^csrc/(.*)\\.cu$" "\\1" stem ${kernel})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/emulated/${stem}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${stem}.cu\"\n")
  list(APPEND emulated_sources ${source})
endforeach()

add_library(pyharness_emulated STATIC
  csrc/kernels/emulator/emulator.cpp
  csrc/kernels/emulator/device.cpp
  csrc/kernels/emulator/fiber.cpp
  csrc/kernels/emulator/graph.cpp
  ${emulated_sources})
target_include_directories(pyharness_emulated PUBLIC csrc)
target_compile_options(pyharness_emulated PRIVATE
  -O2 ${PYHARNESS_WARNINGS} -Wpedantic -Wconversion -Wno-unknown-pragmas) # "unroll" is for nvcc
set_target_properties(pyharness_emulated PROPERTIES CXX_VISIBILITY_PRESET hidden POSITION_INDEPENDENT_CODE ON)

pybind11_add_module(_emulated ${PYHARNESS_KERNEL_BINDINGS})
target_compile_options(_emulated PRIVATE ${PYHARNESS_WARNINGS} $<$<CONFIG:Release>:-O2>)
set_target_properties(_emulated PROPERTIES UNITY_BUILD ${PYHARNESS_TOGETHER})
target_compile_definitions(_emulated PRIVATE PH_MODULE=_emulated PH_EMULATED)
target_link_libraries(_emulated PRIVATE pyharness_emulated)
install(TARGETS _emulated DESTINATION pyharness)
